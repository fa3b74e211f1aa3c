import HearthCRDT

/// The changes of what newcomers may read, and the history boundaries (decision 0051).
struct NewcomerRules: Sendable {
  /// The operations that changed what newcomers may read, in log order.
  private var changes: [Int] = []
  /// The history boundaries, in log order, after which newcomers need new keys: changes of the rule
  /// and, while newcomers read from their join on, admissions and invitations that contain keys.
  private(set) var boundaries: [Int] = []

  init(_ findings: Findings) {
    let log = findings.log
    for place in findings.index[.setPolicy] where findings.isLive[place] {
      // A policy that changes only the suite and leaves the rule as its author knew it is not a
      // rule change, even if somebody else changed the rule concurrently.
      guard case .setPolicy(_, let newcomers) = log.operation(place),
        newcomers != rule(.past(place), in: findings)
      else { continue }
      changes.append(place)
    }
    guard !changes.isEmpty else { return }
    let entrances = log.items.indices.filter { place in
      log.invited[place] != nil && findings.isLive[place]
        && NewcomerRules.letsInNewcomer(place, in: findings)
        && rule(.past(place), in: findings) == .fromJoin
    }
    boundaries = (changes + entrances).sorted()
  }

  /// What newcomers may read, as known in a view.
  func rule(_ view: LogView, in findings: Findings) -> ControlOperation.Newcomers {
    guard let place = changes.last(where: { view.holds($0, in: findings) }),
      case .setPolicy(_, let newcomers) = findings.log.operation(place)
    else { return .full }
    return newcomers
  }

  /// Whether an epoch's author knew of every change of the rule in a view.
  func isOpen(_ epoch: Int, _ view: LogView, in findings: Findings) -> Bool {
    changes.allSatisfy { !view.holds($0, in: findings) || findings.log.sees(epoch, $0) }
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
