import HearthCRDT

/// A device's claim to have seen changes that this device never wrote.
///
/// Only the author of a log knows that the log ends there, and only of its live incarnation: a
/// device that was restored may hold less of an earlier one than it had published.
package struct UnwrittenClaim: Equatable, Sendable {
  /// The device that makes the claim.
  package let device: DeviceID
  /// The zone of the claimed changes.
  package let zone: ZoneID
  /// The number of claimed changes beyond this device's log.
  package let count: UInt64

  package init(device: DeviceID, zone: ZoneID, count: UInt64) {
    self.device = device
    self.zone = zone
    self.count = count
  }
}
