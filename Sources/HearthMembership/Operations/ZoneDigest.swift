import HearthCRDT

extension ControlOperation {
  /// The content of a zone of records at one point, as a digest.
  ///
  /// A device that has all changes up to that point attests a snapshot with it (decision 0065). A
  /// device also publishes the digest of its own content, so that a device at the same point can
  /// compare (decision 0064). Nobody trusts a snapshot because of the latter, so a device that
  /// began from a snapshot may publish it too.
  package struct ZoneDigest: ControlCodable {
    /// The number of bytes in a digest.
    package static let digestBytes = 32

    package let zone: ZoneID
    /// Identifies everything that decides the zone's content: in an attestation the end of every
    /// log in the zone, by sequence number and chain hash.
    package let mark: Identifier
    /// The digest of the content.
    package let digest: [UInt8]

    /// Makes a value from a digest of ``digestBytes`` bytes.
    package init(zone: ZoneID, mark: Identifier, digest: [UInt8]) {
      precondition(digest.count == ZoneDigest.digestBytes, "a digest of \(digest.count) bytes")
      self.zone = zone
      self.mark = mark
      self.digest = digest
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("digested zone")), (\.mark, .identifier("digested point")),
      (\.digest, .raw(digestBytes, "digest")))
  }
}
