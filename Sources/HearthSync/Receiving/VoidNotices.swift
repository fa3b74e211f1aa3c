import HearthCRDT
import HearthMembership

/// Notices about changes that their author may not make.
struct VoidNotices<S: Store> {
  let engine: Engine<S>

  /// Adds notices of void changes: of this device's own each time, of others' once a day per
  /// device.
  ///
  /// Changes beyond a limit are excluded, because the violation of the limit has its own notice.
  func tell(
    of voids: [VoidChange], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws {
    let told = voids.filter { if case .beyondLimit = $0.cause { false } else { true } }
    let byDevice = Dictionary(grouping: told) { $0.dot.author.device }
    for (device, voids) in byDevice.sorted(by: { $0.key < $1.key }) {
      if device != engine.device {
        let fact = Fact(number: "void.told.\(zone.id.hex).\(device.hex)")
        if let told = try engine.store.facts.value(of: fact),
          nowMilliseconds < told &+ StoredVoids.voidNoticeMilliseconds
        {
          continue
        }
        try engine.store.facts.set(fact, to: nowMilliseconds)
      }
      try engine.store.notices.add(
        Notice(
          kind: .void, zone: zone.id, device: device, text: words(for: voids, of: device, in: zone),
          milliseconds: nowMilliseconds))
    }
  }

  private func words(
    for voids: [VoidChange], of device: DeviceID, in zone: ZoneState
  ) -> String {
    let count = voids.count == 1 ? "1 change" : "\(voids.count) changes"
    let (verb, them) = voids.count == 1 ? ("has", "it") : ("have", "them")
    let member = engine.membership(of: zone.group).person(of: device)
    let way = "an owner or admin can look at \(them) and adopt \(them): `hearth quarantine`"
    guard device != engine.device else {
      let role = member.map { ", because you are \(Self.a($0.role)) there" } ?? ""
      return "\(count) that you wrote on this device in \(zone.name) \(verb) no effect\(role): "
        + "a transaction counts as a whole or not at all; \(way)"
    }
    let name = DeviceNames(engine: engine).name(device, in: zone)
    let owner = member.map { name.contains($0.name) ? name : "\(name) (\($0.name))" } ?? name
    if voids.allSatisfy({ $0.cause == .malformed }) {
      return "\(owner) wrote \(count) in \(zone.name) that no program writes: "
        + "\(them == "it" ? "it" : "they") \(verb) no effect; check the program on that device"
    }
    let role = (voids.compactMap(\.role).max { $0.rawValue < $1.rawValue } ?? member?.role).map {
      " that \(Self.a($0)) may not write"
    }
    return
      "\(owner) wrote \(count) in \(zone.name)\(role ?? ""): \(voids.count == 1 ? "it" : "they")"
      + " \(verb) no effect, as a whole; \(way)"
  }

  private static func a(_ role: Role) -> String {
    switch role {
    case .owner: "the owner"
    case .admin: "an admin"
    case .member, .child, .reader: "a \(role.name)"
    }
  }
}
