import HearthCRDT
import HearthSync

/// A durable store for what a relay's client knows about mailboxes.
package protocol RelayMemory {
  /// Loads the value stored under a name; nil if there is none.
  func load(_ name: String) throws -> [UInt8]?
  /// Stores a value.
  func save(_ name: String, _ bytes: [UInt8]) throws
}

/// A relay client's memory among the facts of a node's store.
package struct FactMemory<S: Store>: RelayMemory {
  private let store: S

  package init(store: S) { self.store = store }

  package func load(_ name: String) throws -> [UInt8]? { try store.facts.value(of: name) }

  package func save(_ name: String, _ bytes: [UInt8]) throws {
    try store.transaction { try store.facts.set(name, to: bytes) }
  }
}

// What a device remembers about its own work at a relay.
extension RelayTransport {
  private static let maximumMarks = 8_192

  /// The marks of this device's past work on a mailbox at this relay.
  package func marks(of mailbox: Identifier) throws -> Set<Identifier> {
    guard let bytes = try memory.load(memoryName(mailbox, "marks")) else { return [] }
    var reader = ByteReader(bytes)
    let count = try reader.count(
      "marks", itemBytes: 16, atMost: RelayTransport.maximumMarks)
    return Set(try (0..<count).map { _ in try reader.identifier("mark") })
  }

  /// The most refused removals to remember for one mailbox.
  ///
  /// The latest are kept.
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

  /// The generation of the log whose rekey handoffs this device last filled; nil if it never did.
  package func attendedLog(of mailbox: Identifier) throws -> Identifier? {
    try memory.load(memoryName(mailbox, "doors")).flatMap { Identifier(bytes: $0) }
  }

  /// Remembers that this device filled the rekey handoffs of a mailbox with this log.
  package func attend(_ mailbox: Identifier, log: Identifier) throws {
    try memory.save(memoryName(mailbox, "doors"), log.bytes)
  }

  private var oldKeysName: String { memoryName(.zero, "old-keys") }

  /// Remembers whether this relay still accepts keys that others have replaced.
  package func noteOldKeys(_ areKept: Bool) throws {
    guard try keepsOldKeys() != areKept else { return }
    try memory.save(oldKeysName, [areKept ? 1 : 0])
  }

  /// Whether this relay still accepts keys that others have replaced, as of the last round.
  package func keepsOldKeys() throws -> Bool { try memory.load(oldKeysName) == [1] }

  /// The problem that reports that this relay still accepts replaced keys.
  package var oldKeysProblem: TransportProblem {
    TransportProblem(
      place: place,
      fault: "it still accepts the keys from before a removal: a removed device can fetch sealed "
        + "files there, but read nothing new in them. The relay is too full to change the keys: "
        + "the handoff to devices that are away needs room",
      remedy: "ask the relay's operator for more room, then sync", hidesData: true)
  }

  /// Replaces the marks of a mailbox.
  package func mark(_ mailbox: Identifier, with marks: [Identifier]) throws {
    let kept = marks.prefix(RelayTransport.maximumMarks)
    var writer = ByteWriter()
    writer.varint(kept.count)
    for mark in kept { writer.identifier(mark) }
    try memory.save(memoryName(mailbox, "marks"), writer.bytes)
  }
}
