import HearthCRDT
import HearthMembership

/// Notices about devices that violate limits.
enum LimitNotices {
  /// Adds one notice per person whose words and links let in more devices than one person may have.
  ///
  /// - Parameter person: At whose expense the devices come; nil if nobody answers for them.
  /// - Returns: The reason why a further device has no place.
  static func noteArrivals(
    of person: PersonID?, in zone: ZoneState, by engine: Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> String {
    guard let person else {
      return "too many devices that belong to nobody have logs in the members' log"
    }
    let name = engine.membership(of: zone.group).person(person)?.name ?? "somebody"
    let reason =
      "recovery words and links of \(name) let in more devices than one person may have "
      + "(\(Limits.maximumDevices), with \(Limits.maximumLives) incarnations in all)"
    let fact = Fact(number: "limit.arrivals.\(person.hex)").asCache
    guard try !engine.store.facts.has(fact) else { return reason }
    try engine.store.facts.set(fact, to: nowMilliseconds)
    try engine.store.notices.add(
      Notice(
        kind: .limit, zone: zone.id, device: nil,
        text: "\(reason): the others have no place. If that was not \(name), \(name) can still use "
          + "`hearth recover --revoke-others` and then `hearth words rotate`; if it was, an owner "
          + "or admin can remove \(name)",
        milliseconds: nowMilliseconds))
    return reason
  }

  /// Adds one notice per device that exceeded a limit, with a remedy.
  ///
  /// - Parameter advice: The remedy; nil if an honest program never exceeds the limit.
  static func noteLimit(
    of device: DeviceID, in zone: ZoneState, as limit: String, _ what: String,
    advice: String? = nil, by engine: Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let fact = Fact(number: "limit.\(limit).\(device.hex)").asCache
    guard device != engine.device, try !engine.store.facts.has(fact) else { return }
    try engine.store.facts.set(fact, to: nowMilliseconds)
    let name = DeviceNames(engine: engine).name(device, in: zone)
    try engine.store.notices.add(
      Notice(
        kind: .limit, zone: zone.id, device: device,
        text: "\(name) \(what); "
          + (advice
            ?? "no honest program does that: ask the device's owner, and remove the device with "
            + "`hearth device revoke` if nobody can explain it"),
        milliseconds: nowMilliseconds))
  }
}
