import MembershipPromises

/// Mistakes about clocks.
extension Fault {
  /// The grace of the histories in which these are looked for.
  private static let grace = 2

  /// The random history in which the fault is looked for.
  func history(seed: UInt64) -> History {
    PromiseCheck.history(seed: seed, grace: promise.isAboutClocks ? Fault.grace : nil)
  }

  static var clocks: [Fault] { beliefs + undoings }

  private static var beliefs: [Fault] {
    [
      Fault("a joining that says itself that it is late counts", .expiryHolds) { acts in
        acts.map { act in
          guard case .join = act.deed else { return act }
          return act.changing(time: 0)
        }
      },
      Fault("a closing at the expiry ends nothing", .expiryHolds) { acts in
        let ends = expiries(acts)
        return acts.map { isExpiryClosing($0, ends) ? $0.with(.heartbeat) : $0 }
      },
      Fault("whoever claims to be in time is confirmed after the closing", .expiryHolds) {
        acts, outcome in
        let ends = expiries(acts)
        for act in acts {
          guard case .join(let link, let person) = act.deed, act.time <= ends[link, default: 0],
            outcome.roles[person] == nil
          else { continue }
          for made in acts {
            guard case .invite(link, let role, nil, _, false, _) = made.deed else { continue }
            outcome.roles[person] = role
            outcome.devices.insert(act.device)
          }
        }
      },
    ]
  }

  private static var undoings: [Fault] {
    [
      Fault("a closing at the expiry ends joinings that were confirmed", .clocksUndoNothing) {
        acts, outcome in
        let ends = expiries(acts)
        for act in acts {
          guard case .join(let link, _) = act.deed else { continue }
          let isEnded = acts.contains {
            $0.deed == .close(invite: link) && isExpiryClosing($0, ends) && !$0.sees(act)
          }
          if isEnded { expel(act, &outcome) }
        }
      },
      Fault("whoever says to be late is out although confirmed", .clocksUndoNothing) {
        acts, outcome in
        let ends = expiries(acts)
        for act in acts {
          guard case .join(let link, _) = act.deed, act.time > ends[link, default: .max] else {
            continue
          }
          expel(act, &outcome)
        }
      },
      Fault("the later clock decides between two roles", .clocksUndoNothing) { acts, outcome in
        let sorted = acts.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
        for act in sorted {
          guard case .setRole(let whom, let role) = act.deed, whom != outcome.owner,
            outcome.roles[whom] != nil
          else { continue }
          outcome.roles[whom] = role
        }
      },
    ]
  }

  private static func expiries(_ acts: [Act]) -> [Int: Int] {
    var result: [Int: Int] = [:]
    for act in acts {
      guard case .invite(let link, _, _, _, _, let expires) = act.deed, result[link] == nil else {
        continue
      }
      result[link] = expires
    }
    return result
  }

  private static func isExpiryClosing(_ act: Act, _ ends: [Int: Int]) -> Bool {
    guard case .close(let link) = act.deed else { return false }
    return act.time > ends[link, default: .max]
  }

  /// Takes a device that joined, and its person, out.
  private static func expel(_ act: Act, _ outcome: inout Outcome) {
    guard case .join(_, let person) = act.deed, person != outcome.owner else { return }
    outcome.devices.remove(act.device)
    outcome.roles[person] = nil
  }
}
