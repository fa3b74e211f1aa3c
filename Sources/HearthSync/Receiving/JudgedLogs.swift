import HearthCRDT

/// The results that one slice of a batch leaves to the next.
///
/// They say how far logs were judged, and which segments are partly applied and therefore not in
/// the log yet.
struct JudgedLogs {
  /// The false claims for which logs are held back.
  var claims: [Author: FalseClaim]
  /// The first change of each log that was judged without the changes it cites.
  ///
  /// Nodes that did not bootstrap from a snapshot may judge it differently.
  private(set) var uncertain: [Author: UInt64]
  /// The partly applied segment of each log.
  private var partlyApplied: [Author: OpenedSegment] = [:]

  init(claims: [Author: FalseClaim] = [:], uncertain: [Author: UInt64] = [:]) {
    self.claims = claims
    self.uncertain = uncertain
  }

  /// A log's partly applied segment that contains an applied change.
  func partlyApplied(_ author: Author, _ sequence: UInt64) -> OpenedSegment? {
    partlyApplied[author].flatMap { $0.first <= sequence && sequence <= $0.last ? $0 : nil }
  }

  /// Notes a change that nodes with the full history may judge differently.
  mutating func noteUncertain(_ dot: Dot) {
    uncertain[dot.author] = min(uncertain[dot.author] ?? .max, dot.sequence)
  }

  /// Keeps the partly applied segments of the pending ones.
  mutating func keep(_ waiting: [OpenedSegment], in zone: ZoneState) {
    partlyApplied = partlyApplied.filter { zone.head(of: $0.key).sequence < $0.value.last }
    for segment in waiting {
      let head = zone.head(of: segment.author)
      guard segment.first <= head.sequence, segment.agrees(with: head) else { continue }
      partlyApplied[segment.author] = segment
    }
  }
}
