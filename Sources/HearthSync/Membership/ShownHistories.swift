import HearthCRDT
import HearthMembership

/// What control operations show of logs with several histories, and how much of it counts.
///
/// Every history costs every replica something whenever it folds the log, so that nobody may show
/// them without end; and who shows decoys must not push out what others rest on. So each device has
/// an account of its own, in which its showings are entered in the order of its logs.
package struct ShownHistories: Sendable {
  /// How deep shown segments are looked into for others that they show.
  ///
  /// One more level for each further device whose log has two histories; each costs a pass.
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
  /// What was opened, whether it counts or not, so that nothing is opened twice.
  package let opened: [Identifier: ShownSegment]
  /// What each device has shown.
  package let ledgers: [DeviceID: ShownLedger]

  /// Nothing is shown.
  package init() {
    self.init([], opened: [:])
  }

  /// - Parameter showings: those of each device in the order of its logs.
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

  /// The segments of a life that count.
  package func segments(of life: Author) -> [ShownSegment] {
    forks.segments.values.filter { $0.author == life }
  }
}

/// Changes of a log that follow each other, by their contents.
package struct Stretch {
  let author: Author
  let nodes: [ShownSegment.Node]
  /// What comes before the first of them.
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

/// The account of what one device has shown, for everybody to see what of it counts.
///
/// Of each life count ``historiesOfLife`` histories, so that whoever has applied one can show it
/// beside what contradicts it; and ``moreHistories`` more of all lives of one device together.
/// Whoever follows the same rule in what it shows never shows what does not count.
package struct ShownLedger: Sendable {
  /// How many histories of each life count in any case.
  static let historiesOfLife = 2
  /// How many more histories count of all lives of one device together.
  static let moreHistories = 64
  /// Of how many lives of one device histories count: all that may be applied, and as many that
  /// nobody could apply as there are further histories.
  static let maximumLives = Limits.maximumLives + moreHistories

  private struct Account {
    var lives = 0
    var more = 0
  }

  private var trees: [Author: ShownTree] = [:]
  private var accounts: [DeviceID: Account] = [:]

  package init() {}

  /// Enters a showing; whether it counts.
  ///
  /// - Parameters:
  ///   - isApplied: false for what the showing device itself has not applied, of which it shows
  ///     less: room is left for what it has.
  ///   - hasApplied: whether it has applied another history of the same life, and shown it.
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

/// What is shown of one life.
package struct ShownTree: Sendable {
  /// The most histories of one life that a device shows, with those that others show.
  static let maximumHistories = 8
  /// The most segments of one life that are shown, by anybody, before a device shows no more.
  static let maximumSegments = 256

  private var nodes: Set<ShownSegment.Node> = []
  private var parents: Set<ShownSegment.Node> = []
  /// How many segments it is made of.
  private(set) var count = 0
  /// How many histories end here.
  private(set) var histories = 0

  package init(_ segments: [ShownSegment] = []) {
    for segment in segments { add(Stretch(segment)) }
  }

  /// Adds a segment, whether it says anything new or not.
  package mutating func add(_ stretch: Stretch) {
    histories += growth(by: stretch)
    count += 1
    parents.insert(stretch.before)
    parents.formUnion(stretch.nodes.dropLast())
    nodes.formUnion(stretch.nodes)
  }

  /// How many histories more there are with a segment: one, none, or fewer where it joins pieces.
  func growth(by stretch: Stretch) -> Int {
    var growth = 0
    if let last = stretch.nodes.last, !nodes.contains(last), !parents.contains(last) { growth += 1 }
    for parent in [stretch.before] + stretch.nodes.dropLast()
    where nodes.contains(parent) && !parents.contains(parent) {
      growth -= 1
    }
    return growth
  }

  /// Whether every change of a segment is here.
  package func holds(_ stretch: Stretch) -> Bool {
    stretch.nodes.allSatisfy { nodes.contains($0) }
  }

  /// Whether a segment that this device has not applied is to be shown.
  ///
  /// Not one that says nothing new, hangs in the air, or is one too many. What a device has applied
  /// is never too many, or the author could fill the limits with decoys and so take away what
  /// others rest on.
  package func mayTake(_ stretch: Stretch, from start: UInt64) -> Bool {
    !holds(stretch) && (stretch.before.sequence < start || nodes.contains(stretch.before))
      && count < ShownTree.maximumSegments
      && histories + growth(by: stretch) <= max(histories, ShownTree.maximumHistories)
  }
}
