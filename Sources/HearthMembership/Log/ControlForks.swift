import HearthCRDT

/// A change of a control zone, from a published segment.
package struct ShownChange: Sendable {
  /// One operation of the change.
  package struct Event: Sendable {
    /// The operation's id, which includes its content, since branches of a log share event ids.
    package let id: RecordID
    package let eventID: RecordID
    package let operation: ControlOperation
    /// What the keys in the operation say, which every fold asks for.
    let introduction: (shown: DeviceID?, isByMaker: Bool)

    package init(id: RecordID, eventID: RecordID, operation: ControlOperation) {
      self.id = id
      self.eventID = eventID
      self.operation = operation
      introduction = operation.introduction
    }
  }

  package let seen: FrontierDifference
  package let time: HybridTime
  package let citations: [Citation]
  package let events: [Event]

  package init(seen: FrontierDifference, time: HybridTime, citations: [Citation], events: [Event]) {
    self.seen = seen
    self.time = time
    self.citations = citations
    self.events = events
  }
}

/// A segment of a control zone that was published as fork evidence, verified and decrypted.
package struct ShownSegment: Sendable {
  package let digest: Identifier
  package let author: Author
  package let first: UInt64
  /// The chain hash before the first change and after each change.
  package let chain: [[UInt8]]
  package let changes: [ShownChange]

  package init(
    digest: Identifier, author: Author, first: UInt64, chain: [[UInt8]], changes: [ShownChange]
  ) {
    self.digest = digest
    self.author = author
    self.first = first
    self.chain = chain
    self.changes = changes
  }

  package var last: UInt64 { first + UInt64(changes.count) - 1 }

  /// A change of a log, with its content hash.
  package struct Node: Hashable {
    package let sequence: UInt64
    package let hash: [UInt8]

    package init(sequence: UInt64, hash: [UInt8]) {
      self.sequence = sequence
      self.hash = hash
    }
  }

  /// Its changes, by sequence number and content.
  package var nodes: [Node] {
    changes.indices.map { Node(sequence: first + UInt64($0), hash: chain[$0 + 1]) }
  }
}

/// The forked logs of a control zone, each as a tree.
///
/// The trees are a pure function of the published segments. After the first change with two
/// contents, each stretch without a further fork is a run. A run is folded like a separate log that
/// had seen its ancestors. Nobody chooses between the branches.
package struct ControlForks: Sendable {
  /// A stretch of one branch without a further fork.
  package struct Run: Sendable {
    package let life: Author
    /// The run that it continues; nil if it continues the common part.
    let parent: Int?
    package let first: UInt64
    fileprivate(set) var hashes: [[UInt8]]
    package fileprivate(set) var changes: [ShownChange]

    var last: UInt64 { first + UInt64(changes.count) - 1 }
  }

  /// For each forked incarnation, the first change with two contents.
  package let ends: [Author: UInt64]
  /// The runs, in order of incarnation, first change and content.
  package let runs: [Run]
  /// The published segments, by digest.
  package let segments: [Identifier: ShownSegment]
  private let lives: [Author: Range<Int>]

  /// Makes an empty value without forks.
  package init() { self.init([:]) }

  /// Finds the forks in published segments, given by digest.
  package init(_ segments: [Identifier: ShownSegment]) {
    self.segments = segments
    var ends: [Author: UInt64] = [:]
    var runs: [Run] = []
    var lives: [Author: Range<Int>] = [:]
    let shown = Dictionary(grouping: segments.values, by: \.author)
    for life in shown.keys.sorted() {
      let tree = LifeTree(shown[life] ?? [])
      guard let end = tree.end else { continue }
      ends[life] = end
      let offset = runs.count
      runs += tree.runs(of: life, from: end, offset: offset)
      lives[life] = offset..<runs.count
    }
    self.ends = ends
    self.runs = runs
    self.lives = lives
  }

  /// The runs of an incarnation, by first change and content; parents come before children.
  func runs(of life: Author) -> Range<Int> { lives[life] ?? 0..<0 }

  /// The run that contains a change with this content; nil if nobody has published it.
  func run(of life: Author, at sequence: UInt64, hash: [UInt8]) -> Int? {
    runs(of: life).first { number in
      let run = runs[number]
      return run.first <= sequence && sequence <= run.last
        && run.hashes[Int(sequence - run.first)].prefix(Citation.hashBytes)
          .elementsEqual(hash.prefix(Citation.hashBytes))
    }
  }

  /// A run and its ancestors, the run itself first.
  func line(to run: Int) -> [Int] {
    var line = [run]
    while let parent = runs[line[line.count - 1]].parent { line.append(parent) }
    return line
  }

  /// The last content of each run; it differs if two folds know different branches.
  package func outline(of life: Author) -> [[UInt8]] {
    runs(of: life).map { runs[$0].hashes.last ?? [] }
  }
}

/// The published changes of one incarnation, by content.
private struct LifeTree {
  typealias Node = ShownSegment.Node
  typealias Run = ControlForks.Run

  /// Every content in the order in which it was first named: its change, if that was published,
  /// the content before it, and how many follow it.
  private var nodes: [(node: Node, change: ShownChange?, parent: Int?, children: Int)] = []
  private var numbers: [Node: Int] = [:]
  /// The number of contents of each change.
  private var contents: [UInt64: Int] = [:]

  init(_ segments: [ShownSegment]) {
    for segment in segments.sorted(by: { $0.digest < $1.digest }) {
      var before = number(Node(sequence: segment.first - 1, hash: segment.chain[0]))
      for (node, change) in zip(segment.nodes, segment.changes) {
        let next = number(node)
        if nodes[next].change == nil {
          nodes[next].parent = before
          nodes[before].children += 1
        }
        nodes[next].change = change
        before = next
      }
    }
  }

  private mutating func number(_ node: Node) -> Int {
    if let known = numbers[node] { return known }
    numbers[node] = nodes.count
    contents[node.sequence, default: 0] += 1
    nodes.append((node, nil, nil, 0))
    return nodes.count - 1
  }

  /// The first change with two published contents; nil if there is none.
  var end: UInt64? { contents.filter { $0.value > 1 }.keys.min().map { max(1, $0) } }

  /// The runs from a change on, by first change and content, numbered from `offset`.
  func runs(of life: Author, from end: UInt64, offset: Int) -> [Run] {
    let order = nodes.indices.filter { nodes[$0].node.sequence >= end }.sorted { one, other in
      let (one, other) = (nodes[one].node, nodes[other].node)
      return one.sequence != other.sequence
        ? one.sequence < other.sequence : one.hash.lexicographicallyPrecedes(other.hash)
    }
    var runs: [Run] = []
    /// The number of the run that holds each content.
    var homes: [Int: Int] = [:]
    for place in order {
      let (node, change, parent, _) = nodes[place]
      let before = parent.flatMap { homes[$0] }
      // A content that continues nothing published is in no run.
      guard let change, before != nil || node.sequence == end else { continue }
      if let parent, let before, nodes[parent].children == 1 {
        runs[before].hashes.append(node.hash)
        runs[before].changes.append(change)
        homes[place] = before
      } else {
        homes[place] = runs.count
        runs.append(
          Run(
            life: life, parent: before.map { $0 + offset }, first: node.sequence,
            hashes: [node.hash], changes: [change]))
      }
    }
    return runs
  }
}
