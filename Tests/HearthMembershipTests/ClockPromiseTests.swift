import MembershipPromises
import PromiseTranslation
import Testing

/// What the oracle promises where links expire and anybody may claim any time.
@Suite("Membership: promises about clocks")
struct ClockPromiseTests {
  private static let grace = 2

  @Test("Random histories with clocks keep every promise", arguments: [0, 1, 2, 3] as [UInt64])
  func random(chunk: UInt64) {
    for seed in (chunk * 30)..<(chunk * 30 + 30) {
      let history = PromiseCheck.history(seed: seed, grace: Self.grace)
      let broken = Checker(history, seed: seed).firstBroken(PromiseAdapter.resolve)
      #expect(broken == nil, "seed \(seed): \(broken.map(String.init(describing:)) ?? "")")
    }
  }

  @Test("So do all histories of two operations about a link that expires")
  func short() {
    let found = PromiseCheck.exhaustive(
      start: .expiring, depth: 2, resolve: PromiseAdapter.resolve)
    #expect(found.shortest.isEmpty, "\(found.shortest)")
    #expect(found.histories > 50)
  }

  @Test("Without clocks nobody claims a time, and no link expires")
  func without() {
    for seed: UInt64 in 0..<40 {
      for act in PromiseCheck.history(seed: seed).acts {
        #expect(act.time == 0, "seed \(seed)")
        if case .invite(_, _, _, _, _, let expires) = act.deed {
          #expect(expires == .max, "seed \(seed)")
        }
      }
    }
  }

  @Test("With clocks links expire, honest clocks never go back, and liars claim other times")
  func clocks() {
    var closings = 0
    var lies = 0
    for seed: UInt64 in 0..<100 {
      let history = PromiseCheck.history(seed: seed, grace: Self.grace)
      var now = 0
      var ends: [Int: Int] = [:]
      for act in history.acts {
        if history.liars.contains(act.device) {
          if act.time != now { lies += 1 }
        } else {
          #expect(act.time >= now, "seed \(seed)")
          now = max(now, act.time)
        }
        if case .invite(let link, _, _, _, _, let expires) = act.deed { ends[link] = expires }
        if case .close(let link) = act.deed, act.time > ends[link, default: .max] { closings += 1 }
      }
    }
    #expect(closings > 10)
    #expect(lies > 10)
  }

  @Test("A resolver that believes the joiner's clock alone, or no clock, would be noticed")
  func believing() {
    let plans = PromiseCheck.plans.filter {
      $0.name.hasPrefix("T3 lag") || $0.name.hasPrefix("T4 clock") || $0.name.hasPrefix("T4 late")
    }
    #expect(plans.count == 8)
    let unclosed = plans.filter { plan in
      plan.failure { acts in
        PromiseAdapter.resolve(
          acts.map { act in
            guard case .close = act.deed else { return act }
            return act.changing(deed: .heartbeat)
          })
      } != nil
    }
    #expect(unclosed.map(\.name).contains("T3 lag"))
    #expect(unclosed.map(\.name).contains("T4 clock at 1"))
    let timeless = plans.filter { plan in
      plan.failure { acts in PromiseAdapter.resolve(acts.map { $0.changing(time: 0) }) } != nil
    }
    #expect(timeless.map(\.name) == ["T4 late"])
  }
}
