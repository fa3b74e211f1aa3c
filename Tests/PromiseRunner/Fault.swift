import MembershipPromises

/// A deliberate mistake around a resolver, in what it reads or in what it answers.
struct Fault {
  let name: String
  /// The promise that must notice it.
  let promise: Promise
  let answer: ([Act], Resolve) -> Outcome

  /// A mistake in what the resolver reads.
  init(_ name: String, _ promise: Promise, reading: @escaping ([Act]) -> [Act]) {
    self.name = name
    self.promise = promise
    answer = { acts, resolve in resolve(reading(acts)) }
  }

  /// A mistake in what the resolver answers.
  init(_ name: String, _ promise: Promise, answering: @escaping ([Act], inout Outcome) -> Void) {
    self.name = name
    self.promise = promise
    answer = { acts, resolve in
      var outcome = resolve(acts)
      answering(acts, &outcome)
      return outcome
    }
  }

  static var all: [Fault] {
    entries + links + standings + ranks + devices + causes + orders + handovers + clocks
  }
}

// MARK: - Entries and links

extension Fault {
  private static var entries: [Fault] {
    [
      Fault("a closing ends joinings that were confirmed", .entryIsFinal) { acts, outcome in
        for act in acts {
          guard case .join(let link, let person) = act.deed else { continue }
          let isEnded = acts.contains { $0.deed == .close(invite: link) && !$0.sees(act) }
          guard isEnded, person != outcome.owner else { continue }
          outcome.devices.remove(act.device)
          outcome.roles[person] = nil
        }
      },
      Fault("joinings by a used-up link count", .usesHold) { acts, outcome in
        for act in acts {
          guard case .join(let link, let person) = act.deed, outcome.roles[person] == nil
          else { continue }
          for made in acts {
            guard case .invite(link, let role, nil, _, false, _) = made.deed else { continue }
            outcome.roles[person] = role
            outcome.devices.insert(act.device)
          }
        }
      },
      Fault("the first joiner by log order keeps a person", .convergence) { acts, outcome in
        guard let last = acts.last, outcome.devices.count > 1 else { return }
        if case .join = last.deed { outcome.devices.remove(last.device) }
      },
    ]
  }

  private static var links: [Fault] {
    [
      Fault("whoever is not confirmed waits", .liveness) { acts, outcome in
        let own = owners(acts)
        for device in outcome.devices {
          let isKnown = acts.contains {
            if case .admit(_, device, _) = $0.deed { return true }
            if case .recover = $0.deed { return $0.device == device }
            return $0.deed == .confirm(device: device)
          }
          guard !isKnown, device != 0, let person = own[device], person != outcome.owner else {
            continue
          }
          outcome.devices.remove(device)
          if !outcome.devices.contains(where: { own[$0] == person }) { outcome.roles[person] = nil }
        }
      },
      Fault("every joining that was ever written uses up its link", .noTrace) { acts, outcome in
        let own = owners(acts)
        for act in acts {
          guard case .invite(let link, _, nil, let uses, _, _) = act.deed else { continue }
          let users = acts.filter { if case .join(link, _) = $0.deed { true } else { false } }
          guard users.count > uses, let loser = users.map(\.device).max(),
            let person = own[loser], person != outcome.owner
          else { continue }
          for user in users
          where !acts.contains(where: { $0.deed == .confirm(device: user.device) }) {
            outcome.devices.remove(user.device)
          }
        }
      },
      Fault("an admin's word gives away somebody's number", .numberIsItsMakers) { acts, outcome in
        for act in acts {
          guard case .join(_, let person) = act.deed, let maker = Maker.device(of: person),
            maker != act.device, outcome.devices.contains(maker),
            acts.contains(where: { $0.deed == .confirm(device: act.device) && $0.sees(act) })
          else { continue }
          outcome.devices.remove(maker)
          outcome.devices.insert(act.device)
        }
      },
      Fault("the key stays when somebody goes", .keysFollowStanding) { acts, outcome in
        for act in acts {
          if case .seal(_, let devices) = act.deed { outcome.readers = Set(devices) }
        }
      },
    ]
  }

  // MARK: Standings

  private static var standings: [Fault] {
    [
      Fault("a removal that the removed had not seen is forgotten", .lasting) { acts in
        acts.map { act in
          guard case .remove(let person) = act.deed else { return act }
          let own = owners(acts)
          let isUnseen = acts.contains {
            own[$0.device] == person && !$0.sees(act) && !act.sees($0)
          }
          return isUnseen ? act.with(.heartbeat) : act
        }
      },
      Fault("a removed author's removal counts", .outDecidesNothing) { acts, outcome in
        let own = owners(acts)
        for act in acts {
          guard case .remove(let whom) = act.deed, whom != outcome.owner,
            let author = own[act.device], outcome.roles[author] == nil
          else { continue }
          outcome.roles[whom] = nil
          outcome.devices = outcome.devices.filter { own[$0] != whom }
        }
      },
    ]
  }

  private static var ranks: [Fault] {
    [
      Fault("anybody who is in may give a role", .rankNeeded) { acts, outcome in
        for act in acts {
          guard case .setRole(let whom, let role) = act.deed, outcome.devices.contains(act.device),
            whom != outcome.owner, outcome.roles[whom] != nil
          else { continue }
          outcome.roles[whom] = role
        }
      },
      Fault("a link for oneself gives any role", .noGain) { acts, outcome in
        for act in acts {
          guard case .invite(_, let role, let person?, _, _, _) = act.deed, person != outcome.owner,
            let present = outcome.roles[person], present.rank < role.rank
          else { continue }
          outcome.roles[person] = role
        }
      },
    ]
  }

  private static var devices: [Fault] {
    [
      Fault("who hands over stays owner", .oneOwner) { acts, outcome in
        let own = owners(acts)
        for act in acts {
          guard case .offer(let heir, _) = act.deed, heir == outcome.owner,
            let former = own[act.device], outcome.roles[former] != nil
          else { continue }
          outcome.roles[former] = .owner
        }
      },
      Fault("a revocation by a device of the own person is forgotten", .stolenDevice) { acts in
        let own = owners(acts)
        return acts.map { act in
          guard case .revoke(let device) = act.deed, own[device] == own[act.device] else {
            return act
          }
          return act.with(.heartbeat)
        }
      },
      Fault("of two devices that revoke each other the lower stays", .mutualRevocation) { acts in
        acts.map { act in
          guard case .revoke(let device) = act.deed, act.device > device else { return act }
          let isMutual = acts.contains {
            $0.device == device && $0.deed == .revoke(device: act.device)
          }
          return isMutual ? act.with(.heartbeat) : act
        }
      },
    ]
  }
}

// MARK: - Causes and lines

extension Fault {
  private static var causes: [Fault] {
    [
      Fault("an open past is closed by leaving out", .closedCauses) { acts in
        var logs: [Int: [Int: Act]] = [:]
        for act in acts { logs[act.device, default: [:]][act.sequence] = act }
        return acts.map { act in act.with(claims: closed(act, logs)) }
      },
      Fault("devices that a recovery of the owner revoked still decide", .recoverySilences) {
        acts, outcome in
        let own = owners(acts)
        for act in acts where own[act.device] == outcome.owner {
          let isRevoked = acts.contains {
            guard case .recover(outcome.owner, _, true) = $0.deed else { return false }
            return $0.device != act.device && !act.sees($0) && !$0.sees(act)
          }
          if isRevoked, !outcome.devices.contains(act.device) { take(act, own, &outcome) }
        }
      },
      Fault("other devices of somebody who left still decide", .leavingSilences) {
        acts, outcome in
        let own = owners(acts)
        for act in acts where outcome.roles[own[act.device] ?? -1] == nil {
          let hasLeft = acts.contains {
            $0.deed == .leave && own[$0.device] == own[act.device] && $0.device != act.device
              && !act.sees($0) && !$0.sees(act)
          }
          guard hasLeft else { continue }
          take(act, own, &outcome)
        }
      },
    ]
  }

  private static var orders: [Fault] {
    [
      Fault("the shorter past is the earlier act", .lasting) { acts in
        let own = owners(acts)
        func clock(_ act: Act) -> Int { act.claims.values.reduce(act.sequence, +) }
        return acts.map { act in
          guard case .remove(let person) = act.deed else { return act }
          let isBeaten = acts.contains { other in
            guard own[other.device] == person, clock(other) < clock(act) else { return false }
            if case .join = other.deed { return false }
            return !act.sees(other)
          }
          return isBeaten ? act.with(.heartbeat) : act
        }
      },
      Fault("the order of arrival decides between two roles", .convergence) { acts, outcome in
        for act in acts {
          guard case .setRole(let whom, let role) = act.deed, whom != outcome.owner,
            outcome.roles[whom] != nil
          else { continue }
          outcome.roles[whom] = role
        }
      },
    ]
  }

  private static var handovers: [Fault] {
    [
      Fault("a hand-over is undone by the former owner", .lasting) { acts in
        let own = owners(acts)
        return acts.map { act in
          guard case .accept(let id) = act.deed, let offer = acts.first(where: { $0.id == id })
          else {
            return act
          }
          let isUndone = acts.contains { other in
            guard own[other.device] == own[offer.device], other.device != offer.device else {
              return false
            }
            return !act.sees(other) && !other.sees(act)
          }
          return isUndone ? act.with(.heartbeat) : act
        }
      }
    ]
  }
}
