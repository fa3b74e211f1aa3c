import HearthCRDT
import HearthCrypto
import HearthSync

/// A sealed file as a hostile member gives it to others.
package struct HostileFile: Sendable {
  /// What every transport calls it.
  package let name: SegmentName
  /// The sealed bytes.
  package let bytes: [UInt8]
}

/// The keys of one zone, which seal whatever a hostile member likes to write there.
struct ZonePen: Sendable {
  let zone: ZoneID
  private let secret: ZoneSecret
  private let epoch: EpochKey
  private let tag: Identifier

  /// Takes over what a device has of a zone.
  /// - Throws: `HostileError` where the device has no keys of the zone.
  init<S: Store>(of engine: Engine<S>, in state: ZoneState) throws {
    guard let stored = try engine.store.zones.all().first(where: { $0.id == state.id }),
      let epoch = state.epochs.last
    else { throw HostileError("this device has no keys of \(state.id.hex)") }
    self.epoch = epoch
    zone = state.id
    secret = try ZoneSecret.recovered(
      stored.wrappedSecret, by: engine.identity, zoneID: state.id.bytes)
    tag = state.tag
  }

  /// The chain hash of a log after a change.
  func hash(after change: Change) -> [UInt8] {
    var writer = ByteWriter()
    change.encode(into: &writer)
    return secret.chainHash(of: writer.bytes)
  }

  /// Seals consecutive changes of a device into one file.
  ///
  /// - Parameter weight: how much work it declares; as much as there is if nil.
  func seal(
    _ changes: [Change], by device: DeviceIdentity, weight: Int? = nil
  ) throws -> HostileFile {
    guard let first = changes.first, let last = changes.last else {
      throw HostileError("a file without changes")
    }
    let bytes = try Envelope.seal(
      type: .segment, zoneID: zone.bytes, device: device,
      incarnation: first.dot.author.incarnation, epoch: epoch, zone: secret,
      firstSeq: first.dot.sequence, lastSeq: last.dot.sequence,
      chainBefore: first.previousHash, chainAfter: hash(after: last),
      body: ChangeBatch.encode(changes), weight: weight ?? ChangeBatch.weight(of: changes))
    return try file(
      bytes, by: device, first.dot.author.incarnation, first.dot.sequence...last.dot.sequence)
  }

  /// A file that says it is of a suite that nobody knows yet, with noise in it.
  ///
  /// It needs no key at all beyond the names of the zone and the author.
  func sealOfNewerSuite(
    _ noise: [UInt8], by device: DeviceIdentity, incarnation: UInt64, first: UInt64,
    chain: (before: [UInt8], after: [UInt8])
  ) throws -> HostileFile {
    var bytes = try Envelope.seal(
      type: .segment, zoneID: zone.bytes, device: device, incarnation: incarnation, epoch: epoch,
      zone: secret, firstSeq: first, lastSeq: first, chainBefore: chain.before,
      chainAfter: chain.after, body: noise)
    bytes[ZonePen.suiteOffset] = EnvelopeFormat.suite + 1
    return try file(bytes, by: device, incarnation, first...first)
  }

  /// Where the suite stands in an envelope.
  private static var suiteOffset: Int { 4 }

  private func file(
    _ bytes: [UInt8], by device: DeviceIdentity, _ incarnation: UInt64,
    _ range: ClosedRange<UInt64>
  ) throws -> HostileFile {
    let author = try secret.authorTag(deviceID: device.publicKeys.deviceID)
    guard let authorTag = Identifier(bytes: author.array) else {
      throw HostileError("an author's tag has the wrong length")
    }
    return HostileFile(
      name: SegmentName(
        zoneTag: tag, authorTag: authorTag, incarnation: incarnation, first: range.lowerBound,
        last: range.upperBound, digest: segmentDigest(bytes)), bytes: bytes)
  }
}
