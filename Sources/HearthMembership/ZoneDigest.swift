import HearthCRDT

extension ControlOperation {
  /// What a zone of records holds at one point.
  ///
  /// Somebody who has all changes up to there attests a snapshot with it (decision 0065). A device
  /// tells with it what it holds itself, so that whoever has the same point compares (decision
  /// 0064): nobody believes a snapshot for that, so one that began from a snapshot may say it too.
  package struct ZoneDigest: ControlCodable {
    /// How many bytes a digest has.
    package static let digestBytes = 32

    package let zone: ZoneID
    /// Stands for everything that decides what the zone holds: in an attestation for the end of
    /// every log in the zone, its number and its chain hash.
    package let mark: Identifier
    /// The digest of what it holds.
    package let digest: [UInt8]

    /// Takes a digest of ``digestBytes`` bytes.
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
