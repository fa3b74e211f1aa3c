import HearthCRDT
import HearthCrypto
import HearthMembership

/// The error that a later load of a zone has taken its draft over.
struct DraftTaken: Error {}

/// A load of a snapshot into the draft of a zone, written in short transactions.
///
/// Decision 0078 explains the reasons. Several processes may load the same zone: the last one that
/// began has the draft, and the others notice it before they write.
struct ZoneDraft: Sendable {
  let zone: ZoneID
  /// How many loads of the zone began until this one.
  private let number: UInt64

  /// The number of the last load, and whether it may have left something in the draft.
  private struct Mark {
    let number: UInt64
    let isOpen: Bool
  }

  private static func fact(of zone: ZoneID) -> Fact<Mark> {
    Fact("draft.\(zone.hex)") { mark, writer in
      writer.fixed64(mark.number)
      writer.byte(mark.isOpen ? 1 : 0)
    } read: { reader in
      Mark(number: try reader.fixed64("number"), isOpen: try reader.byte("open") != 0)
    }.asCache
  }

  /// How many rows one call removes.
  private static let clearedRows = 256

  /// Whether a load has begun and not ended.
  static func isLeft(of zone: ZoneID, in store: some Store) throws -> Bool {
    try store.facts.value(of: fact(of: zone))?.isOpen ?? false
  }

  /// Begins a load, which has the draft from now on; the caller clears it first.
  init(of zone: ZoneID, in store: some Store) throws {
    self.zone = zone
    let last = try store.facts.value(of: ZoneDraft.fact(of: zone))?.number ?? 0
    number = last &+ 1
    let mark = Mark(number: number, isOpen: true)
    try store.transaction { try store.facts.set(ZoneDraft.fact(of: zone), to: mark) }
  }

  /// Requires that no later load has begun.
  func check(in store: some Store) throws {
    guard try store.facts.value(of: ZoneDraft.fact(of: zone))?.number == number else {
      throw DraftTaken()
    }
  }

  /// Runs a body in one transaction that writes to the draft.
  func write<S: Store>(in store: S, _ body: (S) throws -> Void) throws {
    try store.drafts.transaction {
      try check(in: store)
      try store.drafts.writing(to: zone) { try body(store) }
    }
  }

  /// Begins to derive the rows of the records, which are all there.
  func derivation(in store: some Store) throws -> any DraftDerivation {
    try check(in: store)
    return try store.drafts.derivation(of: zone)
  }

  /// Writes some of the derived rows.
  func insert(_ rows: [DerivedValues], in store: some Store) throws {
    try store.drafts.transaction {
      try check(in: store)
      try store.drafts.insert(rows, in: zone)
    }
  }

  /// Removes some of the draft; returns whether nothing is left.
  ///
  /// - Parameter isEnd: Whether the load ends with the last of it.
  func clear(isEnd: Bool, in store: some Store) throws -> Bool {
    try store.drafts.transaction {
      try check(in: store)
      guard try store.drafts.clear(of: zone, atMost: ZoneDraft.clearedRows) else { return false }
      if isEnd {
        try store.facts.set(
          ZoneDraft.fact(of: zone), to: Mark(number: number, isOpen: false))
      }
      return true
    }
  }
}
