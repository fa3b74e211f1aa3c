import HearthCRDT
import HearthMembership

/// The forked logs that control operations show, and how much of what they show counts.
///
/// Every history costs every replica work whenever it folds the log, so nobody may show histories
/// without limit. Decoys must not displace the histories that other changes rest on. Each device
/// therefore has an account of its own, which records its showings in the order of its logs.
package struct ShownHistories: Sendable {
  /// The depth to which shown segments are searched for further shown segments.
  ///
  /// Each further device with a forked log needs one more level, and each level costs a pass.
  package static let maximumDepth = 32

  /// A segment that a device shows.
  package struct Showing {
    let device: DeviceID
    let segment: ShownSegment

    package init(by device: DeviceID, segment: ShownSegment) {
      self.device = device
      self.segment = segment
    }
  }

  package let forks: ControlForks
  /// The opened segments, whether they count or not, so that no segment is opened twice.
  package let opened: [Identifier: ShownSegment]
  /// The showings of each device.
  package let ledgers: [DeviceID: ShownLedger]

  /// Creates a value without showings.
  package init() {
    self.init([], opened: [:])
  }

  /// - Parameter showings: The showings, those of each device in the order of its logs.
  package init(_ showings: [Showing], opened: [Identifier: ShownSegment]) {
    var ledgers: [DeviceID: ShownLedger] = [:]
    var counted: [Identifier: ShownSegment] = [:]
    for showing in showings
    where ledgers[showing.device, default: ShownLedger()].takes(Stretch(showing.segment)) {
      counted[showing.segment.digest] = showing.segment
    }
    forks = ControlForks(counted)
    self.opened = opened
    self.ledgers = ledgers
  }

  /// The digests of the segments that count.
  package var counted: Set<Identifier> { Set(forks.segments.keys) }

  /// The segments of an incarnation that count.
  package func segments(of life: Author) -> [ShownSegment] {
    forks.segments.values.filter { $0.author == life }
  }
}

/// Consecutive changes of a log, identified by their content.
package struct Stretch {
  let author: Author
  let nodes: [ShownSegment.Node]
  /// The change before the first of them.
  let before: ShownSegment.Node

  init(_ segment: ShownSegment) {
    author = segment.author
    nodes = segment.nodes
    before = .init(sequence: segment.first - 1, hash: segment.chain[0])
  }

  package init(author: Author, nodes: [ShownSegment.Node], before: ShownSegment.Node) {
    self.author = author
    self.nodes = nodes
    self.before = before
  }
}

/// The account of one device's showings, from which every node computes which of them count.
///
/// For each incarnation, ``historiesOfLife`` histories count, so that a device can show the history
/// that it applied beside one that contradicts it. A further ``moreHistories`` count for all
/// incarnations of one device together. A device that applies the same rule to its own showings
/// never shows anything that does not count.
package struct ShownLedger: Sendable {
  /// The number of histories of each incarnation that always count.
  static let historiesOfLife = 2
  /// The number of further histories that count for all incarnations of one device together.
  static let moreHistories = 64
  /// The number of incarnations of one device whose histories count.
  ///
  /// These are all incarnations that may be applied, and as many unapplicable ones as there are
  /// further histories.
  static let maximumLives = Limits.maximumLives + moreHistories

  private struct Account {
    var lives = 0
    var more = 0
  }

  private var trees: [Author: ShownTree] = [:]
  private var accounts: [DeviceID: Account] = [:]

  package init() {}

  /// Records a showing.
  ///
  /// - Parameters:
  ///   - isApplied: Whether the showing device has applied the segment. It shows fewer of the
  ///     others, to reserve space for its applied ones.
  ///   - hasApplied: Whether the device has applied and shown another history of the same
  ///     incarnation.
  /// - Returns: Whether the showing counts.
  package mutating func takes(
    _ stretch: Stretch, isApplied: Bool = true, hasApplied: Bool = false
  ) -> Bool {
    let tree = trees[stretch.author] ?? ShownTree()
    var account = accounts[stretch.author.device] ?? Account()
    let histories = tree.histories + tree.growth(by: stretch)
    if tree.count == 0 {
      let limit = isApplied ? ShownLedger.maximumLives : ShownLedger.moreHistories
      guard account.lives < limit else { return false }
      account.lives += 1
    }
    let free = ShownLedger.historiesOfLife - (isApplied || hasApplied ? 0 : 1)
    if histories > max(tree.histories, free) {
      guard account.more < ShownLedger.moreHistories else { return false }
      account.more += 1
    }
    accounts[stretch.author.device] = account
    trees[stretch.author, default: ShownTree()].add(stretch)
    return true
  }
}

/// The shown segments of one incarnation.
package struct ShownTree: Sendable {
  /// The most histories of one incarnation that a device shows, including those that others show.
  static let maximumHistories = 8
  /// The number of shown segments of one incarnation, by any device, at which a device stops
  /// showing more.
  static let maximumSegments = 256

  private var nodes: Set<ShownSegment.Node> = []
  private var parents: Set<ShownSegment.Node> = []
  /// The number of segments in the tree.
  private(set) var count = 0
  /// The number of histories in the tree.
  private(set) var histories = 0

  package init(_ segments: [ShownSegment] = []) {
    for segment in segments { add(Stretch(segment)) }
  }

  /// Adds a segment, even if all its changes are known.
  package mutating func add(_ stretch: Stretch) {
    histories += growth(by: stretch)
    count += 1
    parents.insert(stretch.before)
    parents.formUnion(stretch.nodes.dropLast())
    nodes.formUnion(stretch.nodes)
  }

  /// The change in the number of histories by a segment: one, zero, or negative if it joins pieces.
  func growth(by stretch: Stretch) -> Int {
    var growth = 0
    if let last = stretch.nodes.last, !nodes.contains(last), !parents.contains(last) { growth += 1 }
    for parent in [stretch.before] + stretch.nodes.dropLast()
    where nodes.contains(parent) && !parents.contains(parent) {
      growth -= 1
    }
    return growth
  }

  /// Whether the tree contains every change of a segment.
  package func holds(_ stretch: Stretch) -> Bool {
    stretch.nodes.allSatisfy { nodes.contains($0) }
  }

  /// Whether to show a segment that this device has not applied.
  ///
  /// A segment is refused if it contains nothing new, is disconnected from the tree, or exceeds a
  /// limit. The limits do not apply to applied segments: otherwise an author could exhaust them
  /// with decoys and displace the histories that other changes rest on.
  package func mayTake(_ stretch: Stretch, from start: UInt64) -> Bool {
    !holds(stretch) && (stretch.before.sequence < start || nodes.contains(stretch.before))
      && count < ShownTree.maximumSegments
      && histories + growth(by: stretch) <= max(histories, ShownTree.maximumHistories)
  }
}
