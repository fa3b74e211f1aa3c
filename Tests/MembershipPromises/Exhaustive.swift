/// All histories of a few acts from a start, each act of the alphabet at most once.
///
/// Honest devices write with what they have, or hear everything first, and only what their view
/// allows. Liars claim everything, nothing new, the past of their choice, or open claims.
///
/// Histories of the same acts in another order are one history here: what can be written next is
/// the same, and the resolver cannot tell. The promises are checked for the order that was found
/// first, and with a chance for others.
struct Exhaustive {
  enum Choice: CaseIterable {
    case quiet, hearing
    case everything, nothingNew, past, open
  }

  let moves: [Start.Move]
  let depth: Int
  let resolve: Resolve
  let promises: Set<Promise>
  let strictness: Strictness
  /// The chance of going down each branch, in a thousand; 1000 goes everywhere.
  let density: Int
  let limit: Int
  var random: SplitMix64
  private(set) var count = 0
  /// How many histories were found again in another order, with all that would follow.
  private(set) var repeated = 0
  /// The first few broken histories of each promise.
  private(set) var broken: [Promise: [Broken]] = [:]
  private var visited: Set<UInt64> = []
  private let memory = Memory()
  /// Liars have fewer choices: at most one open claim in a history, and they never say nothing new
  /// where they have a past of their choice.
  let isNarrow: Bool
  /// Looks at each history instead of the promises.
  var inspect: ((History) -> Bool)?

  init(
    _ moves: [Start.Move], depth: Int, promises: Set<Promise>, strictness: Strictness,
    density: Int, limit: Int, seed: UInt64, isNarrow: Bool = false, resolve: @escaping Resolve
  ) {
    self.isNarrow = isNarrow
    self.limit = limit
    self.moves = moves
    self.depth = depth
    self.promises = promises
    self.strictness = strictness
    self.density = density
    self.resolve = resolve
    random = SplitMix64(seed: seed)
  }

  mutating func search(
    _ world: World, used: Int, key: UInt64, depth left: Int, isOpen: Bool = false,
    latest: [Int: Int] = [:]
  ) {
    if count >= limit { return }
    if left < depth {
      guard visited.insert(key).inserted else {
        repeated += 1
        return
      }
      if density >= 1_000 || left == 0 { check(world.history, key) }
    }
    guard left > 0 else { return }
    for (place, move) in moves.enumerated() where used & (1 << place) == 0 {
      for choice in Choice.allCases {
        if density < 1_000 && random.below(1_000) >= density { continue }
        if isNarrow && isLeftOut(choice, move, key, isOpen) { continue }
        guard let next = Self.step(world, move, choice), let last = next.acts.last else {
          continue
        }
        if isNarrow && isSwapped(last, place, latest, next, key) { continue }
        search(
          next, used: used | (1 << place), key: key ^ last.key(in: next.acts), depth: left - 1,
          isOpen: isOpen || choice == .open,
          latest: latest.merging([move.device: place]) { $1 })
      }
    }
  }

  /// Of two acts of a liar with the same claims, one after the other, mostly one order is enough.
  private func isSwapped(
    _ act: Act, _ place: Int, _ latest: [Int: Int], _ world: World, _ key: UInt64
  ) -> Bool {
    guard world.liars.contains(act.device), let before = latest[act.device], place < before,
      let log = world.logs[act.device], act.sequence > 0
    else { return false }
    return world.acts[log[act.sequence - 1]].claims == act.claims
      && (key >> 8 ^ UInt64(place)) % 4 != 0
  }

  /// Of open claims a quarter is enough there, chosen by the history.
  private func isLeftOut(
    _ choice: Choice, _ move: Start.Move, _ key: UInt64, _ isOpen: Bool
  ) -> Bool {
    switch choice {
    case .open: isOpen || (key ^ UInt64(move.device)) % 4 != 0
    case .nothingNew: move.past != nil
    default: false
    }
  }

  private mutating func check(_ history: History, _ key: UInt64) {
    count += 1
    if let inspect {
      if inspect(history) { count = limit }
      return
    }
    let checker = Checker(
      history, promises: promises, strictness: strictness, seed: key, memory: memory)
    guard let found = checker.firstBroken(resolve) else { return }
    broken[found.promise, default: []].append(found)
  }

  /// The world after the move, or nil if the choice does not fit.
  static func step(_ world: World, _ move: Start.Move, _ choice: Choice) -> World? {
    var next = world
    guard let deed = fitting(move.deed, world) else { return nil }
    let isLiar = world.liars.contains(move.device)
    if !isLiar, let time = move.time {
      guard time >= world.now else { return nil }
      next.wait(until: time)
    }
    switch choice {
    case .quiet, .hearing:
      guard !isLiar else { return nil }
      if choice == .hearing { hear(&next, move.device) }
      guard next.logs[move.device] != nil || isEntry(move.deed) else { return nil }
      if choice == .hearing, next.received[move.device] == world.received[move.device] {
        return nil
      }
      next.write(move.device, deed)
      return isAllowed(next) ? next : nil
    case .everything, .nothingNew, .past, .open:
      guard isLiar else { return nil }
      guard next.logs[move.device] != nil || isEntry(move.deed) else { return nil }
      if choice != .nothingNew || isEntry(move.deed) { hear(&next, move.device) }
      guard let claim = claim(next, move, choice) else { return nil }
      next.write(move.device, deed, claim, at: move.time)
      return next
    }
  }

  /// A confirmation of a hand-over confirms the acceptance that is there, if one is.
  private static func fitting(_ deed: Deed, _ world: World) -> Deed? {
    guard case .confirmHandover = deed else { return deed }
    let accept = world.acts.last {
      if case .accept = $0.deed { return true }
      return false
    }
    return accept.map { .confirmHandover(accept: $0.id) }
  }

  private static func isEntry(_ deed: Deed) -> Bool {
    switch deed {
    case .join, .recover: true
    default: false
    }
  }

  private static func hear(_ world: inout World, _ device: Int) {
    for other in world.received.keys.sorted() where other != device { world.sync(other, device) }
  }

  private static func claim(_ world: World, _ move: Start.Move, _ choice: Choice) -> Claim? {
    switch choice {
    case .quiet, .hearing: return nil
    case .everything: return .everything
    case .nothingNew: return isEntry(move.deed) ? nil : .nothingNew
    case .past: return move.past.map { .asOf($0) }
    case .open:
      // The newest act of everybody else's log, without its causes in one other log.
      guard let past = move.past, let last = world.acts.last, last.device != move.device else {
        return nil
      }
      var claims = world.past(of: past)
      claims[move.device] = nil
      claims[last.device] = last.sequence + 1
      return .exactly(claims)
    }
  }

  /// An honest author writes only what is allowed in its view.
  private static func isAllowed(_ world: World) -> Bool {
    guard let ledger = Ledger(world.acts), let last = world.acts.indices.last else { return false }
    var view = View(ledger, seeing: ledger.past[last])
    return view.apply(last)
  }
}

extension PromiseCheck {
  /// The first histories after a start for which the test is true, for work on the oracle.
  package static func histories(
    start: Start, depth: Int, density: Int, limit: Int, seed: UInt64 = 1,
    where test: @escaping (History) -> Bool
  ) -> Int {
    let (world, moves) = start.build()
    var search = Exhaustive(
      moves, depth: depth, promises: [], strictness: .all, density: density, limit: limit,
      seed: seed, resolve: { _ in Outcome(owner: 0, roles: [:], devices: []) })
    search.inspect = test
    search.search(world, used: 0, key: 0, depth: depth)
    return search.count
  }

  /// All histories of at most `depth` acts after a start, or a sample of the longest ones.
  ///
  /// - Parameter density: the chance of each branch in a thousand; 1000 means all. With less, only
  ///   histories of full depth are checked.
  /// - Parameter limit: stop after so many histories.
  /// - Parameter isNarrow: fewer choices for liars, for the deepest searches.
  package static func exhaustive(
    start: Start, depth: Int, density: Int = 1_000, limit: Int = .max, seed: UInt64 = 1,
    isNarrow: Bool = false, promises: Set<Promise> = Set(Promise.allCases),
    strictness: Strictness = .all, resolve: @escaping Resolve
  ) -> Exhausted {
    let (world, moves) = start.build()
    var search = Exhaustive(
      moves, depth: depth, promises: promises, strictness: strictness, density: density,
      limit: limit, seed: seed, isNarrow: isNarrow, resolve: resolve)
    search.search(world, used: 0, key: 0, depth: depth)
    return Exhausted(
      histories: search.count, repeated: search.repeated, broken: search.broken)
  }
}

/// What an exhaustive search found.
package struct Exhausted: Sendable {
  package let histories: Int
  package let repeated: Int
  package let broken: [Promise: [Broken]]

  /// The shortest broken history of each promise.
  package var shortest: [Broken] {
    broken.keys.sorted { $0.rawValue < $1.rawValue }.compactMap { promise in
      broken[promise]?.min { $0.history.acts.count < $1.history.acts.count }
    }
  }

  package var summary: String {
    let counts = broken.keys.sorted { $0.rawValue < $1.rawValue }
      .map { "\($0.rawValue) \(broken[$0]?.count ?? 0)" }
    return "\(histories) histories (\(repeated) more begin like another), broken \(counts)"
  }
}
