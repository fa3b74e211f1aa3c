import HearthCRDT
import HearthCrypto

/// The domains and the messages of the signatures inside control operations.
package enum ControlSignature {
  /// The domain of the new device's own signature over its request.
  package static let possessionDomain: Domain = "HRTH/join-device/v1"
  /// The domain of the owner's recovery key's signature over an ownership offer.
  package static let transferDomain: Domain = "HRTH/transfer-owner/v1"
  /// The domain of signatures over new recovery keys.
  package static let rotationDomain: Domain = "HRTH/rotate-recovery/v1"
  /// The domain of a recovery key's signature over a new device.
  package static let recoverDomain: Domain = "HRTH/recover/v1"

  /// The hash that an invitation's key signs, over the group and the whole request with its keys.
  package static func joinHash(of join: ControlOperation.Join, group: GroupID) -> [UInt8] {
    Blake2b.hash(group.bytes + join.request, count: 64)
  }

  /// The bytes that a recovery key or a second device signs; the position in the author's log makes
  /// the signature usable only once.
  package static func signedBytes(group: GroupID, dot: Dot, _ body: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.identifier(group)
    writer.author(dot.author)
    writer.varint(dot.sequence)
    writer.raw(body)
    return writer.bytes
  }
}
