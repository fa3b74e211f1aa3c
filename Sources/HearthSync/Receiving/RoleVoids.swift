import HearthCRDT
import HearthMembership

/// A change that is void by its content.
struct VoidChange: Equatable, Sendable {
  let dot: Dot
  /// The author's role at the time when the change counts as written.
  let role: Role?
  let cause: Cause

  /// The reason why the change is void.
  enum Cause: Equatable, Sendable {
    /// Its author's role does not allow all of it.
    case beyondRole
    /// It would put more into a record than one author may.
    case beyondLimit(RecordKey)
    /// It contains an operation that no program writes, so nobody can adopt it.
    case malformed
  }
}

/// The void changes of a zone, because of their authors' roles or the limits of a record.
///
/// The list is stored beside the records, so that nobody has to read every log to compile it.
struct RoleVoids: Equatable {
  /// The most listed stretches of one author's log.
  ///
  /// The limit prevents an author who alternates void and valid changes from filling a store. Later
  /// void changes are reported too, but cannot be adopted.
  static let maximumStretches = 256

  /// Consecutive changes of one log that are void for the same reason.
  struct Span: Equatable {
    var changes: ClosedRange<UInt64>
    /// The record whose limit was exceeded; nil if the role is the reason.
    let overfull: RecordKey?
  }

  private var stretches: [Author: [Span]] = [:]

  init() {}

  /// The stretches, in order of author and number.
  var all: [(author: Author, stretch: Span)] {
    stretches.sorted { $0.key < $1.key }.flatMap { author, own in own.map { (author, $0) } }
  }

  /// Notes a change.
  ///
  /// - Parameter overfull: The record whose limit was exceeded, if that is the reason.
  /// - Returns: Whether the change is new and was noted within the limit.
  mutating func insert(_ dot: Dot, overfull: RecordKey? = nil) -> Bool {
    var own = stretches[dot.author] ?? []
    if own.contains(where: { $0.changes.contains(dot.sequence) }) { return false }
    if let last = own.last, last.changes.upperBound + 1 == dot.sequence, last.overfull == overfull {
      own[own.count - 1].changes = last.changes.lowerBound...dot.sequence
    } else {
      guard own.count < RoleVoids.maximumStretches else { return false }
      own.append(Span(changes: dot.sequence...dot.sequence, overfull: overfull))
    }
    stretches[dot.author] = own
    return true
  }

  /// The changes that another list lacks.
  func changes(besides others: RoleVoids) -> [VoidChange] {
    all.flatMap { author, stretch in
      let known = others.stretches[author] ?? []
      return stretch.changes.lazy
        .filter { sequence in !known.contains { $0.changes.contains(sequence) } }
        .map {
          VoidChange(
            dot: Dot(author: author, sequence: $0), role: nil,
            cause: stretch.overfull.map(VoidChange.Cause.beyondLimit) ?? .beyondRole)
        }
    }
  }

  // MARK: Bytes

  var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 256)
    writer.varint(stretches.count)
    for (author, changes) in stretches.sorted(by: { $0.key < $1.key }) {
      writer.author(author)
      writer.varint(changes.count)
      for stretch in changes {
        writer.varint(stretch.changes.lowerBound)
        writer.varint(stretch.changes.upperBound - stretch.changes.lowerBound)
        // No record has type 0.
        writer.varint(UInt64(stretch.overfull?.type.rawValue ?? 0))
        if let key = stretch.overfull { writer.identifier(key.id) }
      }
    }
    return writer.bytes
  }

  /// Decodes the list.
  ///
  /// - Throws: `CodecError` for bytes that this type does not write.
  init(_ bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    let item = "void changes"
    for _ in 0..<(try reader.varint(item, atMost: Limits.maximumAuthors)) {
      let author = try reader.author(item)
      var changes: [Span] = []
      for _ in 0..<(try reader.varint(item, atMost: RoleVoids.maximumStretches)) {
        let first = try reader.varint(item)
        let (last, isOver) = first.addingReportingOverflow(try reader.varint(item))
        guard !isOver else { throw CodecError(.beyondLimit, item, offset: 0) }
        let type = UInt16(try reader.varint(item, atMost: Int(UInt16.max)))
        let overfull =
          type == 0
          ? nil : RecordKey(type: TypeID(rawValue: type), id: try reader.identifier(item))
        changes.append(Span(changes: first...last, overfull: overfull))
      }
      stretches[author] = changes
    }
    try reader.finish()
  }
}

/// The void changes that a zone has stored.
enum StoredVoids {
  /// The time during which one device's void changes are reported only once.
  static var voidNoticeMilliseconds: UInt64 { 24 * 60 * 60 * 1000 }

  /// The stored void changes of a zone.
  static func roleVoids(of zone: ZoneID, in store: some Store) throws -> RoleVoids {
    try store.facts.value(of: fact(of: zone)) ?? RoleVoids()
  }

  /// Stores the void changes of a zone.
  static func save(_ voids: RoleVoids, of zone: ZoneID, in store: some Store) throws {
    let fact = fact(of: zone)
    if voids == RoleVoids() {
      if try store.facts.has(fact) { try store.facts.set(fact, to: nil) }
    } else {
      try store.facts.set(fact, to: voids)
    }
  }

  /// Notes void changes of a zone.
  ///
  /// - Returns: The changes to report.
  static func note(_ voids: [VoidChange], in zone: ZoneID, with store: some Store) throws
    -> [VoidChange]
  {
    guard !voids.isEmpty else { return [] }
    var noted = try roleVoids(of: zone, in: store)
    for void in voids {
      switch void.cause {
      case .beyondRole: _ = noted.insert(void.dot)
      case .beyondLimit(let key): _ = noted.insert(void.dot, overfull: key)
      case .malformed: break
      }
    }
    try save(noted, of: zone, in: store)
    return voids
  }

  private static func fact(of zone: ZoneID) -> Fact<RoleVoids> {
    Fact("void.changes." + zone.hex, encode: { $0.bytes }, decode: { try RoleVoids($0) })
  }
}
