import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// What a household's people are notified of, at one moment.
struct PeopleOutline: Equatable {
  let owner: PersonID?
  let people: [PersonID: String]
  /// This person's devices, where they belong to the household.
  let ownDevices: [DeviceID: String]
  /// Everybody else's devices that belong to the household.
  let otherDevices: Set<DeviceID>
  let ownRole: Role?

  init(_ membership: Membership, device: DeviceID) {
    let own = membership.device(device)?.person
    owner = membership.owner
    people = Dictionary(uniqueKeysWithValues: membership.people.map { ($0.id, $0.name) })
    ownDevices = Dictionary(
      uniqueKeysWithValues: membership.devices.filter { $0.person == own }.map {
        ($0.id, $0.card.name)
      })
    otherDevices = Set(membership.devices.filter { $0.person != own }.map(\.id))
    ownRole = membership.role(of: device)
  }
}

/// The notices about what others did to the people of a household, once this node learns of it.
struct PeopleNotices: NodeWork {
  let core: NodeCore

  /// Who belongs to each household in which this device is.
  func activeMemberships() -> [GroupID: Membership] {
    var memberships: [GroupID: Membership] = [:]
    for group in households() {
      let membership = membership(of: group)
      if membership.isActive(device) { memberships[group] = membership }
    }
    return memberships
  }

  /// Notes what has changed since, unless this device has done it.
  func notice(since before: [GroupID: Membership]) throws {
    for group in households() {
      try IncarnationNotices(core: core).notice(of: group, isNewcomer: before[group] == nil)
      guard let former = before[group] else { continue }
      let membership = membership(of: group)
      let old = PeopleOutline(former, device: device)
      let new = PeopleOutline(membership, device: device)
      guard new != old, membership.isActive(device) else { continue }
      let returned = returns(from: old, to: new, former, membership)
      let zone = engine.zones.first { $0.group == group && $0.kind == .data }
      let place = zone.map { shown($0).name } ?? "the household"
      try store.transaction {
        for (person, removal) in returned.sorted(by: { $0.key < $1.key }) {
          let text = PeopleNotices.departure(
            of: new.people[person] ?? "somebody", from: place, "removed by \(removal.remover)")
          try store.notices.remove(of: .people, in: zone?.id, saying: text)
        }
      }
      for text in news(of: membership, in: place, from: old, to: new, returned) {
        try store.transaction {
          try store.notices.add(
            Notice(
              kind: .people, zone: zone?.id, device: nil, text: text, milliseconds: now()))
        }
      }
    }
  }

  private func news(
    of membership: Membership, in place: String, from old: PeopleOutline, to new: PeopleOutline,
    _ returned: [PersonID: VoidRemoval]
  ) -> [String] {
    var texts: [String] = []
    if old.owner != new.owner, let owner = new.owner {
      let former = old.owner.map { old.people[$0] ?? "an unknown person" } ?? "nobody"
      texts.append(
        "\(new.people[owner] ?? "somebody") now owns \(place) (previously \(former))")
    }
    for (person, name) in old.people.sorted(by: { $0.key < $1.key }) where new.people[person] == nil
    {
      texts.append(
        PeopleNotices.departure(of: name, from: place, departure(of: person, membership)))
    }
    for (person, name) in new.people.sorted(by: { $0.key < $1.key }) where old.people[person] == nil
    {
      if let removal = returned[person] {
        texts.append(
          "\(name) belongs to \(place) again: the removal by \(removal.remover) has no effect, "
            + "as \(removal.reason)")
      } else {
        texts.append("\(name) belongs to \(place) now")
      }
    }
    for (lost, name) in old.ownDevices.sorted(by: { $0.key < $1.key })
    where new.ownDevices[lost] == nil {
      texts.append("your device \(name) does not belong to \(place) any more: see `hearth audit`")
    }
    for (added, name) in new.ownDevices.sorted(by: { $0.key < $1.key })
    where old.ownDevices[added] == nil {
      texts.append(
        "you have a further device in \(place): \(name); if it is not yours, "
          + "`hearth device revoke \(added.hex.prefix(8))` ends it")
    }
    for added in new.otherDevices.subtracting(old.otherDevices).sorted() {
      if let text = enrolment(of: added, by: old, membership, in: place) { texts.append(text) }
    }
    if let role = new.ownRole, let former = old.ownRole, role != former, old.owner == new.owner {
      texts.append("you are now \(role.name) in \(place) (previously \(former.name))")
    }
    return texts
  }

  /// Who belongs again because the removal that had ended it has no effect any more.
  ///
  /// A removal that never had effect, or that another departure followed, brings nobody back.
  private func returns(
    from old: PeopleOutline, to new: PeopleOutline, _ former: Membership, _ membership: Membership
  ) -> [PersonID: VoidRemoval] {
    let back = new.people.keys.filter { old.people[$0] == nil }
    guard !back.isEmpty else { return [:] }
    let past = former.audit()
    let present = Dictionary(
      membership.audit().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var found: [PersonID: VoidRemoval] = [:]
    for person in back {
      guard let end = past.last(where: { $0.void == nil && $0.isDeparture(of: person) }),
        let entry = present[end.id], let void = entry.void
      else { continue }
      found[person] = VoidRemoval(
        remover: name(of: entry.person, membership), reason: membership.words(for: void))
    }
    return found
  }

  private func name(of person: PersonID?, _ membership: Membership) -> String {
    person.flatMap { membership.person($0)?.name } ?? "somebody"
  }

  private static func departure(of name: String, from place: String, _ how: String) -> String {
    "\(name) does not belong to \(place) any more: \(how)"
  }

  /// That somebody else let in a device for a person who was there before; nil where it came
  /// otherwise.
  private func enrolment(
    of added: DeviceID, by old: PeopleOutline, _ membership: Membership, in place: String
  ) -> String? {
    guard let device = membership.device(added), let name = old.people[device.person],
      let maker = membership.entries.inviter(of: added), maker != device.person
    else { return nil }
    let by = membership.person(maker)?.name ?? "somebody"
    return "\(by) added a device for \(name) in \(place): \(device.card.name)"
  }

  private func departure(of person: PersonID, _ membership: Membership) -> String {
    guard
      let end = membership.audit().last(where: { $0.void == nil && $0.isDeparture(of: person) })
    else { return "`hearth audit` says why" }
    guard case .removeMember = end.operation else { return "left" }
    return "removed by \(name(of: end.person, membership))"
  }
}

/// Who had removed somebody, and why that has no effect any more.
private struct VoidRemoval {
  let remover: String
  let reason: String
}

extension AuditEntry {
  /// Whether it ends that a person belongs to the group, if it has effect.
  fileprivate func isDeparture(of person: PersonID) -> Bool {
    switch operation {
    case .removeMember(let removed, _): removed == person
    case .leave: self.person == person
    default: false
    }
  }
}
