import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import SimDisk

/// Files that somebody puts into a folder to do harm: under a plausible name, with the digest that
/// the name says, and never taken away again.
extension World {
  /// `forge KIND [by=WHO]`: into the device's copy of the folder.
  ///
  /// `body`, `signature`, `cut` and `noise` come beside the next segment that arrives there; the
  /// others are under a member's own keys, and lie there at once.
  func forge(_ step: Step, on device: SimDevice) throws {
    var chance = Chance(plan.seed, domain: "forge", UInt64(device.index), now)
    let kind = step.words.first ?? "body"
    if let forgery = Forgery(rawValue: kind) {
      let named = step.value("by").flatMap { self.device(named: $0) }
      let others = devices.filter {
        $0.index != device.index && $0.running != nil && $0.home != nil
      }
      guard let rogue = named ?? (others.isEmpty ? nil : others[chance.below(others.count)]) else {
        return
      }
      if forgery == .snapshot { return try poison(by: rogue, for: device) }
      for number in 0..<(forgery == .flood ? 200 : 1) {
        try forge(forgery, UInt64(number), as: rogue, for: device, &chance)
      }
      return
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
      let body = EnvelopeFormat.headerBytes
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
    self.forged.insert(forged.digest)
    device.folder.put(.segment(forged), bytes)
  }

  /// Bytes that no honest program makes, behind the keys and signature of a member.
  private func forge(
    _ kind: Forgery, _ number: UInt64, as rogue: SimDevice, for device: SimDevice,
    _ chance: inout Chance
  ) throws {
    guard let home = rogue.home else { return }
    let engine = try rogue.engine()
    let zone = try engine.zone(home)
    let head = zone.head(of: engine.author)
    guard head.sequence > 0,
      let stored = try engine.store.zones.all().first(where: { $0.id == home }),
      let wrapped = stored.wrappedEpochs.last
    else { return }
    let secret = try ZoneSecret.recovered(
      stored.wrappedSecret, by: rogue.identity, zoneID: home.bytes)
    let epoch = try EpochKey.recovered(
      wrapped, by: rogue.identity, groupID: stored.group.bytes, zoneID: home.bytes)
    let next = head.sequence + 1 + number
    let change = Change(
      dot: Dot(author: engine.author, sequence: next), previousHash: head.hash,
      seen: .none, controlSeen: .none, time: head.time, schemaVersion: 1,
      operations: [Operation(Tally.key("k0", in: home), .count(Tally.total, 1_000))])
    var writer = ByteWriter()
    change.encode(into: &writer)
    let after = writer.bytes.withUnsafeBytes { secret.chainHash(of: $0) }
    rogue.takeTurn()
    let bytes = try Envelope.seal(
      type: .segment, zoneID: home.bytes, device: rogue.identity,
      incarnation: engine.author.incarnation, epoch: epoch, zone: secret,
      firstSeq: next, lastSeq: next, chainBefore: head.hash,
      chainAfter: kind == .chain ? [UInt8](repeating: 7, count: 32) : after,
      body: kind.body(ChangeBatch.encode([change]), &chance),
      weight: ChangeBatch.weight(of: [change]))
    let name = SegmentName(
      zoneTag: zone.tag, authorTag: zone.authorTag(of: engine.device),
      incarnation: engine.author.incarnation, first: next, last: next,
      digest: segmentDigest(bytes))
    plant(bytes, like: name, on: device)
  }

  /// A snapshot that is sealed and signed as it should be, with one row that nobody wrote; where
  /// its author may sum up for others, it misquotes the end of somebody's log too.
  ///
  /// Made by a copy of the member's device that nobody else ever sees.
  private func poison(by rogue: SimDevice, for device: SimDevice) throws {
    guard let home = rogue.home else { return }
    let isTrusted = try rogue.membership().role(of: rogue.deviceID)?.rank ?? 0 >= Role.admin.rank
    let workshop = SimDevice(
      index: rogue.index, copying: rogue, name: rogue.name,
      disk: rogue.disk.clone(seed: Chance.mix(plan.seed ^ now)))
    workshop.copies = rogue.copies
    try workshop.start(at: now)
    let store = try workshop.engine().store
    let heads = try workshop.engine().zone(home).heads
    let key = Tally.key("k0", in: home)
    guard let head = heads.first(where: { $0.author.device != rogue.deviceID && $0.sequence > 0 })
    else { return }
    try store.transaction {
      var row = try store.records.states(of: [key], in: home)[0] ?? RecordState()
      row.apply(
        .count(Tally.total, 1_000),
        version: Version(dot: Dot(author: head.author, sequence: head.sequence), time: head.time),
        past: Frontier())
      let isNew = try store.records.states(of: [key], in: home)[0] == nil
      try store.records.save([RecordChange(key: key, state: row, isNew: isNew)], in: home)
      if isTrusted {
        var wrong = head
        wrong.hash[0] ^= 1
        try store.zones.save([wrong], of: home)
        isMisquoted = true
      }
    }
    try workshop.close()
    try workshop.start(at: now)
    let engine = try workshop.engine()
    let chunks = try SnapshotMaking.snapshot(of: home, in: engine)
    for (name, chunk) in zip(
      SnapshotPlan.names(of: chunks, zoneTag: try engine.zone(home).tag), chunks)
    {
      device.folder.put(.blob(name), chunk)
    }
    SimProbe.fileForged.hit()
    workshop.drop()
  }
}

/// What a member with its own keys may sign.
private enum Forgery: String {
  /// A chain that does not close, and bytes after the end.
  case chain, trailing
  /// Bytes without a meaning, of this version and of one that nobody knows yet.
  case garbage, newer
  /// More changes, and longer ones, than there are bytes.
  case count, length
  /// Much that packs small.
  case zeros
  /// Many files of nothing.
  case flood
  /// A snapshot.
  case snapshot

  func body(_ good: [UInt8], _ chance: inout Chance) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(ChangeBatch.formatVersion)
    switch self {
    case .chain, .snapshot: return good
    case .trailing: return good + [0]
    case .garbage: return writer.bytes + chance.bytes(chance.within(1...4_096))
    case .newer: return [ChangeBatch.formatVersion + 1] + chance.bytes(chance.within(1...4_096))
    case .flood: return writer.bytes + chance.bytes(8)
    case .count:
      writer.varint(UInt64(1) << 62)
      return writer.bytes + good.dropFirst()
    case .length:
      writer.varint(UInt64(1))
      for _ in 0..<4 { writer.varint(UInt64(1) << 40) }
      return writer.bytes + good.dropFirst()
    case .zeros: return writer.bytes + [UInt8](repeating: 0, count: (1 << 20) - 4_096)
    }
  }
}
