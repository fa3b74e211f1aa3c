import MembershipPromises

extension Act {
  /// The same act with another deed or other claims.
  func with(_ deed: Deed? = nil, claims: [Int: Int]? = nil) -> Act {
    changing(deed: deed, claims: claims)
  }

  func sees(_ other: Act) -> Bool {
    device == other.device
      ? sequence > other.sequence : claims[other.device, default: 0] > other.sequence
  }
}

/// Who is whose, as the acts say.
func owners(_ acts: [Act]) -> [Int: Int] {
  var result = [0: 0]
  for act in acts {
    switch act.deed {
    case .join(_, let person), .recover(let person, _, _): result[act.device] = person
    case .admit(_, let device, let person): result[device] = person
    default: continue
    }
  }
  return result
}

extension Fault {
  /// Lets an act have its effect on those below an admin, whoever wrote it.
  static func take(_ act: Act, _ own: [Int: Int], _ outcome: inout Outcome) {
    func rank(_ person: Int?) -> Int { person.flatMap { outcome.roles[$0]?.rank } ?? 9 }
    switch act.deed {
    case .remove(let whom) where rank(whom) < 3:
      outcome.roles[whom] = nil
      outcome.devices = outcome.devices.filter { own[$0] != whom }
    case .setRole(let whom, let role) where rank(whom) < 3 && role.rank < 3:
      outcome.roles[whom] = role
    case .revoke(let device) where rank(own[device]) < 3:
      outcome.devices.remove(device)
    case .recover(let person, _, _) where outcome.roles[person] == nil:
      outcome.roles[person] = .reader
    default: break
    }
  }

  /// The largest closed past within what the act claims.
  static func closed(_ act: Act, _ logs: [Int: [Int: Act]]) -> [Int: Int] {
    var claims = act.claims
    var isMoving = true
    while isMoving {
      isMoving = false
      for (device, count) in claims.sorted(by: { $0.key < $1.key }) {
        let log = logs[device] ?? [:]
        let end = (0..<count).first { place in
          guard let cited = log[place] else { return true }
          return cited.claims.contains {
            $0.key != act.device && $0.value > claims[$0.key, default: 0]
          }
        }
        guard let end, end < count else { continue }
        claims[device] = end == 0 ? nil : end
        isMoving = true
      }
    }
    return claims
  }
}
