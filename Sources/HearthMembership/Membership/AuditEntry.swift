import HearthCRDT

/// One operation of a group's control log, as an audit lists it.
package struct AuditEntry: Sendable {
  /// The id of its event.
  package let id: RecordID
  /// When it was written, by the clock of the device that wrote it.
  package let time: HybridTime
  /// The device that wrote it.
  package let device: DeviceID
  /// The person who owned the device at that time; nil for a stranger.
  package let person: PersonID?
  package let operation: ControlOperation
  /// The number of the branch of a forked log that holds it, from 1; nil in a log without forks.
  package let history: Int?
  /// The reason why it has no effect; nil if it has effect.
  package let void: VoidedOperation?
  /// For a new key: the operations that left the previous keys with a person without read access.
  package let exposures: [Exposure]
  /// The joins that it makes final; empty for every operation that is not a confirmation.
  package let confirmed: [Confirmed]
  /// Why the invitation had ended before this operation; nil if a person chose to close it.
  package let end: InvitationEnd?

  /// The reason why an invitation ended without anybody's decision.
  package enum InvitationEnd: Sendable { case usedUp, expired, userRemoved }

  /// A join that was made final.
  package struct Confirmed: Sendable {
    package let personName: String
    package let device: DeviceID
    package let deviceName: String
    /// Whether the join was contested and therefore pending until a person decided.
    package let hasWaited: Bool
  }

  /// An operation that left keys with a person who may no longer read.
  package struct Exposure: Sendable {
    package let operation: ControlOperation
    /// The person whose device wrote it, or who joined without effect.
    package let person: PersonID?
  }
}
