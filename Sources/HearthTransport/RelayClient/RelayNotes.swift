import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// What a device remembers about one relay: the known logs, and its own work there.
package struct RelayNotes {
  /// The most marks to remember for one mailbox.
  private static let maximumMarks = 8_192
  /// The most refused removals to remember for one mailbox.
  ///
  /// The latest are kept.
  package static let maximumRefusedRemovals = 8_192

  private let memory: any RelayMemory
  private let address: RelayAddress

  package init(_ memory: any RelayMemory, of address: RelayAddress) {
    self.memory = memory
    self.address = address
  }

  /// The name under which something about a mailbox is stored.
  func name(_ mailbox: Identifier, _ what: String) -> String {
    // A certificate from an authority may change without consequence, so the address identifies the
    // relay instead.
    if address.asksAuthorities { return "relay.\(what).\(address.place).\(mailbox.hex)" }
    let relay = address.pin.array.prefix(8).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    return "relay.\(what).\(relay).\(mailbox.hex)"
  }

  // MARK: Logs

  /// The known part of a mailbox's log; nil if there is none that this program can read.
  func index(of mailbox: Identifier) throws -> RelayMailboxIndex? {
    let bytes = try memory.load(name(mailbox, "index"))
    let index = bytes.flatMap { try? RelayMailboxIndex(decoding: $0) }
    return index?.mailbox == mailbox ? index : nil
  }

  /// Stores the known part of a mailbox's log.
  func keep(_ index: RelayMailboxIndex) throws {
    try memory.save(name(index.mailbox, "index"), index.encoded)
  }

  // MARK: Marks

  /// The marks of this device's past work on a mailbox.
  package func marks(of mailbox: Identifier) throws -> Set<Identifier> {
    Set(try list(mailbox, "marks", "mark", atMost: RelayNotes.maximumMarks))
  }

  /// Replaces the marks of a mailbox.
  package func mark(_ mailbox: Identifier, with marks: [Identifier]) throws {
    try keep(marks.prefix(RelayNotes.maximumMarks), of: mailbox, "marks")
  }

  /// The segments, by digest, that a mailbox does not let this device remove, the latest last.
  func refusedRemovals(in mailbox: Identifier) throws -> [Identifier] {
    try list(mailbox, "refused", "removal", atMost: RelayNotes.maximumRefusedRemovals)
  }

  /// Remembers segments that a mailbox does not let this device remove.
  func note(refusedRemovals digests: [Identifier], in mailbox: Identifier) throws {
    let new = Set(digests)
    let kept = try refusedRemovals(in: mailbox).filter { !new.contains($0) } + digests
    try keep(kept.suffix(RelayNotes.maximumRefusedRemovals), of: mailbox, "refused")
  }

  private func list(
    _ mailbox: Identifier, _ what: String, _ item: String, atMost most: Int
  ) throws -> [Identifier] {
    guard let bytes = try memory.load(name(mailbox, what)) else { return [] }
    var reader = ByteReader(bytes)
    let count = try reader.count(item + "s", itemBytes: 16, atMost: most)
    return try (0..<count).map { _ in try reader.identifier(item) }
  }

  private func keep(
    _ list: ArraySlice<Identifier>, of mailbox: Identifier, _ what: String
  ) throws {
    var writer = ByteWriter(capacity: 8 + list.count * 16)
    writer.varint(list.count)
    for identifier in list { writer.identifier(identifier) }
    try memory.save(name(mailbox, what), writer.bytes)
  }

  // MARK: Handoffs

  /// The generation of the log whose rekey handoffs this device last filled; nil if it never did.
  package func attendedLog(of mailbox: Identifier) throws -> Identifier? {
    try memory.load(name(mailbox, "doors")).flatMap { Identifier(bytes: $0) }
  }

  /// Remembers that this device filled the rekey handoffs of a mailbox with this log.
  package func attend(_ mailbox: Identifier, log: Identifier) throws {
    try memory.save(name(mailbox, "doors"), log.bytes)
  }

  /// What is remembered of the checks of a mailbox's handoffs; nil if there is nothing that this
  /// program can read.
  func handoffWatch(of mailbox: Identifier) throws -> HandoffWatch? {
    try memory.load(name(mailbox, "handoffs")).flatMap { try? HandoffWatch(decoding: $0) }
  }

  /// Stores what to remember of the checks of a mailbox's handoffs.
  func keep(_ watch: HandoffWatch, of mailbox: Identifier) throws {
    try memory.save(name(mailbox, "handoffs"), watch.encoded)
  }

  // MARK: Replaced keys and mailboxes

  /// Remembers whether the relay still accepts keys that others have replaced.
  package func noteOldKeys(_ areKept: Bool) throws {
    guard try keepsOldKeys() != areKept else { return }
    try memory.save(name(.zero, "old-keys"), [areKept ? 1 : 0])
  }

  /// Whether the relay still accepts keys that others have replaced, as of the last round.
  package func keepsOldKeys() throws -> Bool {
    try memory.load(name(.zero, "old-keys")) == [1]
  }

  /// Returns which of a group's mailboxes this device uses.
  package func moves(of group: GroupID) throws -> RelayMoves {
    guard let bytes = try memory.load(name(group, "moved")) else { return RelayMoves() }
    return try RelayMoves(decoding: bytes)
  }

  /// Stores which of a group's mailboxes this device uses.
  package func keep(_ moves: RelayMoves, of group: GroupID) throws {
    try memory.save(name(group, "moved"), moves.encoded)
  }
}
