import Dispatch
import MembershipPromises
import PromiseTranslation
import Synchronization

/// Checks random histories in several threads and tells what is broken.
struct Runner {
  /// How many seeds a thread takes at a time.
  private static let chunk: UInt64 = 64

  let from: UInt64
  let count: UInt64
  let jobs: Int
  /// After how many histories a line tells how far it is.
  let every: UInt64
  /// Prints the history as it was told, too.
  let isFull: Bool
  /// How long after an expiry honest admins still let in by themselves; nil without clocks.
  var grace: Int?

  private struct Tally {
    var next: UInt64
    var done: UInt64 = 0
    var calls = 0
    var acts = 0
    var broken: [Promise: Int] = [:]
  }

  /// Checks all; how many histories break a promise.
  func run() -> Int {
    let clock = ContinuousClock()
    let begin = clock.now
    let tally = Mutex(Tally(next: from))
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
      while let seeds = next(tally) { check(seeds, tally, clock.now - begin) }
    }
    return tally.withLock { tally in
      report(tally, clock.now - begin)
      return tally.broken.values.reduce(0, +)
    }
  }

  private func next(_ tally: borrowing Mutex<Tally>) -> Range<UInt64>? {
    tally.withLock { tally in
      let end = min(tally.next + Self.chunk, from + count)
      guard tally.next < end else { return nil }
      defer { tally.next = end }
      return tally.next..<end
    }
  }

  private func check(
    _ seeds: Range<UInt64>, _ tally: borrowing Mutex<Tally>, _ time: Duration
  ) {
    var calls = 0
    var acts = 0
    var found: [(UInt64, Broken)] = []
    let counted: Resolve = {
      calls += 1
      return PromiseAdapter.resolve($0)
    }
    for seed in seeds {
      let history = PromiseCheck.history(seed: seed, grace: grace)
      acts += history.acts.count
      if let broken = Checker(history, seed: seed).firstBroken(counted) {
        found.append((seed, broken))
      }
    }
    let texts = found.map { text($0, $1) }
    tally.withLock { tally in
      let before = tally.done
      tally.done += UInt64(seeds.count)
      tally.calls += calls
      tally.acts += acts
      for (_, broken) in found { tally.broken[broken.promise, default: 0] += 1 }
      for text in texts { say(text) }
      if tally.done / every != before / every { report(tally, time) }
    }
  }

  private func text(_ seed: UInt64, _ broken: Broken) -> String {
    let small = shrink(broken, PromiseAdapter.resolve)
    let full = isFull ? "\(broken)\n" : ""
    return "\(full)seed \(seed): \(small)\n"
  }

  private func report(_ tally: Tally, _ time: Duration) {
    let milliseconds =
      Double(time.components.seconds) * 1_000
      + Double(time.components.attoseconds) / 1e15
    let done = Double(max(1, tally.done))
    let broken = tally.broken.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }
    say(
      "\(tally.done) histories, \(tally.broken.values.reduce(0, +)) broken \(broken); "
        + "\(rounded(milliseconds / done)) ms, \(rounded(Double(tally.calls) / done)) calls, "
        + "\(rounded(Double(tally.acts) / done)) acts a history")
  }

  private func rounded(_ number: Double) -> Double { (number * 100).rounded() / 100 }
}
