import HearthCRDT
import HearthCrypto
import HearthMembership

/// Another device that has the same changes and reports other records.
package struct StateDifference: Equatable, Sendable {
  package let zone: ZoneID
  package let device: DeviceID
  /// Device and person in words.
  package let name: String
}

/// Comparison of what devices with the same changes hold.
///
/// Devices state what they hold at a point, and every device at the same point compares. Decision
/// 0064 explains the reasons.
package enum ComparedState {
  /// Compares what a zone holds here with the statements of others, repairs wrong records here, and
  /// states what the zone holds when that is due.
  ///
  /// - Parameter isComplete: Whether every transport was read without failure.
  static func compareState(
    of id: ZoneID, isComplete: Bool, in engine: inout Engine<some Store>,
    nowMilliseconds now: UInt64
  ) throws {
    let zone = try engine.zone(id)
    guard zone.kind == .data else { return }
    let before = try ComparisonMemory.comparison(of: id, in: engine.store)
    var known = before
    // The first look is a week away, because the records were computed when they arrived.
    if known.lookedMilliseconds == 0 { known.lookedMilliseconds = now }
    let said = engine.membership(of: zone.group).zoneStatements(of: id).filter {
      $0.device != engine.device
    }
    let news = said.filter { known.peer($0.device)?.statement != $0.id }
    let isDue =
      isComplete
      && ComparisonIntervals.hasPassed(
        ComparisonIntervals.comparisonMilliseconds, known.lookedMilliseconds, now)
    if isDue || !news.isEmpty, let mark = try comparisonMark(of: zone, in: engine) {
      let isAsked = news.contains { $0.content.mark == mark }
      if isDue || isAsked { try look(at: id, mark, isDue: isDue, now, &known, in: &engine) }
      for statement in news { try compare(statement, at: mark, now, &known, in: &engine) }
      try tell(id, at: mark, besides: said, isDue: isDue, now, &known, in: &engine)
    }
    guard known != before else { return }
    let membership = engine.membership(of: zone.group)
    known.keep { membership.isActive($0) }
    try engine.store.transaction {
      try engine.store.facts.set(ComparisonMemory.comparisonFact(id), to: known)
    }
  }

  /// The devices that have the same changes of a zone and report other records, in order.
  package static func stateDifferences(in id: ZoneID, by engine: Engine<some Store>) throws
    -> [StateDifference]
  {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    return try ComparisonMemory.comparison(of: id, in: engine.store).peers.filter {
      $0.differs && membership.isActive($0.device)
    }
    .map {
      StateDifference(
        zone: id, device: $0.device,
        name: DeviceNames(engine: engine).nameWithPerson($0.device, in: zone))
    }
  }

  // MARK: What is compared

  /// A mark of everything that decides what a zone holds: the changes here, the operations that
  /// decide which of them count, and the program's schema.
  ///
  /// The result is nil if devices may hold different records in spite of equal marks. That is so if
  /// a log of the control zone has two histories. It is also so if this device began from a
  /// snapshot and something before it was made void, because the snapshot's maker may have known
  /// less.
  static func comparisonMark(of zone: ZoneState, in engine: Engine<some Store>) throws
    -> Identifier?
  {
    guard !zone.frontier.isEmpty,
      let operations = engine.membership(of: zone.group).decidingOperations(withContents: false),
      try !zone.isAnythingVoid(
        through: zone.heads, in: engine.membership(of: zone.group))
        || engine.store.snapshots.base(of: zone.id) == nil
    else { return nil }
    var writer = ByteWriter(capacity: operations.count + 64)
    writer.identifier(zone.id)
    writer.identifier(
      SnapshotMark.mark(of: zone.heads, try FalseClaims(engine: engine).heldBack(in: zone)))
    writer.varint(UInt64(engine.schemaVersion))
    writer.raw(operations)
    return derivedIdentifier("HRTH/compared-point/v1", writer.bytes)
  }

  /// The digest of what a zone holds and of what decides about it; nil if it cannot be read.
  private static func comparedDigest(of id: ZoneID, in engine: Engine<some Store>) throws
    -> [UInt8]?
  {
    let zone = try engine.zone(id)
    do {
      guard let deciding = engine.membership(of: zone.group).decidingOperations(withContents: true)
      else {
        return nil
      }
      var hasher = Blake2b.Hasher(count: ControlOperation.ZoneDigest.digestBytes)
      hasher.update(Array("HRTH/compared/v1".utf8))
      hasher.update(try engine.digest(of: id))
      hasher.update(deciding)
      return hasher.finalize()
    } catch is CodecError {
      return nil
    } catch let error as any StoredDamage where error.isDamage {
      return nil
    }
  }

  // MARK: Looking

  /// Computes what a zone holds, and repairs records that changed although no change arrived.
  private static func look(
    at id: ZoneID, _ mark: Identifier, isDue: Bool, _ now: UInt64, _ known: inout StateComparison,
    in engine: inout Engine<some Store>
  ) throws {
    let last = known.looks.last?.milliseconds
    guard
      isDue
        || last.map({ ComparisonIntervals.hasPassed(ComparisonIntervals.lookMilliseconds, $0, now) }
        ) ?? true
    else { return }
    if isDue { known.lookedMilliseconds = now }
    let kept = known.digest(at: mark)
    var digest = try comparedDigest(of: id, in: engine)
    if digest == nil || kept.map({ $0 != digest }) ?? false {
      let isRebuilt = try rebuildRecords(around: id, in: &engine, nowMilliseconds: now)
      digest = isRebuilt ? try comparedDigest(of: id, in: engine) : digest
      let zone = try engine.zone(id)
      try note(
        isRebuilt && digest != nil
          ? "the records of \(zone.name) on this device had changed although no change arrived, as "
            + "on a failing disk: they were rebuilt from the log; run `hearth verify`"
          : "the records of \(zone.name) on this device have changed although no change arrived, "
            + "and cannot be rebuilt: run `hearth verify`",
        about: engine.device, in: zone, now, with: engine.store)
    }
    if let digest { known.note(.init(mark: mark, digest: digest, milliseconds: now)) }
  }

  /// Compares one statement with what this device held at its point.
  private static func compare(
    _ statement: ZoneStatement, at mark: Identifier, _ now: UInt64, _ known: inout StateComparison,
    in engine: inout Engine<some Store>
  ) throws {
    let content = statement.content
    guard var own = known.digest(at: content.mark) else { return }
    Probe.stateCompared.hit()
    var peer =
      known.peer(statement.device)
      ?? StateComparison.Peer(device: statement.device, statement: statement.id)
    peer.statement = statement.id
    defer { known.set(peer) }
    peer.differs = own != content.digest
    guard peer.differs else { return }
    let zone = try engine.zone(content.zone)
    let name = DeviceNames(engine: engine).nameWithPerson(statement.device, in: zone)
    var isRebuilt = false
    // Wrong statements make this device work at most once a week.
    if content.mark == mark,
      ComparisonIntervals.hasPassed(
        ComparisonIntervals.comparisonMilliseconds, known.rebuiltMilliseconds, now)
    {
      known.rebuiltMilliseconds = now
      isRebuilt = try rebuildRecords(around: content.zone, in: &engine, nowMilliseconds: now)
      if isRebuilt, let digest = try comparedDigest(of: content.zone, in: engine), digest != own {
        own = digest
        known.note(.init(mark: mark, digest: digest, milliseconds: now))
        peer.differs = own != content.digest
        try note(
          "the records of \(zone.name) on this device did not match its log, and differed from "
            + "those of \(name), which has the same changes: they were rebuilt"
            + (peer.differs ? "" : ", and match now"),
          about: statement.device, in: zone, now, with: engine.store)
      }
    }
    guard peer.differs else { return }
    known.isOwed = true
    guard
      ComparisonIntervals.hasPassed(
        ComparisonIntervals.comparisonMilliseconds, peer.toldMilliseconds, now)
    else {
      return
    }
    peer.toldMilliseconds = now
    try note(
      words(ofDifferenceFrom: name, in: zone, isRebuilt: isRebuilt), about: statement.device,
      in: zone, now, with: engine.store)
  }

  private static func words(
    ofDifferenceFrom name: String, in zone: ZoneState, isRebuilt: Bool
  ) -> String {
    "\(name) has the same changes of \(zone.name) as this device but reports other records: "
      + (isRebuilt
        ? "the records here match the log, so its records are damaged or its program differs"
        : "run `hearth verify` on both")
      + "; compare with `hearth digest`"
  }

  private static func note(
    _ text: String, about device: DeviceID, in zone: ZoneState, _ now: UInt64,
    with store: some Store
  ) throws {
    try store.transaction {
      try store.notices.add(
        Notice(kind: .difference, zone: zone.id, device: device, text: text, milliseconds: now))
    }
  }

  /// Rebuilds the records of the control log and of a zone, and returns whether that was possible.
  ///
  /// The log decides: if it is damaged, everything stays unchanged. The rebuild itself makes a
  /// comparison due; that is discarded, because the caller compares and saves the result.
  private static func rebuildRecords(
    around id: ZoneID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> Bool {
    let before = engine
    do {
      try engine.store.transaction {
        for zone in [try engine.controlZone(of: try engine.zone(id).group).id, id] {
          try Rebuild.rebuild(zone, in: &engine, nowMilliseconds: nowMilliseconds)
        }
      }
      return true
    } catch {
      engine = before
      let isDamage =
        (error as? any StoredDamage)?.isDamage ?? (error is SyncError || error is CodecError)
      guard isDamage else { throw error }
      return false
    }
  }

  // MARK: Telling

  /// States to the others what a zone holds here.
  ///
  /// A statement is due from time to time if nobody made one yet, after an event that may have made
  /// devices differ, and where a statement of this device or of another differs.
  private static func tell(
    _ id: ZoneID, at mark: Identifier, besides said: [ZoneStatement], isDue: Bool, _ now: UInt64,
    _ known: inout StateComparison, in engine: inout Engine<some Store>
  ) throws {
    let group = try engine.zone(id).group
    // In a group of one device, nobody would compare the statement.
    guard engine.membership(of: group).devices.count > 1, let digest = known.digest(at: mark) else {
      return
    }
    let isSaid = said.contains { $0.content.mark == mark && $0.content.digest == digest }
    let interval =
      known.isOwed
      ? ComparisonIntervals.comparisonMilliseconds
      : ComparisonIntervals.statementInterval(people: engine.membership(of: group).people.count)
    if let stated = known.stated, stated.mark == mark {
      guard stated.digest != digest else { return }
    } else if isSaid {
      // The author of that statement has already made every other device compare.
      known.isOwed = false
      return
    } else {
      let last = known.stated?.milliseconds
      guard known.isOwed || isDue,
        last.map({ ComparisonIntervals.hasPassed(interval, $0, now) }) ?? true
      else { return }
    }
    Probe.stateTold.hit()
    let statement = ControlOperation.ZoneDigest(zone: id, mark: mark, digest: digest)
    _ = try GroupOperations.perform(
      [.zoneDigest(statement)], in: group, by: &engine, nowMilliseconds: now)
    known.stated = .init(mark: mark, digest: digest, milliseconds: now)
    known.isOwed = false
  }
}
