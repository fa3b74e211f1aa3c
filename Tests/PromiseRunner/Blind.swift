import MembershipPromises
import PromiseTranslation

/// Shows that every promise can fail: puts faults into a resolver and tells what notices them.
struct Blind {
  let seeds: UInt64
  let from: UInt64

  /// Tries each fault; whether all were noticed, and every promise notices one.
  func run() -> Bool {
    var missed: [String] = []
    for fault in Fault.all {
      let found = first(fault)
      let others = caught(fault)
        .map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
      let after = found.map { "seed \($0)" } ?? "NOT CAUGHT"
      say("\(fault.promise.rawValue) | \(fault.name) | \(after) | \(others)")
      if found == nil { missed.append(fault.name) }
    }
    let named = Set(Fault.all.map(\.promise))
    let without = Promise.allCases.filter { !named.contains($0) }.map(\.rawValue)
    say("\(Fault.all.count) faults, not caught: \(missed), promises without: \(without)")
    return missed.isEmpty && without.isEmpty
  }

  /// The first seed, counted from the start, in which the promise that is meant notices the fault.
  private func first(_ fault: Fault) -> UInt64? {
    for seed in from..<(from + seeds) {
      let checker = Checker(
        fault.history(seed: seed), promises: [fault.promise], seed: seed)
      guard checker.firstBroken({ fault.answer($0, PromiseAdapter.resolve) }) != nil,
        checker.firstBroken(PromiseAdapter.resolve) == nil
      else { continue }
      return seed - from
    }
    return nil
  }

  /// How often each promise is the first to notice the fault in a few histories.
  private func caught(_ fault: Fault) -> [Promise: Int] {
    var result: [Promise: Int] = [:]
    for seed in from..<(from + 300) {
      let checker = Checker(fault.history(seed: seed), seed: seed)
      let broken = checker.firstBroken { fault.answer($0, PromiseAdapter.resolve) }
      guard let broken, checker.firstBroken(PromiseAdapter.resolve) == nil else { continue }
      result[broken.promise, default: 0] += 1
    }
    return result
  }
}
