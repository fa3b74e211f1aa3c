import HearthCRDT
import HearthMembership

/// Segments that were opened together, and those that could not be opened.
struct Slice {
  var opened: [OpenedSegment] = []
  /// The segments of unknown devices that introduce themselves, which nobody has proven yet.
  var introducing: [(segment: OpenedSegment, claim: IntroductionClaim)] = []
  var unopened: [PendingSegment] = []
  /// The segments that were pending before.
  var waited: Set<Identifier> = []
  /// The previously pending segments that were not partly applied, and so not judged, before.
  var unjudged: Set<Identifier> = []
  /// The segments that were pending on a newer version of Hearth.
  var unread: Set<Identifier> = []
  var weight = 0
  var bytes = 0
  var count = 0
  /// How far each log will be applied with its opened segments, if nothing holds them back.
  private var ends: [Author: UInt64] = [:]

  /// Adds an opened segment.
  mutating func add(_ segment: OpenedSegment, in zone: ZoneState) {
    weight += segment.weight
    opened.append(segment)
    note(segment.author, segment.first...segment.last, in: zone)
  }

  /// Notes an opened segment.
  mutating func note(_ author: Author, _ changes: ClosedRange<UInt64>, in zone: ZoneState) {
    let end = end(of: author, in: zone)
    if changes.lowerBound <= end + 1 { ends[author] = max(end, changes.upperBound) }
  }

  /// The authors of the segments that were opened, proven or not, in order.
  var authors: [Author] {
    Set(opened.map(\.author)).union(introducing.map(\.segment.author)).sorted()
  }

  /// The logs with opened segments, in order, each with whether all of them were applied.
  func logs(in zone: ZoneState) -> [(author: Author, isWhole: Bool)] {
    Set(opened.map(\.author)).sorted().map {
      ($0, zone.head(of: $0).sequence >= end(of: $0, in: zone))
    }
  }

  /// Up to where a log's segments are worth opening: behind a gap they stay pending anyway.
  func end(of author: Author, in zone: ZoneState) -> UInt64 {
    ends[author] ?? zone.head(of: author).sequence
  }
}
