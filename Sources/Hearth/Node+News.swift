import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// What a household's people are told of, as it stands at one moment.
struct PeopleOutline: Equatable {
  let owner: PersonID?
  let people: [PersonID: String]
  /// This person's devices, where they belong to the household.
  let ownDevices: [DeviceID: String]
  /// Everybody else's devices that belong to the household.
  let otherDevices: Set<DeviceID>
  let ownRole: Role?

  init(_ membership: Membership, own: PersonID?, device: DeviceID) {
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

// What others did to the people of a household is told once, when this node learns of it.
extension Node {
  /// How the households stand in which this device is.
  func peopleOutlines() -> [GroupID: PeopleOutline] {
    var outlines: [GroupID: PeopleOutline] = [:]
    for group in households() where membership(of: group).isActive(device) {
      let membership = membership(of: group)
      outlines[group] = PeopleOutline(
        membership, own: membership.person(of: device)?.id, device: device)
    }
    return outlines
  }

  /// Notes what has changed since, unless this device has done it.
  func noticePeople(since before: [GroupID: PeopleOutline]) throws {
    for group in households() {
      try noticeLives(of: group, isNewcomer: before[group] == nil)
      guard let old = before[group] else { continue }
      let membership = membership(of: group)
      let own = membership.device(device)?.person
      let new = PeopleOutline(membership, own: own, device: device)
      guard new != old, membership.isActive(device) else { continue }
      let zone = engine.zones.first { $0.group == group && $0.kind == .data }
      let place = zone.map { shown($0).name } ?? "the household"
      try store.transaction {
        for text in outdated(in: membership, place, from: old, to: new) {
          try store.removeNotices(of: .people, in: zone?.id, saying: text)
        }
      }
      for text in news(of: membership, in: place, from: old, to: new) {
        try store.transaction {
          try store.add(
            Notice(
              kind: .people, zone: zone?.id, device: nil, text: text, milliseconds: now()))
        }
      }
    }
  }

  private func news(
    of membership: Membership, in place: String, from old: PeopleOutline, to new: PeopleOutline
  ) -> [String] {
    var texts: [String] = []
    if old.owner != new.owner, let owner = new.owner {
      let former = old.owner.map { old.people[$0] ?? "nobody known" } ?? "nobody"
      texts.append(
        "\(new.people[owner] ?? "somebody") is the owner of \(place) now, as \(former) was")
    }
    for (person, name) in old.people.sorted(by: { $0.key < $1.key }) where new.people[person] == nil
    {
      texts.append(Node.departure(of: name, from: place, departure(of: person, membership)))
    }
    for (person, name) in new.people.sorted(by: { $0.key < $1.key }) where old.people[person] == nil
    {
      if let (remover, reason) = voidRemoval(of: person, membership) {
        texts.append(
          "\(name) belongs to \(place) again: the removal by \(remover) has no effect, as \(reason)"
        )
      } else {
        texts.append("\(name) belongs to \(place) now")
      }
    }
    for (lost, name) in old.ownDevices.sorted(by: { $0.key < $1.key })
    where new.ownDevices[lost] == nil {
      texts.append("your device \(name) does not belong to \(place) any more: `hearth audit`")
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
      texts.append("you are \(role.name) in \(place) now, were \(former.name)")
    }
    return texts
  }

  /// What was told of removals that have no effect any more.
  private func outdated(
    in membership: Membership, _ place: String, from old: PeopleOutline, to new: PeopleOutline
  ) -> [String] {
    new.people.sorted { $0.key < $1.key }.compactMap { person, name in
      guard old.people[person] == nil, let (remover, _) = voidRemoval(of: person, membership)
      else { return nil }
      return Node.departure(of: name, from: place, "removed by \(remover)")
    }
  }

  /// Who removed somebody in vain, and why that has no effect; nil where nobody did.
  private func voidRemoval(
    of person: PersonID, _ membership: Membership
  ) -> (remover: String, reason: String)? {
    for entry in membership.audit().reversed() {
      guard let reason = entry.void, case .removeMember(let removal) = entry.operation,
        removal.person == person
      else { continue }
      return (entry.person.flatMap { membership.person($0)?.name } ?? "somebody", reason)
    }
    return nil
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
      let maker = membership.inviter(of: added), maker != device.person
    else { return nil }
    let by = membership.person(maker)?.name ?? "somebody"
    return "\(by) let in a device for \(name) in \(place): \(device.card.name)"
  }

  private func departure(of person: PersonID, _ membership: Membership) -> String {
    for entry in membership.audit().reversed() where entry.void == nil {
      let by = entry.person.flatMap { membership.person($0)?.name } ?? "somebody"
      switch entry.operation {
      case .removeMember(let removal) where removal.person == person: return "removed by \(by)"
      case .leave where entry.person == person: return "left"
      default: continue
      }
    }
    return "`hearth audit` tells why"
  }
}
