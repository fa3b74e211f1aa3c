import MembershipPromises
import PromiseTranslation
import Testing

/// What the oracle promises, which knows nothing of the rules: attacks that were seen once.
@Suite("Membership: promises")
struct PromiseTests {
  @Test(
    "Negative 31 to 40: an attack on trust that was seen once comes to nothing (T1 to T10)",
    arguments: 1...10)
  func plans(attack: Int) {
    let plans = PromiseCheck.plans.filter {
      $0.name.prefix { $0 == "T" || $0.isNumber } == "T\(attack)"
    }
    for plan in plans {
      #expect(plan.failure(PromiseAdapter.resolve) == nil, "\(plan.name): \(plan.story)")
    }
    #expect(!plans.isEmpty)
  }

  @Test("Whatever else was found by random histories comes to nothing")
  func found() {
    for plan in PromiseCheck.plans {
      #expect(plan.failure(PromiseAdapter.resolve) == nil, "\(plan.name): \(plan.story)")
    }
    #expect(PromiseCheck.plans.count >= 20)
  }

  @Test("A resolver that counts everything would be noticed")
  func naive() {
    let broken = PromiseCheck.plans.filter { plan in
      plan.failure { acts in
        var outcome = PromiseAdapter.resolve(acts)
        for act in acts { outcome.devices.insert(act.device) }
        return outcome
      } != nil
    }
    #expect(broken.count > 5)
  }
}
