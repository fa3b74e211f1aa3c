import HearthCRDT
import HearthCrypto
import HearthMembership

/// Making of snapshots.
package enum SnapshotMaking {
  /// The number of bytes of the stream in one chunk before compression: a size that always fits.
  private static var chunkBytes: Int { EnvelopeFormat.guaranteedBodyBytes }

  /// Writes a snapshot of a zone as sealed chunks.
  package static func snapshot(of zone: ZoneID, in engine: Engine<some Store>) throws -> [[UInt8]] {
    let state = try engine.zone(zone)
    guard let epoch = state.currentEpoch else {
      throw SyncError(.corrupt, "zone \(state.name) has no key to seal with")
    }
    var hasher = StateDigest.digestHasher()
    var pieces: [[UInt8]] = [[]]
    try SnapshotWriter(zone: state, heldBack: FalseClaims(engine: engine).heldBack(in: state))
      .write(from: engine.store.records) {
        block in
        hasher.update(block)
        var rest = block[...]
        while !rest.isEmpty {
          let room = chunkBytes - pieces[pieces.count - 1].count
          pieces[pieces.count - 1] += rest.prefix(room)
          rest = rest.dropFirst(room)
          if !rest.isEmpty { pieces.append([]) }
        }
      }
    let digest = hasher.finalize()
    return try pieces.enumerated().map { index, piece in
      try Envelope.seal(
        type: .snapshotChunk, zoneID: zone.bytes, device: engine.identity,
        incarnation: engine.incarnation,
        epoch: epoch, zone: state.secret, firstSeq: UInt64(index + 1),
        lastSeq: UInt64(pieces.count), chainBefore: digest, chainAfter: digest, body: piece)
    }
  }
}
