import HearthCRDT

/// A contested join that has no effect until somebody confirms it.
package struct WaitingEntry: Sendable {
  /// The id of its operation; a confirmation names it.
  package let id: RecordID
  package let person: PersonID
  package let personName: String
  package let device: DeviceID
  package let deviceName: String
  /// The requested role; nil for a person's further device.
  package let role: Role?
  package let invite: Identifier
  /// When it was written, by the clock of the device that wrote it.
  package let since: HybridTime
  package let reason: VoidReason
}
