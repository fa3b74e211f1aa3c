import HearthCRDT

/// The knowledge of each device: a new incarnation does not undo what the device had seen.
///
/// An operation counts as having seen everything that its device's earlier incarnations, by number,
/// had seen in operations that had not seen it. Otherwise a stolen device could write from a new
/// incarnation as if it were new. An incarnation before the device's join does not count. Only the
/// content of operations counts, not the order of arrival.
struct DeviceKnowledge {
  /// For each device with several incarnations: their logs, in order of number.
  private var incarnations: [DeviceID: [Log]] = [:]
  /// The log whose operations were asked for last.
  private var walk: Walk?

  /// The causes of the operations of one incarnation, or of one branch of it.
  private struct Log {
    let incarnation: UInt64
    let causes: [Frontier]
    /// What all earlier incarnations had seen.
    var before = Frontier()
  }

  /// A walk along one log beside the logs of the earlier incarnations.
  private struct Walk {
    let author: Author
    /// For each earlier log: the number of its operations that had not seen the present one.
    var reached: [Int]
    /// What all these operations had seen.
    var seen = Frontier()
  }

  /// - Parameters:
  ///   - items: the items, in order of their positions.
  ///   - knowledge: everything that an item's author had seen, by the authors of positions.
  init(_ items: [ControlItem], _ knowledge: (ControlItem) -> Frontier = { $0.cause }) {
    var start = 0
    while start < items.count {
      let device = items[start].position.author.device
      let end = items[start...].firstIndex { $0.position.author.device != device } ?? items.count
      defer { start = end }
      let incarnation = items[start].version.dot.author.incarnation
      guard items[start..<end].contains(where: { $0.version.dot.author.incarnation != incarnation })
      else { continue }
      let logs = Dictionary(grouping: items[start..<end], by: \.position.author)
      var incarnations = logs.sorted { $0.key < $1.key }.map { _, own in
        Log(incarnation: own[0].version.dot.author.incarnation, causes: own.map(knowledge))
      }
      var (seen, counted) = (Frontier(), 0)
      for place in incarnations.indices {
        while incarnations[counted].incarnation < incarnations[place].incarnation {
          if let last = incarnations[counted].causes.last { seen = seen.joined(with: last) }
          counted += 1
        }
        incarnations[place].before = seen
      }
      self.incarnations[device] = incarnations
    }
  }

  /// What an operation's author is known to have seen beyond the stated cause.
  ///
  /// Causes grow along an incarnation, so the last one that had not seen the operation suffices.
  /// The operations of a log are asked for in order, so a search goes on where the last one ended.
  mutating func more(of item: ControlItem) -> Frontier {
    guard let logs = incarnations[item.device] else { return item.more }
    let own = logs.partitionPoint { $0.incarnation >= item.version.dot.author.incarnation }
    let before = logs[own].before
    // Only liars have seen what a later incarnation writes.
    guard before.covers(item.position) else { return item.more.joined(with: before) }
    var walk = Walk(author: item.position.author, reached: Array(repeating: 0, count: own))
    if let last = self.walk, last.author == walk.author { walk = last }
    self.walk = nil
    for place in 0..<own {
      let (causes, reached) = (logs[place].causes, walk.reached[place])
      guard reached < causes.count, !causes[reached].covers(item.position) else { continue }
      let end = causes[reached...].partitionPoint { $0.covers(item.position) }
      walk.seen = walk.seen.joined(with: causes[end - 1])
      walk.reached[place] = end
    }
    self.walk = walk
    return item.more.joined(with: walk.seen)
  }
}
