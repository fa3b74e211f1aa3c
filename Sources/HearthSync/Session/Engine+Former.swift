import HearthCRDT
import HearthMembership

extension Engine {
  /// Whether this device belonged to a zone's group and does not any more.
  package func isFormer(of id: ZoneID) -> Bool {
    guard let zone = try? zone(id) else { return false }
    let membership = membership(of: zone.group)
    return membership.device(device) != nil && !membership.isActive(device)
  }
}
