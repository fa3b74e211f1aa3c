import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// One log of the control zone, in which a device says whatever its keeper likes.
///
/// What it cites is true: an operation that cites what there is not would be refused, and nothing
/// that follows it could be tried.
struct Herald: Sendable {
  private let pen: ZonePen
  private let device: DeviceIdentity
  /// What is known of the other logs of the zone, and the hash of each.
  private var known: Frontier
  private var hashes: [Author: [UInt8]]
  /// Where the log stands.
  private(set) var head: LogHead

  /// Goes on with a log from its head.
  init(_ pen: ZonePen, as device: DeviceIdentity, from head: LogHead, knowing heads: [LogHead]) {
    self.pen = pen
    self.device = device
    self.head = head
    known = Frontier(heads.map { ($0.author, $0.sequence) })
    hashes = Dictionary(
      heads.map { ($0.author, $0.hash) }, uniquingKeysWith: { first, _ in first })
  }

  /// Takes note of another log of the zone, which the next change cites.
  mutating func learn(_ other: LogHead) {
    known.advance(other.author, to: other.sequence)
    hashes[other.author] = other.hash
  }

  /// The dot that the next change will have.
  var nextDot: Dot { Dot(author: head.author, sequence: head.sequence + 1) }

  /// The next change of the log, with these operations.
  mutating func change(_ said: [ControlOperation], nowMilliseconds: UInt64) -> Change {
    let dot = nextDot
    let past = head.past
    let seen = known.joined(with: past).difference(from: past, citing: { hashes[$0] ?? [] })
    let time = max(head.time.rawValue + 1, HybridTime(milliseconds: nowMilliseconds).rawValue)
    let type = ControlOperation.type
    let operations = said.enumerated().map { index, operation in
      Operation(
        RecordKey(type: type, id: eventID(in: pen.zone, type: type, dot: dot, index: index)),
        .event([EventField(ControlOperation.bodyField, .bytes(operation.encoded))]))
    }
    let change = Change(
      dot: dot, previousHash: head.hash, seen: seen, time: HybridTime(rawValue: time),
      operations: operations)
    head.sequence = dot.sequence
    head.hash = pen.hash(after: change)
    head.time = change.time
    head.seen = head.seen.raised(by: seen) ?? head.seen
    return change
  }

  /// Seals consecutive changes of the log into one file.
  func seal(_ changes: [Change]) throws -> HostileFile { try pen.seal(changes, by: device) }
}
