/// One thing that must be so after a plan.
package enum Expectation: Sendable {
  case owner(Int)
  case role(Int, Role)
  case isIn(Int)
  case gone(Int)
  case active(Int)
  case inactive(Int)
  /// Exactly one of these people is in.
  case exactlyOne([Int])
  /// The acts of these devices change nothing for anybody but the named person.
  case sameWithout(devices: Set<Int>, exceptPerson: Int?)
  /// Nothing but these acts is missing and the outcome is the same.
  case sameWithoutActs(Set<Int>)
}

/// A regression: a history written by hand and what must come out.
package struct Plan: Sendable {
  package let name: String
  package let story: String
  package let history: History
  package let expectations: [Expectation]

  package init(_ name: String, _ story: String, _ world: World, _ expectations: [Expectation]) {
    self.name = name
    self.story = story
    self.history = world.history
    self.expectations = expectations
  }

  /// The first expectation that the resolver does not meet, in words.
  package func failure(_ resolve: Resolve) -> String? {
    let outcome = resolve(history.acts)
    for expectation in expectations {
      if let text = miss(expectation, outcome, resolve) {
        return "\(name): \(text)\n  got: \(outcome)"
      }
    }
    return nil
  }

  private func miss(
    _ expectation: Expectation, _ outcome: Outcome, _ resolve: Resolve
  ) -> String? {
    switch expectation {
    case .owner(let person):
      return outcome.owner == person && outcome.roles[person] == .owner
        ? nil : "p\(person) must be owner"
    case .role(let person, let role):
      return outcome.roles[person] == role ? nil : "p\(person) must be \(role)"
    case .isIn(let person):
      return outcome.roles[person] != nil ? nil : "p\(person) must be in"
    case .gone(let person):
      return outcome.roles[person] == nil ? nil : "p\(person) must not be in"
    case .active(let device):
      return outcome.devices.contains(device) ? nil : "d\(device) must be active"
    case .inactive(let device):
      return outcome.devices.contains(device) ? "d\(device) must not be active" : nil
    case .exactlyOne(let people):
      let count = people.count { outcome.roles[$0] != nil }
      return count == 1 ? nil : "exactly one of \(people) must be in, not \(count)"
    case .sameWithout(let devices, let person):
      return missWithout(devices, person, outcome, resolve)
    case .sameWithoutActs(let ids):
      let rest = history.dropping { ids.contains($0.id) }
      let other = resolve(rest)
      return other == outcome ? nil : "acts \(ids.sorted()) must change nothing; without: \(other)"
    }
  }

  private func missWithout(
    _ devices: Set<Int>, _ person: Int?, _ outcome: Outcome, _ resolve: Resolve
  ) -> String? {
    var one = outcome
    var other = resolve(history.dropping { devices.contains($0.device) })
    if let person {
      one.roles[person] = nil
      other.roles[person] = nil
      let mine = history.persons.filter { $0.value == person }.map(\.key)
      one.devices.subtract(mine)
      other.devices.subtract(mine)
    }
    return one == other ? nil : "these devices must change nothing; without them: \(other)"
  }
}

extension History {
  /// The acts without some, as if nobody had ever received those: claims shrink to what is left.
  ///
  /// With an act goes the rest of its log.
  package func dropping(_ goes: (Act) -> Bool) -> [Act] {
    var left: [Int: Int] = [:]
    for act in acts where goes(act) {
      left[act.device] = min(left[act.device] ?? act.sequence, act.sequence)
    }
    guard !left.isEmpty else { return acts }
    var result: [Act] = []
    for act in acts where act.sequence < (left[act.device] ?? Int.max) {
      var claims = act.claims
      for (device, count) in act.claims {
        if let end = left[device], count > end { claims[device] = end == 0 ? nil : end }
      }
      result.append(act.changing(claims: claims))
    }
    return result
  }
}
