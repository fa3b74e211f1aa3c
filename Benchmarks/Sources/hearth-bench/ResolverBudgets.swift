import HearthMembership

/// What resolving 10,000 control operations costs, those of attackers included, in time of the
/// processor: on a shared machine wall time says more about the neighbours.
struct ResolverBudgets {
  let operations: Int

  func run() {
    for (name, write) in ResolverShapes(operations: operations).all {
      var log = ResolverLog()
      write(&log)
      var clock = Stopwatch()
      let membership = clock.measure {
        let membership = log.fold()
        derive(membership)
        return membership
      }
      row(
        "resolve \(log.items.count): \(name)", number(clock.processor * 1e3, 1) + " ms",
        budget: "100 ms", isMet: clock.processor < 0.1)
      let last = log.heartbeat()
      var adding = Stopwatch()
      adding.measure { _ = membership.adding([last]) }
      row(
        "one more", number(adding.processor * 1e3, 1) + " ms", budget: "5 ms",
        isMet: adding.processor < 0.005)
      let late = log.heartbeat(seeing: log.items.count / 2)
      var folding = Stopwatch()
      folding.measure { _ = membership.adding([late]) }
      row(
        "one more that had seen half: a whole fold", number(folding.processor * 1e3, 1) + " ms",
        budget: "100 ms", isMet: folding.processor < 0.1)
    }
  }

  /// Asks for all that follows from the decisions, which is worked out when it is asked for.
  private func derive(_ membership: Membership) {
    _ = (membership.people, membership.formerPeople, membership.devices, membership.cards)
    _ = (membership.invites, membership.offers, membership.minimumSuite, membership.voided)
  }
}
