import HearthCRDT

/// Widens causes by fork evidence: seeing a published segment's last part is seeing its content.
///
/// A published segment may itself contain the last parts of other segments, and so on. The closure
/// is computed once, over groups of evidence that contain each other, since sequence numbers may
/// lie about the order. O(s·l) joins for s pieces of evidence in l logs, whatever their references.
struct Sights: Sendable {
  /// A piece of evidence.
  struct Showing {
    /// Where it ends.
    let dot: Dot
    /// The author as whom causes name the log that holds it; nil if they do not.
    let name: Author?
    /// The published segment's knowledge.
    let seen: Frontier
  }

  /// Logs with fork evidence by an author each, in order of author.
  private struct Names {
    var authors: [Author] = []
    var logs: [Int] = []
  }

  /// For each log with fork evidence: where each piece ends, and the number of the combined
  /// knowledge from the pieces up to it.
  private var logs: [[(sequence: UInt64, knowledge: Int)]] = []
  /// The logs by the authors of positions, and by the authors as whom causes name them.
  private var positions = Names()
  private var names = Names()
  /// The combined knowledge by number, each once, and all of it together.
  private var knowledge: [Frontier] = []
  private var all = Frontier()

  init() {}

  init(_ found: [Showing]) {
    let ordered = found.sorted { $0.dot < $1.dot }
    for (place, showing) in ordered.enumerated() {
      if positions.authors.last != showing.dot.author {
        positions.authors.append(showing.dot.author)
        positions.logs.append(logs.count)
        if let name = showing.name {
          names.authors.append(name)
          names.logs.append(logs.count)
        }
        logs.append([])
      }
      logs[logs.count - 1].append((showing.dot.sequence, place))
    }
    let held = ordered.indices.map { place -> [Int] in
      var held: [Int] = []
      forEach(in: ordered[place].seen, by: positions) {
        held.append($0)
        return true
      }
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
      for place in logs[log].indices {
        let combined = seen[logs[log][place].knowledge]
        let equal = numbers[combined.total]?.first { knowledge[$0] == combined }
        if equal == nil {
          numbers[combined.total, default: []].append(knowledge.count)
          knowledge.append(combined)
          all = all.joined(with: combined)
        }
        logs[log][place].knowledge = equal ?? knowledge.count - 1
      }
    }
  }

  /// Knowledge by the authors of positions, widened by all published segments in it.
  func widened(_ seen: Frontier) -> Frontier {
    guard !logs.isEmpty else { return seen }
    var more = Widening(knowledge)
    forEach(in: seen, by: positions) { add($0, to: &more) }
    return seen.joined(with: more.seen)
  }

  /// Operations with what they had also seen; the past of each includes the evidence in its own
  /// change.
  ///
  /// - Parameter items: the operations, those of each log one after the other and in order.
  func widening(_ items: [ControlItem]) -> [ControlItem] {
    guard !logs.isEmpty else { return items }
    var more = Widening(knowledge)
    var last: ControlItem?
    return items.map { item in
      if last?.position.author != item.position.author { (last, more) = (nil, Widening(knowledge)) }
      if !more.isAll {
        // Causes grow along a log, and larger differences are resolved from the whole cause.
        let news = last.flatMap { item.cause.news(since: $0.cause, atMost: 16) } ?? item.cause
        let others = last.flatMap { item.more.news(since: $0.more, atMost: .max) } ?? item.more
        forEach(in: news, by: names) { add($0, to: &more) }
        forEach(in: others, by: positions) { add($0, to: &more) }
        let own = Frontier([(item.position.author, item.position.sequence)])
        forEach(in: own, by: positions) { add($0, to: &more) }
      }
      last = item
      return item.more.covers(more.seen)
        ? item : item.placed(at: item.position, seen: more.seen.joined(with: item.more))
    }
  }

  /// The combined knowledge from evidence of several logs.
  private struct Widening {
    var seen = Frontier()
    /// Whether it contains each knowledge, and whether it contains all.
    var contains: [Bool]
    var isAll = false

    init(_ knowledge: [Frontier]) {
      contains = [Bool](repeating: false, count: knowledge.count)
    }
  }

  /// Adds a piece of knowledge, and returns whether there is more to add.
  private func add(_ number: Int, to more: inout Widening) -> Bool {
    guard !more.contains[number] else { return true }
    more.contains[number] = true
    guard !more.seen.covers(knowledge[number]) else { return true }
    more.seen = more.seen.joined(with: knowledge[number])
    more.isAll = more.seen.covers(all)
    return !more.isAll
  }

  /// Calls a function with the number of the knowledge from each log's evidence up to a frontier,
  /// until it returns false.
  private func forEach(in seen: Frontier, by names: Names, _ body: (Int) -> Bool) {
    let isSparse = seen.entries.count * 8 < names.authors.count
    var log = 0
    for mark in seen.entries {
      if isSparse {
        log = names.authors.partitionPoint { $0 >= mark.author }
      } else {
        while log < names.authors.count, names.authors[log] < mark.author { log += 1 }
      }
      guard log < names.authors.count else { return }
      guard names.authors[log] == mark.author else { continue }
      let showings = logs[names.logs[log]]
      let beyond = showings.partitionPoint { $0.sequence > mark.sequence }
      if beyond > 0, !body(showings[beyond - 1].knowledge) { return }
    }
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
