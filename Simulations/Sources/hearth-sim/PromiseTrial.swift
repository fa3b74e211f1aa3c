import MembershipPromises
import PromiseTranslation

/// The oracle of membership as one trial of a seeded bug: its regression plans and found
/// histories, then random ones from a seed on.
struct PromiseTrial {
  /// The mode under which a trial of this kind is written down.
  static let mode = "promises"
  /// How many histories one trial looks at: some seconds.
  static let histories: UInt64 = 500

  let from: UInt64

  /// The first promise that is broken, by its name, and how; nil where all are kept.
  var failure: (oracle: String, text: String)? {
    for plan in PromiseCheck.plans {
      if let failure = plan.failure(PromiseAdapter.resolve) {
        return ("plan \(plan.name)", failure)
      }
    }
    for found in PromiseCheck.found {
      if let broken = Checker(found.history).firstBroken(PromiseAdapter.resolve) {
        return ("promise \(broken.promise.rawValue)", "found \(found.name): \(broken.reason)")
      }
    }
    for seed in from..<(from + PromiseTrial.histories) {
      if let broken = PromiseCheck.random(seed: seed, resolve: PromiseAdapter.resolve) {
        return ("promise \(broken.promise.rawValue)", "history \(seed): \(broken.reason)")
      }
    }
    return nil
  }
}
