import HearthCRDT
import HearthCrypto
import HearthMembership

/// The names of the files by which requests and answers travel.
package enum ApprovalNames {
  /// The name of a request by an invitation, which may have several requests.
  package static func requestName(of invite: Identifier, slot: Int) -> BlobName {
    BlobName(
      kind: .capsule,
      scope: derivedIdentifier("HRTH/join-request/v1", invite.bytes, UInt64(slot).fixedBytes)
    )
  }

  /// The name of the answer to a device.
  package static func answerName(to device: DeviceID, of group: GroupID) -> BlobName {
    BlobName(
      kind: .capsule, scope: derivedIdentifier("HRTH/join-answer/v1", group.bytes, device.bytes))
  }
}
