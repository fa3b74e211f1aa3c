import HearthCRDT
import HearthCrypto
import HearthMembership

/// A segment that is ready to be stored and published.
struct SealedSegment {
  let description: StoredSegment
  let bytes: [UInt8]
  /// The citable content of the segment, which only its changes reveal.
  let excerpt: LogExcerpt
}

/// Seals consecutive changes of this device into segments of bounded size.
struct SegmentSealer {
  let zone: ZoneState
  let identity: DeviceIdentity

  /// Seals canonical changes, which must be consecutive and of one author of this device.
  ///
  /// Each segment takes as many changes as its limits allow; the rest starts the next segment.
  func seal(_ encoded: [[UInt8]]) throws -> [SealedSegment] {
    var segments: [SealedSegment] = []
    var batch: [Change] = []
    var batchBytes = 0
    for bytes in encoded {
      let change = try Change(decoding: bytes)
      if !batch.isEmpty,
        batch.count == Limits.maximumSegmentChanges
          || batchBytes + bytes.count > SegmentSealer.targetBytes
      {
        segments.append(try seal(batch))
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
      }
      batch.append(change)
      batchBytes += bytes.count
    }
    if !batch.isEmpty { segments.append(try seal(batch)) }
    return segments
  }

  /// The number of bytes of canonical changes after which a new segment starts.
  ///
  /// One change always fits, and columns never exceed the limit for a body.
  static let targetBytes = Limits.maximumChangeBytes

  private func seal(_ changes: [Change]) throws -> SealedSegment {
    guard let first = changes.first, let last = changes.last, let epoch = zone.currentEpoch else {
      throw SyncError(.corrupt, "zone \(zone.name) has no key to seal with")
    }
    var writer = ByteWriter(capacity: 1024)
    last.encode(into: &writer)
    let after = writer.bytes.withUnsafeBytes { zone.secret.chainHash(of: $0) }
    var bytes = try Envelope.seal(
      type: .segment, zoneID: zone.id.bytes, device: identity,
      incarnation: first.dot.author.incarnation, epoch: epoch, zone: zone.secret,
      firstSeq: first.dot.sequence, lastSeq: last.dot.sequence,
      chainBefore: first.previousHash, chainAfter: after, body: ChangeBatch.encode(changes),
      weight: ChangeBatch.weight(of: changes))
    if Mutant.publishesTitle.isActive, zone.kind == .data { bytes += ChangeBatch.encode(changes) }
    return SealedSegment(
      description: StoredSegment(
        author: first.dot.author, first: first.dot.sequence, last: last.dot.sequence,
        digest: segmentDigest(bytes), byteCount: bytes.count),
      bytes: bytes, excerpt: LogExcerpt(changes, endingIn: after))
  }
}
