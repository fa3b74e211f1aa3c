import HearthCRDT

/// Widens causes by fork evidence: seeing a published segment's last part is seeing its content.
///
/// A published segment may itself contain the last parts of other segments, and so on. The closure
/// is computed once, over groups of evidence that contain each other, since sequence numbers may
/// lie about the order. O(s·l) joins for s pieces of evidence in l logs, whatever their references.
struct Sights: Sendable {
  /// For each log with fork evidence, in order of author: where each piece ends, and the number of
  /// the combined knowledge from the pieces up to it.
  private var logs: [(author: Author, showings: [(sequence: UInt64, knowledge: Int)])] = []
  /// The combined knowledge by number, each once.
  private var knowledge: [Frontier] = []

  init() {}

  /// - Parameter found: where each piece of evidence ends, and the published segment's knowledge.
  init(_ found: [(dot: Dot, seen: Frontier)]) {
    let ordered = found.sorted { $0.dot < $1.dot }
    for (place, showing) in ordered.enumerated() {
      if logs.last?.author != showing.dot.author { logs.append((showing.dot.author, [])) }
      logs[logs.count - 1].showings.append((showing.dot.sequence, place))
    }
    let held = ordered.indices.map { place -> [Int] in
      var held = ordered[place].seen.entries.compactMap { last(in: $0.author, upTo: $0.sequence) }
      // A change sees the earlier changes of its log.
      if place > 0, ordered[place - 1].dot.author == ordered[place].dot.author {
        held.append(place - 1)
      }
      return held
    }
    var seen = ordered.map(\.seen)
    for group in stronglyConnectedComponents(held) {
      var combined = Frontier()
      for number in group {
        combined = combined.joined(with: seen[number])
        // The evidence of other groups is complete at this point.
        for other in held[number] where !combined.covers(seen[other]) {
          combined = combined.joined(with: seen[other])
        }
      }
      for number in group { seen[number] = combined }
    }
    number(seen)
  }

  /// Gives equal knowledge one number.
  private mutating func number(_ seen: [Frontier]) {
    var numbers: [UInt64: [Int]] = [:]
    for log in logs.indices {
      for place in logs[log].showings.indices {
        let combined = seen[logs[log].showings[place].knowledge]
        let equal = numbers[combined.total]?.first { knowledge[$0] == combined }
        if equal == nil {
          numbers[combined.total, default: []].append(knowledge.count)
          knowledge.append(combined)
        }
        logs[log].showings[place].knowledge = equal ?? knowledge.count - 1
      }
    }
  }

  /// Knowledge, widened by all published segments in it.
  func widened(_ seen: Frontier) -> Frontier {
    guard !logs.isEmpty else { return seen }
    var more = Widening()
    for mark in seen.entries { add(mark.author, mark.sequence, to: &more) }
    return seen.joined(with: more.seen)
  }

  /// Operations with widened causes; the past of each includes the evidence in its own change.
  ///
  /// - Parameter items: the operations, those of each log one after the other and in order.
  func widening(_ items: [ControlItem]) -> [ControlItem] {
    guard !logs.isEmpty else { return items }
    var more = Widening()
    var last: ControlItem?
    // Causes grow along a log, so later items cover what an earlier one did.
    var isCovered = false
    return items.map { item in
      // Larger differences are resolved from the whole cause.
      let news = last.flatMap { last -> Frontier? in
        guard last.position.author == item.position.author else { return nil }
        return item.cause.news(since: last.cause, atMost: 16)
      }
      if news == nil { (more, isCovered) = (Widening(), false) }
      let count = more.numbers.count
      for mark in (news ?? item.cause).entries { add(mark.author, mark.sequence, to: &more) }
      add(item.position.author, item.position.sequence, to: &more)
      last = item
      if more.numbers.count != count { isCovered = false }
      if !isCovered { isCovered = item.cause.covers(more.seen) }
      return isCovered ? item : item.having(seen: more.seen)
    }
  }

  /// The combined knowledge from evidence of several logs.
  private struct Widening {
    var seen = Frontier()
    var numbers: Set<Int> = []
  }

  /// Adds the evidence in a log up to a change.
  private func add(_ author: Author, _ sequence: UInt64, to more: inout Widening) {
    guard let number = last(in: author, upTo: sequence), more.numbers.insert(number).inserted,
      !more.seen.covers(knowledge[number])
    else { return }
    more.seen = more.seen.joined(with: knowledge[number])
  }

  /// The number of the knowledge from a log's evidence up to a change.
  private func last(in author: Author, upTo sequence: UInt64) -> Int? {
    let log = logs.partitionPoint { $0.author >= author }
    guard log < logs.count, logs[log].author == author else { return nil }
    let beyond = logs[log].showings.partitionPoint { $0.sequence > sequence }
    return beyond > 0 ? logs[log].showings[beyond - 1].knowledge : nil
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
