import HearthCRDT
import HearthCrypto
import HearthMembership

/// Attestation of what other people's snapshots say.
///
/// Decision 0065 explains the reasons.
enum Attestation {
  /// Attests what a zone holds here if another person's snapshot ends at the same point.
  ///
  /// The device does so without being asked, once for each point, by a small operation in the
  /// control log. Only a device with the changes themselves attests: a device that began from a
  /// snapshot knows no more than the snapshot's maker said. The cost is one digest of the zone for
  /// each such snapshot.
  ///
  /// - Returns: The problems with snapshots that say something else.
  static func attest(
    _ id: ZoneID, beside known: [KnownSnapshot], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> [TransportProblem] {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    guard let own = membership.person(of: engine.device) else { return [] }
    let mark = SnapshotMark.mark(of: zone.heads, try FalseClaims(engine: engine).heldBack(in: zone))
    let others = known.filter { !$0.frontier.isEmpty && $0.mark == mark }
      .map {
        (
          place: SnapshotPlan.place(of: $0.group),
          word: SnapshotWords.word(of: $0, in: zone, by: engine)
        )
      }
      .filter { $0.word.person != own.id }
    guard !others.isEmpty, let current = zone.currentEpoch,
      try engine.store.snapshots.base(of: id) == nil
    else { return [] }
    let digest = try checkedDigest(of: zone, at: mark, under: Identifier(current.tag), in: engine)
    let attest = ControlOperation.ZoneDigest(zone: id, mark: mark, digest: digest)
    if !membership.hasAttested(engine.device, attest) {
      Probe.snapshotAttested.hit()
      _ = try GroupOperations.perform(
        [.snapshotAttest(attest)], in: zone.group, by: &engine, nowMilliseconds: nowMilliseconds)
    }
    return try others.compactMap { place, word in
      guard try AttestationCheck(engine: engine).isRefuted(word, in: zone) else { return nil }
      let maker = try AttestationCheck(engine: engine).nameOfMaker(word, in: zone)
      return TransportProblem(
        place: place,
        fault: "\(maker) made this snapshot, but it does not match the changes that it sums up",
        remedy: "tell the household's owner: a device that begins from it shows wrong records",
        hidesData: false)
    }
  }

  /// The digest of a zone at a point, computed once for each point and epoch.
  private static func checkedDigest(
    of zone: ZoneState, at mark: Identifier, under epoch: Identifier, in engine: Engine<some Store>
  ) throws -> [UInt8] {
    let name = StateDigest.checkedDigestFact(of: zone.id)
    let key = mark.bytes + epoch.bytes
    if let fact = try engine.store.facts.value(of: name), fact.starts(with: key),
      fact.count == key.count + ControlOperation.ZoneDigest.digestBytes
    {
      return Array(fact.dropFirst(key.count))
    }
    let digest = try engine.digest(of: zone.id)
    try engine.store.transaction { try engine.store.facts.set(name, to: key + digest) }
    return digest
  }
}
