import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync

/// Files that somebody puts into a folder to do harm: under a plausible name, with the digest that
/// the name says, and never taken away again.
extension World {
  /// `forge body|signature|cut|noise|chain|trailing`: into the device's copy of the folder, beside
  /// the next segment that arrives there or, for the last two, under a member's own keys.
  func forge(_ step: Step, on device: SimDevice) throws {
    var chance = Chance(plan.seed, domain: "forge", UInt64(device.index), now)
    let kind = step.words.first ?? "body"
    if kind == "chain" || kind == "trailing" {
      return try forgeAsMember(kind, for: device, &chance)
    }
    ambushes[device.index] = kind
  }

  /// A segment is about to reach a device for which a forged twin lies ready.
  func ambush(_ name: SegmentName, _ device: SimDevice) {
    guard let kind = ambushes.removeValue(forKey: device.index) else { return }
    var chance = Chance(plan.seed, domain: "ambush", UInt64(device.index), now)
    guard var bytes = archive[.segment(name)] else { return }
    let signature = bytes.count - 64
    switch kind {
    case "signature":
      // Of two files that say the same the first in order is looked at.
      let good = bytes
      for _ in 0..<6 where bytes == good || segmentDigest(bytes) > name.digest {
        bytes = good
        bytes[signature + chance.below(64)] ^= UInt8(1 << chance.below(8))
      }
    case "cut": bytes = Array(bytes.prefix(chance.below(bytes.count)))
    case "noise": bytes = bytes.map { _ in UInt8(chance.below(256)) }
    default:
      let body = Envelope.headerBytes
      bytes[body + chance.below(signature - body)] ^= UInt8(1 << chance.below(8))
    }
    plant(bytes, like: name, on: device)
  }

  private func plant(_ bytes: [UInt8], like name: SegmentName, on device: SimDevice) {
    let forged = SegmentName(
      zoneTag: name.zoneTag, authorTag: name.authorTag, incarnation: name.incarnation,
      first: name.first, last: name.last, digest: segmentDigest(bytes))
    guard archive[.segment(forged)] == nil else { return }
    SimProbe.fileForged.hit()
    device.folder.put(.segment(forged), bytes)
  }

  /// A member's own keys, and bytes that no honest program makes.
  private func forgeAsMember(
    _ kind: String, for device: SimDevice, _ chance: inout Chance
  ) throws {
    let others = devices.filter { $0.index != device.index && $0.running != nil && $0.home != nil }
    guard !others.isEmpty, let home = device.home else { return }
    let rogue = others[chance.below(others.count)]
    let engine = try rogue.engine()
    let zone = try engine.zone(home)
    let head = zone.head(of: engine.author)
    guard head.sequence > 0, let stored = try engine.store.zones().first(where: { $0.id == home }),
      let wrapped = stored.wrappedEpochs.last
    else { return }
    let secret = try ZoneSecret.recovered(
      stored.wrappedSecret, by: rogue.identity, zoneID: home.bytes)
    let epoch = try EpochKey.recovered(
      wrapped, by: rogue.identity, groupID: stored.group.bytes, zoneID: home.bytes)
    let change = Change(
      dot: Dot(author: engine.author, sequence: head.sequence + 1), previousHash: head.hash,
      seen: .none, controlSeen: .none, time: head.time, schemaVersion: 1,
      operations: [Operation(Tally.key("k0", in: home), .count(Tally.total, 1_000))])
    var writer = ByteWriter()
    change.encode(into: &writer)
    let after = writer.bytes.withUnsafeBytes { secret.chainHash(of: $0) }
    rogue.takeTurn()
    let bytes = try Envelope.seal(
      type: .segment, zoneID: home.bytes, device: rogue.identity,
      incarnation: engine.author.incarnation, epoch: epoch, zone: secret,
      firstSeq: head.sequence + 1, lastSeq: head.sequence + 1, chainBefore: head.hash,
      chainAfter: kind == "chain" ? [UInt8](repeating: 7, count: 32) : after,
      body: ChangeBatch.encode([change]) + (kind == "trailing" ? [0] : []))
    let name = SegmentName(
      zoneTag: zone.tag, authorTag: zone.authorTag(of: engine.device),
      incarnation: engine.author.incarnation, first: head.sequence + 1, last: head.sequence + 1,
      digest: segmentDigest(bytes))
    plant(bytes, like: name, on: device)
  }
}
