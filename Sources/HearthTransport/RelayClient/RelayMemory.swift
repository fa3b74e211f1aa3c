import HearthCRDT
import HearthSync

/// Where a relay's client keeps what it knows of mailboxes, durably.
package protocol RelayMemory {
  /// What was kept under a name; nil if nothing.
  func load(_ name: String) throws -> [UInt8]?
  /// Keeps something.
  func save(_ name: String, _ bytes: [UInt8]) throws
}

/// What a relay's client remembers, among the facts of a node's store.
package struct FactMemory<S: Store>: RelayMemory {
  private let store: S

  package init(store: S) { self.store = store }

  package func load(_ name: String) throws -> [UInt8]? { try store.fact(name) }

  package func save(_ name: String, _ bytes: [UInt8]) throws {
    try store.transaction { try store.setFact(name, bytes) }
  }
}

// What a device remembers of what it has done at a relay.
extension RelayTransport {
  private static let maximumMarks = 8_192

  /// What this device has done at this relay about a mailbox, as far as it marked it.
  package func marks(of mailbox: Identifier) throws -> Set<Identifier> {
    guard let bytes = try memory.load(memoryName(mailbox, "marks")) else { return [] }
    var reader = ByteReader(bytes)
    let count = try reader.count(
      "marks", itemBytes: 16, atMost: RelayTransport.maximumMarks)
    return Set(try (0..<count).map { _ in try reader.identifier("mark") })
  }

  /// How many refused removals are remembered of one mailbox: those that were refused last.
  package static let maximumRefusedRemovals = 8_192

  /// The segments, by digest, that a mailbox does not let this device remove.
  func refusedRemovals(in mailbox: Identifier) throws -> Set<Identifier> {
    Set(try listedRemovals(in: mailbox))
  }

  private func listedRemovals(in mailbox: Identifier) throws -> [Identifier] {
    guard let bytes = try memory.load(memoryName(mailbox, "refused")) else { return [] }
    var reader = ByteReader(bytes)
    let count = try reader.count(
      "removals", itemBytes: 16, atMost: RelayTransport.maximumRefusedRemovals)
    return try (0..<count).map { _ in try reader.identifier("removal") }
  }

  /// Remembers segments that a mailbox does not let this device remove.
  func note(refusedRemovals digests: [Identifier], in mailbox: Identifier) throws {
    let new = Set(digests)
    let kept = try listedRemovals(in: mailbox).filter { !new.contains($0) } + digests
    let last = kept.suffix(RelayTransport.maximumRefusedRemovals)
    var writer = ByteWriter(capacity: 8 + last.count * 16)
    writer.varint(last.count)
    for digest in last { writer.identifier(digest) }
    try memory.save(memoryName(mailbox, "refused"), writer.bytes)
  }

  /// The log that a mailbox had when this device last saw to its doors; nil where it never did.
  package func attendedLog(of mailbox: Identifier) throws -> Identifier? {
    try memory.load(memoryName(mailbox, "doors")).flatMap { Identifier(bytes: $0) }
  }

  /// Keeps that the doors of a mailbox with this log were seen to.
  package func attend(_ mailbox: Identifier, log: Identifier) throws {
    try memory.save(memoryName(mailbox, "doors"), log.bytes)
  }

  private var oldKeysName: String { memoryName(.zero, "old-keys") }

  /// Keeps whether this relay still takes keys that others have replaced.
  package func noteOldKeys(_ areKept: Bool) throws {
    guard try keepsOldKeys() != areKept else { return }
    try memory.save(oldKeysName, [areKept ? 1 : 0])
  }

  /// Whether this relay, as far as the last round could tell, still takes keys that others have
  /// replaced.
  package func keepsOldKeys() throws -> Bool { try memory.load(oldKeysName) == [1] }

  /// The same in words.
  package var oldKeysProblem: TransportProblem {
    TransportProblem(
      place: place,
      fault: "it still takes the keys of before a removal: who was removed can fetch sealed files "
        + "there, and read nothing new in them. To change the keys, room is needed for what leads "
        + "devices that are away to the new ones, and the relay is full",
      remedy: "ask who runs the relay for more room, then sync", hidesData: true)
  }

  /// Keeps marks in place of those before.
  package func mark(_ mailbox: Identifier, with marks: [Identifier]) throws {
    let kept = marks.prefix(RelayTransport.maximumMarks)
    var writer = ByteWriter()
    writer.varint(kept.count)
    for mark in kept { writer.identifier(mark) }
    try memory.save(memoryName(mailbox, "marks"), writer.bytes)
  }
}
