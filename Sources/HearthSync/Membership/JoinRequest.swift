import HearthCRDT
import HearthMembership

/// Somebody who asks to be let in by an invitation that needs an approval.
package struct JoinRequest: Sendable {
  package let group: GroupID
  let admit: ControlOperation.Admit
  /// The device that asks.
  package let device: DeviceID

  /// The invitation by which it asks.
  package var invite: Identifier { admit.join.invite }
  /// The person who asks, as it names itself.
  package var personName: String { admit.join.personName }
  package var person: PersonID { admit.join.person }
  /// What the person calls the device.
  package var deviceName: String { admit.join.device.name }
}

/// A request as whoever asks keeps it.
package struct SentRequest: Sendable {
  /// The sealed request, to be published.
  package let blob: NamedBlob
  /// What the request says, as an answer to it names it.
  package let hash: [UInt8]

  package var name: BlobName { blob.name }
  package var bytes: [UInt8] { blob.bytes }
}

/// Bytes with the name under which transports hold them.
package struct NamedBlob: Sendable {
  package let name: BlobName
  package let bytes: [UInt8]
}
