import HearthCRDT
import HearthCrypto
import HearthMembership

/// Names of devices, as notices and errors call them.
struct DeviceNames<S: Store> {
  let engine: Engine<S>

  /// A device's name, or the beginning of its id if the group does not know it.
  func name(_ device: DeviceID, in zone: ZoneState) -> String {
    engine.membership(of: zone.group).device(device)?.card.name ?? "device \(device.hex.prefix(8))"
  }

  /// A device's name with its person's, unless it contains that.
  func nameWithPerson(_ device: DeviceID, in zone: ZoneState) -> String {
    let name = name(device, in: zone)
    guard let person = engine.membership(of: zone.group).person(of: device)?.name,
      !name.contains(person)
    else { return name }
    return "\(name) (\(person))"
  }
}
