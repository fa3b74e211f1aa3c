import HearthCRDT

/// Widens causes by fork evidence: seeing a published segment's last part is seeing its content.
///
/// A published segment may itself contain the last parts of other segments, and so on. The closure
/// is computed once, over groups of evidence that contain each other, since sequence numbers may
/// lie about the order. O(s·l) joins for s pieces of evidence in l logs, whatever their references.
struct Sights: Sendable {
  /// The combined knowledge from each log's fork evidence up to a change, in order of author.
  private var logs: [(author: Author, showings: [(sequence: UInt64, seen: Frontier)])] = []

  init() {}

  /// - Parameter found: where each piece of evidence ends, and the published segment's knowledge.
  init(_ found: [(dot: Dot, seen: Frontier)]) {
    let ordered = found.sorted { $0.dot < $1.dot }
    for showing in ordered {
      if logs.last?.author != showing.dot.author { logs.append((showing.dot.author, [])) }
      logs[logs.count - 1].showings.append((showing.dot.sequence, showing.seen))
    }
    var starts: [Int] = []
    var places: [(log: Int, showing: Int)] = []
    for log in logs.indices {
      starts.append(places.count)
      places += logs[log].showings.indices.map { (log, $0) }
    }
    let held = places.map { place -> [Int] in
      let seen = logs[place.log].showings[place.showing].seen
      var held = logs.indices.compactMap { log in
        last(in: log, upTo: seen[logs[log].author]).map { starts[log] + $0 }
      }
      // A change sees the earlier changes of its log.
      if place.showing > 0 { held.append(starts[place.log] + place.showing - 1) }
      return held
    }
    for group in stronglyConnectedComponents(held) {
      var seen = Frontier()
      for number in group {
        seen = seen.joined(with: logs[places[number].log].showings[places[number].showing].seen)
        // The evidence of other groups is complete at this point.
        for other in held[number] {
          let more = logs[places[other].log].showings[places[other].showing].seen
          if !seen.covers(more) { seen = seen.joined(with: more) }
        }
      }
      for number in group {
        logs[places[number].log].showings[places[number].showing].seen = seen
      }
    }
  }

  /// Knowledge, widened by all published segments in it.
  func widened(_ seen: Frontier) -> Frontier { widened(seen, at: nil) }

  /// An operation with widened causes; its past includes the evidence in its own change.
  func widening(_ item: ControlItem) -> ControlItem {
    guard !logs.isEmpty else { return item }
    return item.having(seen: widened(item.cause, at: item.position))
  }

  private func widened(_ seen: Frontier, at position: Dot?) -> Frontier {
    var widened = seen
    for log in logs.indices {
      var reached = seen[logs[log].author]
      if let position, position.author == logs[log].author {
        reached = max(reached, position.sequence)
      }
      guard let place = last(in: log, upTo: reached) else { continue }
      let more = logs[log].showings[place].seen
      if !widened.covers(more) { widened = widened.joined(with: more) }
    }
    return widened
  }

  /// The last evidence in a log at or before a change.
  private func last(in log: Int, upTo sequence: UInt64) -> Int? {
    let beyond = logs[log].showings.partitionPoint { $0.sequence > sequence }
    return beyond > 0 ? beyond - 1 : nil
  }
}

/// Groups places that lead to each other, each group after all groups that it leads to.
///
/// The function uses no recursion, since an adversary may choose the depth. O(places + edges).
/// Source: R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
func stronglyConnectedComponents(_ successors: [[Int]]) -> [[Int]] {
  var components: [[Int]] = []
  var numbers = [Int](repeating: 0, count: successors.count)
  var lowest = [Int](repeating: 0, count: successors.count)
  var isOpen = [Bool](repeating: false, count: successors.count)
  var open: [Int] = []
  var next = 1
  for root in successors.indices where numbers[root] == 0 {
    var path = [(place: root, taken: 0)]
    while let (place, taken) = path.last {
      if taken == 0 {
        numbers[place] = next
        lowest[place] = next
        next += 1
        open.append(place)
        isOpen[place] = true
      }
      if taken < successors[place].count {
        path[path.count - 1].taken += 1
        let successor = successors[place][taken]
        if numbers[successor] == 0 {
          path.append((successor, 0))
        } else if isOpen[successor] {
          lowest[place] = Swift.min(lowest[place], numbers[successor])
        }
        continue
      }
      path.removeLast()
      if let parent = path.last {
        lowest[parent.place] = Swift.min(lowest[parent.place], lowest[place])
      }
      guard lowest[place] == numbers[place] else { continue }
      var component: [Int] = []
      while let last = open.popLast() {
        isOpen[last] = false
        component.append(last)
        if last == place { break }
      }
      components.append(component)
    }
  }
  return components
}
