import HearthCRDT
import HearthCrypto
import HearthMembership

/// The digest of a zone's whole state.
enum StateDigest {
  /// The fact that keeps the digest worked out last; building the zone anew drops it.
  static func checkedDigestFact(of zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "attested.\(zone.hex)").asCache
  }

  /// The digest of a snapshot's stream.
  static func digest(ofStream stream: [UInt8]) -> [UInt8] {
    var hasher = digestHasher()
    hasher.update(stream)
    return hasher.finalize()
  }

  /// A hasher for the digest, with its domain.
  static func digestHasher() -> Blake2b.Hasher {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update(Array("HRTH/digest/v1".utf8))
    return hasher
  }
}
