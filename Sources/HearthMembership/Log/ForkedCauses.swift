import HearthCRDT

/// Gives every operation its position and its causes when logs are forked.
///
/// Each run of a forked incarnation gets an author of its own, and so does every incarnation of its
/// device. The numbers follow the order of incarnations, then of runs. A citation by number and
/// content means the run with this content. A citation by number alone means the common part of the
/// branches. An author who had seen a published segment had seen its content.
struct ForkedCauses: Sendable {
  private let forks: ControlForks
  /// The author that stands for an incarnation's common part, for forked devices.
  private var lives: [Author: Author] = [:]
  /// The author that stands for each run.
  private(set) var runs: [Author] = []
  /// The devices with forked logs, in order.
  private let devices: [DeviceID]
  /// The runs that the operations of each log had seen, by sequence number.
  private var covers: [Author: [(sequence: UInt64, cover: Frontier)]] = [:]
  private var sights = Sights()
  /// For each run, by its author: the knowledge of the branches beside it.
  private(set) var beside: [Author: Frontier] = [:]

  init() {
    forks = ControlForks()
    devices = []
  }

  var isEmpty: Bool { forks.ends.isEmpty }

  /// Replaces the events' operations by those of all branches, with positions and causes.
  ///
  /// - Parameter items: The operations, in order of their changes.
  init(_ forks: ControlForks, items: inout [ControlItem]) {
    self.forks = forks
    devices = Set(forks.ends.keys.map(\.device)).sorted()
    guard !forks.ends.isEmpty else { return }
    name(items)
    var (placed, states) = common(items)
    placed += branches(&states)
    findSights(placed, states)
    items = sights.widening(placed)
    findBeside(items)
  }

  /// Everything that an operation's author had seen, by the authors of positions.
  func knowledge(of item: ControlItem) -> Frontier {
    isEmpty ? item.cause : renamed(item.cause).joined(with: item.more)
  }

  /// The past of an author who cites control heads by number only.
  ///
  /// - Parameter isGenerous: whether a number means every branch that reaches it, instead of none.
  func view(citing heads: Frontier, isGenerous: Bool = false) -> Frontier {
    guard !isEmpty else { return heads }
    var view = renamed(heads)
    for entry in heads.entries {
      let end = forks.ends[entry.author] ?? .max
      let reached = min(entry.sequence, end - 1)
      if let log = covers[entry.author] {
        let beyond = log.partitionPoint { $0.sequence > reached }
        if beyond > 0 { view = view.joined(with: log[beyond - 1].cover) }
      }
      guard isGenerous, entry.sequence >= end else { continue }
      for number in forks.runs(of: entry.author) where forks.runs[number].first <= entry.sequence {
        view.advance(runs[number], to: min(entry.sequence, forks.runs[number].last))
      }
    }
    return sights.widened(view)
  }

  // MARK: Names

  private mutating func name(_ items: [ControlItem]) {
    runs = forks.runs.map(\.life)
    let forked = Set(devices)
    var named = Set(forks.ends.keys)
    var last: Author?
    for item in items where item.version.dot.author != last {
      let author = item.version.dot.author
      last = author
      if forked.contains(author.device) { named.insert(author) }
    }
    var next: [DeviceID: UInt64] = [:]
    func name(after life: Author) -> Author {
      defer { next[life.device, default: 0] += 1 }
      return Author(device: life.device, incarnation: next[life.device, default: 0])
    }
    for life in named.sorted() {
      lives[life] = name(after: life)
      for number in forks.runs(of: life) { runs[number] = name(after: life) }
    }
  }

  /// The same knowledge under the fold's authors, without everything beyond a contradiction.
  private func renamed(_ frontier: Frontier) -> Frontier {
    frontier.replacing(marksOf: devices) { mark in
      lives[mark.author].map { ($0, min(mark.sequence, (forks.ends[mark.author] ?? .max) - 1)) }
    }
  }

  /// A run up to a change, and everything that the run continues.
  private func cover(_ run: Int, through sequence: UInt64) -> Frontier {
    let life = forks.runs[run].life
    var cover = Frontier()
    for ancestor in forks.line(to: run) {
      cover.advance(runs[ancestor], to: min(sequence, forks.runs[ancestor].last))
    }
    if let name = lives[life], let end = forks.ends[life] { cover.advance(name, to: end - 1) }
    return cover
  }

  /// The runs that citations mean, limited to the citing author's knowledge.
  private func cited(_ citations: [Citation], seen: Frontier) -> Frontier {
    var cited = Frontier()
    for citation in citations {
      let sequence = seen[citation.author]
      guard let end = forks.ends[citation.author], sequence >= end,
        let run = forks.run(of: citation.author, at: sequence, hash: citation.hash)
      else { continue }
      cited = cited.joined(with: cover(run, through: sequence))
    }
    return cited
  }

  // MARK: Causes

  private struct State {
    /// The author's knowledge, as the log states it.
    var seen = Frontier()
    /// The author's knowledge of runs.
    var cover = Frontier()
  }

  /// The states before each run's first change and after each of its changes.
  private struct States {
    var common: [Author: State] = [:]
    var runs: [[State]] = []
  }

  /// The operations of all logs up to their first contradictions.
  private mutating func common(_ items: [ControlItem]) -> ([ControlItem], States) {
    var placed: [ControlItem] = []
    placed.reserveCapacity(items.count)
    var states = States()
    var (author, end, state) = (Author?.none, UInt64.max, State())
    var start = 0
    while start < items.count {
      let dot = items[start].version.dot
      let change = items[start...].prefix { $0.version.dot == dot }
      start = change.endIndex
      if dot.author != author {
        (author, end, state) = (dot.author, forks.ends[dot.author] ?? .max, State())
      }
      guard dot.sequence < end else { continue }
      let known = state.cover
      state.seen = change[change.startIndex].cause
      for event in change {
        state.cover = state.cover.joined(with: cited(event.citations, seen: event.cause))
      }
      if known != state.cover {
        covers[dot.author, default: []].append((dot.sequence, state.cover))
      }
      if forks.ends[dot.author] != nil { states.common[dot.author] = state }
      let name = lives[dot.author] ?? dot.author
      placed += change.map {
        name == dot.author && state.cover.isEmpty
          ? $0 : $0.placed(at: Dot(author: name, sequence: dot.sequence), seen: state.cover)
      }
    }
    return (placed, states)
  }

  private func branches(_ states: inout States) -> [ControlItem] {
    var placed: [ControlItem] = []
    for (number, run) in forks.runs.enumerated() {
      var reached: [State] = []
      // A run that continues an incomplete branch is no branch.
      let goesOn = run.parent.map { states.runs[$0].count == forks.runs[$0].changes.count } ?? true
      guard goesOn else {
        states.runs.append(reached)
        continue
      }
      var state =
        run.parent.map { states.runs[$0].last ?? State() } ?? states.common[run.life] ?? State()
      for (place, change) in run.changes.enumerated() {
        let sequence = run.first + UInt64(place)
        // Nobody would apply a branch that exceeds the limits.
        guard let seen = state.seen.raised(by: change.seen),
          seen.entries.count <= Limits.maximumAuthors
        else { break }
        state.seen = seen
        state.cover = state.cover.joined(with: cited(change.citations, seen: seen))
        reached.append(state)
        let dot = Dot(author: run.life, sequence: sequence)
        let more = state.cover.joined(with: line(to: number, through: sequence - 1))
        for event in change.events {
          placed.append(
            ControlItem(
              event, version: Version(dot: dot, time: change.time), in: number,
              at: Dot(author: runs[number], sequence: sequence), cause: seen, seen: more))
        }
      }
      states.runs.append(reached)
    }
    return placed
  }

  /// A run, with everything that it continues, up to a change in it or the one before it.
  private func line(to run: Int, through sequence: UInt64) -> Frontier {
    if sequence >= forks.runs[run].first { return cover(run, through: sequence) }
    if let parent = forks.runs[run].parent { return cover(parent, through: sequence) }
    return Frontier([(lives[forks.runs[run].life] ?? forks.runs[run].life, sequence)])
  }

  // MARK: Fork evidence

  private mutating func findSights(_ items: [ControlItem], _ states: States) {
    struct Showing: Hashable {
      let author: Author
      let name: Author?
      let digest: Identifier
      let parts: Int
    }
    var parts: [Showing: [Int: UInt64]] = [:]
    for item in items {
      guard case .branch(_, let digest, let part, let count, _) = item.operation else { continue }
      let showing = Showing(
        author: item.position.author, name: item.name, digest: digest, parts: count)
      let sequence = item.position.sequence
      parts[showing, default: [:]][part] = min(parts[showing]?[part] ?? .max, sequence)
    }
    var knowledge: [Identifier: Frontier?] = [:]
    var found: [Sights.Showing] = []
    for (showing, places) in parts where places.count == showing.parts {
      guard let last = places.values.max() else { continue }
      let known = knowledge[showing.digest] ?? shown(in: showing.digest, states)
      knowledge[showing.digest] = known
      guard let known else { continue }
      found.append(
        Sights.Showing(
          dot: Dot(author: showing.author, sequence: last), name: showing.name, seen: known))
    }
    sights = Sights(found)
  }

  /// The knowledge after the last change of a published segment; nil if no branch reaches it.
  private func shown(in digest: Identifier, _ states: States) -> Frontier? {
    guard let segment = forks.segments[digest], let hash = segment.chain.last,
      let run = forks.run(of: segment.author, at: segment.last, hash: hash)
    else { return nil }
    let place = Int(segment.last - forks.runs[run].first)
    guard place < states.runs[run].count else { return nil }
    let state = states.runs[run][place]
    return renamed(state.seen).joined(with: state.cover)
      .joined(with: line(to: run, through: segment.last))
  }

  // MARK: Knowledge of other branches

  /// Computes for each run the knowledge of all runs that are neither ancestors nor descendants.
  ///
  /// Those runs are the subtrees beside its path: O(runs) joins, whatever the shape of the tree.
  private mutating func findBeside(_ items: [ControlItem]) {
    // Causes grow along a run, so its last operation had seen what the others had.
    var last: [Author: ControlItem] = [:]
    for item in items where item.branch != nil { last[item.position.author] = item }
    let known = last.mapValues { knowledge(of: $0) }
    for life in forks.ends.keys {
      let numbers = forks.runs(of: life)
      var below = numbers.map { known[runs[$0]] ?? Frontier() }
      for number in numbers.reversed() {
        guard let parent = forks.runs[number].parent else { continue }
        let place = parent - numbers.lowerBound
        below[place] = below[place].joined(with: below[number - numbers.lowerBound])
      }
      var found = [Frontier](repeating: Frontier(), count: numbers.count)
      for (parent, siblings) in Dictionary(grouping: numbers, by: { forks.runs[$0].parent })
        .sorted(by: { $0.key ?? -1 < $1.key ?? -1 })
      {
        let above = parent.map { found[$0 - numbers.lowerBound] } ?? Frontier()
        let places = siblings.map { $0 - numbers.lowerBound }
        for order in [places, places.reversed()] {
          var beside = above
          for place in order {
            found[place] = found[place].joined(with: beside)
            beside = beside.joined(with: below[place])
          }
        }
      }
      let own = Set(numbers.map { runs[$0] } + [lives[life] ?? life])
      for number in numbers {
        beside[runs[number]] = Frontier(
          found[number - numbers.lowerBound].entries.filter { !own.contains($0.author) }
            .map { ($0.author, $0.sequence) })
      }
    }
  }
}
