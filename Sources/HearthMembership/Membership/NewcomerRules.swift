import HearthCRDT

/// The changes of what newcomers may read, and the history boundaries (decision 0051).
struct NewcomerRules: Sendable {
  /// The operations that changed what newcomers may read, in log order.
  private let changes: [Int]
  /// The history boundaries, in log order: after each of them newcomers need new keys.
  let boundaries: [Int]

  init(_ findings: Findings) {
    changes = NewcomerRules.ruleChanges(in: findings)
    boundaries = NewcomerRules.boundaries(changes, in: findings)
  }

  /// What newcomers may read, as known in a view.
  func rule(_ view: LogView, in findings: Findings) -> ControlOperation.Newcomers {
    NewcomerRules.rule(view, of: changes, in: findings)
  }

  /// Whether an epoch's author knew of every change of the rule in a view.
  func isOpen(_ epoch: Int, _ view: LogView, in findings: Findings) -> Bool {
    changes.allSatisfy { !view.holds($0, in: findings) || findings.log.sees(epoch, $0) }
  }

  /// The operations that changed what newcomers may read, in log order.
  ///
  /// A policy that changes only the suite and leaves the rule as its author knew it is not a rule
  /// change, even if somebody else changed the rule concurrently.
  private static func ruleChanges(in findings: Findings) -> [Int] {
    findings.index.policies.reduce(into: []) { changes, place in
      guard findings.isLive[place], case .setPolicy(let policy) = findings.log.operation(place),
        policy.newcomers != rule(.past(place), of: changes, in: findings)
      else { return }
      changes.append(place)
    }
  }

  private static func rule(
    _ view: LogView, of changes: [Int], in findings: Findings
  ) -> ControlOperation.Newcomers {
    guard let place = changes.last(where: { view.holds($0, in: findings) }),
      case .setPolicy(let policy) = findings.log.operation(place)
    else { return .full }
    return policy.newcomers
  }

  /// The history boundaries, after which newcomers need new keys: changes of the rule and, while
  /// newcomers read from their join on, admissions and invitations that contain keys.
  private static func boundaries(_ ruleChanges: [Int], in findings: Findings) -> [Int] {
    guard !ruleChanges.isEmpty else { return [] }
    let entrances = findings.log.items.indices.filter { place in
      findings.log.invited[place] != nil && findings.isLive[place]
        && letsInNewcomer(place, in: findings)
        && rule(.past(place), of: ruleChanges, in: findings) == .fromJoin
    }
    return (ruleChanges + entrances).sorted()
  }

  private static func letsInNewcomer(_ place: Int, in findings: Findings) -> Bool {
    switch findings.log.operation(place) {
    case .inviteCreate(let invite):
      invite.admission == .auto
        && invite.person.map { LogView.past(place).addition(of: $0, in: findings) == nil } ?? true
    case .admit: findings.given(place) != nil
    default: false
    }
  }
}
