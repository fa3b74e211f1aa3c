import HearthCRDT
import HearthMembership

/// A request to join by an invitation that needs approval.
package struct JoinRequest: Sendable {
  package let group: GroupID
  let admit: ControlOperation.Admit
  /// The device that asks.
  package let device: DeviceID

  /// The invitation that the request uses.
  package var invite: Identifier { admit.join.invite }
  /// The person's own name for themselves.
  package var personName: String { admit.join.personName }
  /// The id of the person who asks.
  package var person: PersonID { admit.join.person }
  /// The person's name for the device.
  package var deviceName: String { admit.join.device.name }
}

/// A request as its sender keeps it.
package struct SentRequest: Sendable {
  /// The sealed request to publish.
  package let blob: NamedBlob
  /// The hash of the request, by which an answer refers to it.
  package let hash: [UInt8]

  package var name: BlobName { blob.name }
  package var bytes: [UInt8] { blob.bytes }
}

/// Bytes with their name on transports.
package struct NamedBlob: Sendable {
  package let name: BlobName
  package let bytes: [UInt8]
}
