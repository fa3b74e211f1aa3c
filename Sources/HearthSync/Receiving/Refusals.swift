import HearthCRDT
import HearthCrypto
import HearthMembership

/// A zone's segments that were examined and not kept, by the digest of their bytes.
///
/// A name contains the digest of its bytes, so a refused segment stays refused under that name, and
/// repaired bytes are another segment. The list is in the store, because most rounds are those of a
/// newly started program. It is only a memory: what it forgets is examined again.
struct Refusals {
  /// Why a segment was refused; decides when it is examined again.
  enum Kind: UInt8 {
    /// Nothing that a node can learn makes it usable.
    case forever = 0
    /// The control log gives its author no place, or speaks against its key.
    ///
    /// It is examined again once that log has moved.
    case members = 1
    /// Nobody could verify it, and there was no space for it.
    ///
    /// It is examined again once its author is known. In a control zone it may introduce its
    /// author, so there it is examined again once anything is known that may vouch for that author.
    case stranger = 2
    /// It seems to be of a newer version, and there was no space for it.
    case newer = 3
  }

  /// One refusal.
  struct Refused {
    let digest: Identifier
    let kind: Kind
  }

  private struct Row {
    let kind: Kind
    /// Whether the segment was examined with the knowledge noted last.
    let isCurrent: Bool
    let order: Int
  }

  /// What is told of a file that was refused for good.
  static let words = "it was examined before: it is damaged, forged or impossible"

  /// The most entries; beyond, the oldest are forgotten.
  static let maximumCount = 16_384

  private var rows: [Identifier: Row] = [:]
  private var nextOrder = 0
  /// The entry noted last.
  private(set) var last: Identifier?
  /// The knowledge with which the current entries were examined.
  private var knowledge: [UInt8] = []

  init() {}

  /// Whether nothing is noted.
  var isEmpty: Bool { rows.isEmpty }

  /// Whether further entries displace others.
  var isFull: Bool { rows.count >= Refusals.maximumCount }

  /// Whether a segment was examined and not kept, for whatever reason.
  func contains(_ digest: Identifier) -> Bool { rows[digest] != nil }

  /// Whether a segment can never be used.
  func isForever(_ digest: Identifier) -> Bool { rows[digest]?.kind == .forever }

  /// Whether it would be in vain to examine a segment again.
  ///
  /// - Parameters:
  ///   - isKnown: Whether the author of its name is known.
  ///   - zone: The kind of its zone.
  ///   - now: The present knowledge.
  func isVain(
    _ digest: Identifier, isKnown: Bool, in zone: ZoneKind, knowing now: [UInt8]
  ) -> Bool {
    guard let row = rows[digest] else { return false }
    let isCurrent = row.isCurrent && knowledge == now
    return switch row.kind {
    case .forever, .newer: true
    case .members: isCurrent
    case .stranger: !isKnown && (zone == .data || isCurrent)
    }
  }

  /// Notes segments that were examined with some knowledge.
  mutating func note(_ refused: [Refused], knowing examined: [UInt8]) {
    if knowledge != examined {
      knowledge = examined
      rows = rows.mapValues { Row(kind: $0.kind, isCurrent: false, order: $0.order) }
    }
    for item in refused.sorted(by: { isBefore($0.digest, $1.digest) }) {
      rows[item.digest] = Row(kind: item.kind, isCurrent: true, order: nextOrder)
      nextOrder += 1
      last = item.digest
    }
    guard rows.count > Refusals.maximumCount else { return }
    let oldest = rows.sorted { $0.value.order < $1.value.order }
    for (digest, _) in oldest.prefix(rows.count - Refusals.maximumCount) { rows[digest] = nil }
  }

  /// Orders digests so that those behind the entry noted last come first.
  ///
  /// If a round cannot examine everything, the next one continues where it stopped. So each file of
  /// a flood has its turn, whatever is forgotten meanwhile.
  func isBefore(_ left: Identifier, _ right: Identifier) -> Bool {
    guard let last, (left > last) != (right > last) else { return left < right }
    return left > last
  }
}

// MARK: - Storing

extension Refusals {
  /// The rules by which segments are refused for good.
  ///
  /// A version with other rules examines everything again. The first number rises whenever a check
  /// changes in such a way that a refused segment may become usable.
  private static var rules: [UInt8] {
    var writer = ByteWriter()
    writer.raw([1, EnvelopeFormat.suite, ChangeBatch.formatVersion])
    for limit in [
      EnvelopeFormat.maximumEnvelopeBytes, Limits.maximumChangeBytes, Limits.maximumOperations,
      Limits.maximumSegmentChanges, Limits.maximumSegmentBytes, Limits.maximumSegmentItems,
      Limits.maximumAuthors, Limits.maximumLives, Limits.maximumCitedLives,
      Limits.maximumDevices, Limits.maximumSpareDevices,
      Limits.maximumEventFields, Limits.maximumValueBytes,
    ] {
      writer.varint(limit)
    }
    return writer.bytes
  }

  /// Nothing is read of what was noted under other rules, or is damaged.
  private static func fact(of zone: ZoneID) -> Fact<Refusals> {
    Fact(
      "refused.\(zone.hex)", encode: { $0.encoded },
      decode: { (try? Refusals(decoding: $0)) ?? Refusals() }
    ).asCache
  }

  /// Reads what is noted of a zone; nothing if it was noted under other rules, or is damaged.
  init(of zone: ZoneID, in store: some Store) throws {
    self = try store.facts.value(of: Refusals.fact(of: zone)) ?? Refusals()
  }

  /// Notes refusals of a zone in the store.
  ///
  /// - Parameter knowledge: The knowledge with which the segments were examined.
  static func add(
    _ refused: [Refused], of zone: ZoneID, in store: some Store,
    knowing knowledge: () throws -> [UInt8]
  ) throws {
    guard !refused.isEmpty else { return }
    var refusals = try Refusals(of: zone, in: store)
    refusals.note(refused, knowing: try knowledge())
    try store.facts.set(fact(of: zone), to: refusals)
  }

  /// Forgets what is noted of a zone, so that everything is examined again.
  static func forget(_ zone: ZoneID, in store: some Store) throws {
    guard try store.facts.has(fact(of: zone)) else { return }
    try store.facts.set(fact(of: zone), to: nil)
  }

  /// The encoding for the store; a digest at its end shows damage, which might hide good files.
  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 64 + rows.count * (Identifier.byteCount + 1))
    writer.blob(Refusals.rules)
    writer.blob(knowledge)
    writer.varint(rows.count)
    for (digest, row) in rows.sorted(by: { $0.value.order < $1.value.order }) {
      writer.identifier(digest)
      writer.byte(row.kind.rawValue | (row.isCurrent ? 0x80 : 0))
    }
    writer.identifier(segmentDigest(writer.bytes))
    return writer.bytes
  }

  /// Reads the output of ``encoded``.
  ///
  /// - Throws: `CodecError` if the bytes are damaged, or of a version with other rules.
  init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    guard try reader.blob("rules", atMost: 1_024) == Refusals.rules else {
      throw CodecError(.unknown, "rules", offset: 0)
    }
    knowledge = try reader.blob("knowledge", atMost: 64)
    let count = try reader.count(
      "refusals", itemBytes: Identifier.byteCount + 1, atMost: Refusals.maximumCount)
    for _ in 0..<count {
      let digest = try reader.identifier("digest")
      let code = try reader.byte("kind")
      guard let kind = Kind(rawValue: code & 0x7f) else {
        throw CodecError(.unknown, "kind", offset: reader.offset)
      }
      rows[digest] = Row(kind: kind, isCurrent: code & 0x80 != 0, order: nextOrder)
      nextOrder += 1
      last = digest
    }
    let content = Array(bytes.prefix(reader.offset))
    guard try reader.identifier("digest of all") == segmentDigest(content) else {
      throw CodecError(.notCanonical, "digest of all", offset: reader.offset)
    }
    try reader.finish()
  }
}
