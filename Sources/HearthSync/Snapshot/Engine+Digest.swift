import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// The zone's digest: equal on every replica with the same changes and the same evidence.
  ///
  /// The digest is BLAKE2b-256 over the canonical stream of the whole state. The cost is O(size of
  /// the zone).
  package func digest(of zone: ZoneID) throws -> [UInt8] {
    let state = try self.zone(zone)
    var hasher = StateDigest.digestHasher()
    try SnapshotWriter(zone: state, heldBack: FalseClaims(engine: self).heldBack(in: state))
      .write(from: store.records) { hasher.update($0) }
    return hasher.finalize()
  }
}
