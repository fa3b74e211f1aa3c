import HearthCRDT

/// What is seen with shown segments: who had seen the last part of one had seen what is in it.
///
/// What is seen so may hold the last parts of others, and so on. That is worked out once, over
/// groups of showings that hold each other, as numbers may lie about what comes first: O(s·l) joins
/// for s showings in l logs, however they hang together.
struct Sights: Sendable {
  /// For each log that shows something, in order of author, what is seen with all showings up to a
  /// change of it.
  private var logs: [(author: Author, showings: [(sequence: UInt64, seen: Frontier)])] = []

  init() {}

  /// - Parameter found: where each showing ends, and what who wrote the shown segment had seen.
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
      // Who sees a change of a log sees those before it.
      if place.showing > 0 { held.append(starts[place.log] + place.showing - 1) }
      return held
    }
    for group in stronglyConnectedComponents(held) {
      var seen = Frontier()
      for number in group {
        seen = seen.joined(with: logs[places[number].log].showings[places[number].showing].seen)
        // Those of other groups are complete by now.
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

  /// Knowledge, and what is in all the segments that it had seen shown.
  func widened(_ seen: Frontier) -> Frontier { widened(seen, at: nil) }

  /// The same of an operation, which had seen what is shown with its own change.
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

  /// The last showing of a log that is not beyond a change.
  private func last(in log: Int, upTo sequence: UInt64) -> Int? {
    let beyond = logs[log].showings.partitionPoint { $0.sequence > sequence }
    return beyond > 0 ? beyond - 1 : nil
  }
}

/// The groups of places that lead to each other, each after all groups to which it leads.
///
/// Without recursion, as the depth may be anybody's choice. O(places + edges). Source: R. Tarjan,
/// "Depth-first search and linear graph algorithms", 1972.
///
/// - Parameter successors: for each place those to which it leads.
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
