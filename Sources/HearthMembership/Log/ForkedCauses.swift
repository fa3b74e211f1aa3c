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
    // Every named author has a mark here.
    var named = Frontier()
    func note(_ author: Author) { if named[author] == 0 { named.advance(author, to: 1) } }
    for item in items {
      note(item.version.dot.author)
      item.cause.forEachMark(of: devices) { note($0.author) }
    }
    for run in forks.runs {
      for change in run.changes { for head in change.seen.heads { note(head.author) } }
    }
    for life in forks.ends.keys { note(life) }
    runs = forks.runs.map(\.life)
    var numbers: [DeviceID: [UInt64]] = [:]
    named.forEachMark(of: devices) { mark in
      numbers[mark.author.device, default: []].append(mark.author.incarnation)
    }
    for device in devices {
      var next: UInt64 = 0
      for incarnation in numbers[device] ?? [] {
        let life = Author(device: device, incarnation: incarnation)
        lives[life] = Author(device: device, incarnation: next)
        next += 1
        for number in forks.runs(of: life) {
          runs[number] = Author(device: device, incarnation: next)
          next += 1
        }
      }
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
    var states = States()
    let logs = Dictionary(grouping: items, by: \.version.dot.author)
    for author in logs.keys.sorted() {
      let end = forks.ends[author] ?? .max
      let changes = Dictionary(grouping: logs[author] ?? [], by: \.version.dot.sequence)
      var state = State()
      for sequence in changes.keys.sorted() where sequence < end {
        let events = changes[sequence] ?? []
        state.seen = events[0].cause
        for event in events.sorted(by: { $0.id < $1.id }) {
          state.cover = state.cover.joined(with: cited(event.citations, seen: event.cause))
        }
        if covers[author]?.last?.cover ?? Frontier() != state.cover {
          covers[author, default: []].append((sequence, state.cover))
        }
        let name = lives[author] ?? author
        for event in events {
          placed.append(
            event.placed(
              at: Dot(author: name, sequence: sequence),
              cause: renamed(event.cause).joined(with: state.cover)))
        }
      }
      states.common[author] = state
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
        let own = cause(of: number, at: sequence - 1, state)
        for event in change.events {
          placed.append(
            ControlItem(
              id: event.id, version: Version(dot: dot, time: change.time), cause: own,
              operation: event.operation, eventID: event.eventID, branch: number
            ).placed(at: Dot(author: runs[number], sequence: sequence), cause: own))
        }
      }
      states.runs.append(reached)
    }
    return placed
  }

  private func cause(of run: Int, at sequence: UInt64, _ state: State) -> Frontier {
    var cause = renamed(state.seen).joined(with: state.cover)
    if sequence >= forks.runs[run].first {
      cause = cause.joined(with: cover(run, through: sequence))
    } else if let parent = forks.runs[run].parent {
      cause = cause.joined(with: cover(parent, through: sequence))
    } else if let name = lives[forks.runs[run].life] {
      cause.advance(name, to: sequence)
    }
    return cause
  }

  // MARK: Fork evidence

  private mutating func findSights(_ items: [ControlItem], _ states: States) {
    struct Showing: Hashable {
      let author: Author
      let digest: Identifier
      let parts: Int
    }
    var parts: [Showing: [Int: UInt64]] = [:]
    for item in items {
      guard case .branch(let part) = item.operation else { continue }
      let showing = Showing(author: item.position.author, digest: part.digest, parts: part.parts)
      let sequence = item.position.sequence
      parts[showing, default: [:]][part.part] = min(parts[showing]?[part.part] ?? .max, sequence)
    }
    var found: [(dot: Dot, seen: Frontier)] = []
    for (showing, places) in parts where places.count == showing.parts {
      guard let last = places.values.max(), let segment = forks.segments[showing.digest],
        let hash = segment.chain.last,
        let run = forks.run(of: segment.author, at: segment.last, hash: hash)
      else { continue }
      let place = Int(segment.last - forks.runs[run].first)
      guard place < states.runs[run].count else { continue }
      let seen = cause(of: run, at: segment.last, states.runs[run][place])
      found.append((Dot(author: showing.author, sequence: last), seen))
    }
    sights = Sights(found)
  }

  // MARK: Knowledge of other branches

  /// Computes for each run the knowledge of all runs that are neither ancestors nor descendants.
  ///
  /// Those runs are the subtrees beside its path: O(runs) joins, whatever the shape of the tree.
  private mutating func findBeside(_ items: [ControlItem]) {
    var known: [Author: Frontier] = [:]
    for item in items where item.branch != nil {
      known[item.position.author, default: Frontier()] =
        (known[item.position.author] ?? Frontier()).joined(with: item.cause)
    }
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
        var before = above
        for place in places {
          found[place] = before
          before = before.joined(with: below[place])
        }
        var after = Frontier()
        for place in places.reversed() {
          found[place] = found[place].joined(with: after)
          after = after.joined(with: below[place])
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
