import HearthCRDT

/// An epoch of a zone, as the control log announces it.
package struct EpochRecord: Sendable {
  package let grant: ControlOperation.EpochGrant
  /// The creation time, by the clock of the device that made it.
  package let since: HybridTime
  /// The length of the longest chain of epochs below it.
  package let depth: Int
  /// The device that made it.
  package let maker: DeviceID
  let place: Int
}
