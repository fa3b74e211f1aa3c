import HearthCRDT

/// The recovery words that devices set in two branches of one incarnation.
///
/// Of two branches, the first two operations that are concurrent suffice: whoever has seen later
/// ones has seen these as well.
struct DoubledWords: Sendable {
  /// For each such device: its operations with the concurrent ones that come later in log order.
  private var pairs: [DeviceID: [(place: Int, later: [Int])]] = [:]

  init(_ log: ControlLog) {
    guard !log.forked.isEmpty else { return }
    let words = log.items.indices.filter { log.operation($0).words != nil }
    let lives = Dictionary(grouping: words) { log.items[$0].version.dot.author }
    for (life, places) in lives {
      let parts = LogParts(places, of: log)
      var found: [Int: [Int]] = [:]
      for part in 0..<parts.authorCount {
        for other in 0..<parts.authorCount where other != part {
          guard let pair = parts.firstApart(in: part, after: other, in: log) else { continue }
          found[pair.earlier, default: []].append(pair.later)
        }
      }
      guard !found.isEmpty else { continue }
      pairs[life.device, default: []] += found.sorted { $0.key < $1.key }.map {
        (place: $0.key, later: $0.value.sorted())
      }
    }
  }

  /// Whether an operation's author had seen its device set words in two branches.
  func areSeen(by place: Int, in log: ControlLog) -> Bool {
    (pairs[log.devices[place]] ?? []).contains { earlier, later in
      log.sees(place, earlier) && later.contains { log.sees(place, $0) }
    }
  }
}
