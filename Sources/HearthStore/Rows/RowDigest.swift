import HearthCRDT
import HearthCrypto
import HearthMembership

/// Digests of rows that no signature and no chain covers, so that bit rot in them is noticed.
///
/// They protect against disks, not against people: whoever can write the file can write the digest.
enum RowDigest {
  /// The length of a digest in bytes.
  static let byteCount = 16

  /// The digest of an own change that is in no segment yet, and of its place.
  static func of(change bytes: [UInt8], at dot: Dot, in zone: ZoneID) -> [UInt8] {
    var place = ByteWriter(capacity: 48)
    place.identifier(zone)
    place.author(dot.author)
    place.fixed64(dot.sequence)
    return digest(place.bytes, bytes)
  }

  /// The digest of a fact's bytes and of its name.
  static func of(fact name: String, _ bytes: [UInt8]) -> [UInt8] {
    digest(Array(name.utf8) + [0], bytes)
  }

  private static func digest(_ place: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: byteCount)
    hasher.update(place)
    hasher.update(bytes)
    return hasher.finalize()
  }
}
