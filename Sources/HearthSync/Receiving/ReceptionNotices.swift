import HearthCRDT
import HearthCrypto
import HearthMembership

/// Notices about what was received, and the evidence kept with them.
struct ReceptionNotices<S: Store> {
  let engine: Engine<S>

  /// Adds one notice per change that is held back for its citations.
  func noteFalseClaims(
    _ claims: [FalseClaim], in zone: ZoneState, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    report.falseClaims += claims
    for claim in claims {
      // A rebuilt zone finds earlier held-back changes again.
      let author = "\(claim.author.device.hex).\(claim.author.incarnation)"
      let fact = Fact(number: "claim.\(zone.id.hex).\(author).\(claim.sequence)").asCache
      guard try !engine.store.facts.has(fact) else { continue }
      try engine.store.facts.set(fact, to: nowMilliseconds)
      try ComparisonMemory.compareSoon(zone, in: engine.store, nowMilliseconds: nowMilliseconds)
      try engine.store.notices.add(
        Notice(
          kind: .falseClaim, zone: zone.id, device: claim.author.device,
          text: FalseClaims(engine: engine).words(for: claim, in: zone),
          milliseconds: nowMilliseconds))
    }
  }

  /// Reports unusable segments of known authors, and adds one notice per author.
  func refuse(
    _ refused: [Intake.Refused], in zone: ZoneState, _ room: AuthorRoom,
    nowMilliseconds: UInt64, _ report: inout ReceiveReport
  ) throws {
    for segment in refused {
      report.noted.append(Refusals.Refused(digest: segment.digest, kind: segment.kind))
      let isOver =
        zone.kind != .control
        && engine.membership(of: zone.group).keys.isKnownOver(segment.epoch, of: zone.id)
      let isMember = engine.membership(of: zone.group).device(segment.author.device) != nil
      if segment.kind == .members, !isOver, !isMember {
        let text = try LimitNotices.noteArrivals(
          of: room.sponsor(of: segment.author.device), in: zone, by: engine,
          nowMilliseconds: nowMilliseconds)
        report.refused.append((segment.digest, text))
        continue
      }
      let name = DeviceNames(engine: engine).name(segment.author.device, in: zone)
      let reason =
        isOver
        ? "\(name) encrypted this with a key that a removed member still has, although it had seen "
          + "the removal"
        : room.admits(segment.author, in: zone)
          ? "\(name) claims to have seen changes that cannot exist, or does not cite the start of "
            + "this incarnation in the members' log"
          : "the devices of \(name)'s owner have more than \(Limits.maximumLives) incarnations, or "
            + "the zone has more than \(Limits.maximumAuthors) authors: ask for the removal of "
            + "that person, who can join again"
      report.refused.append((segment.digest, reason))
      // The author may not have known that the key was over, and may be one of many innocent ones.
      guard !isOver else { continue }
      try LimitNotices.noteLimit(
        of: segment.author.device, in: zone, as: "refused",
        "publishes files that can never be used: \(reason)", by: engine,
        nowMilliseconds: nowMilliseconds)
    }
  }

  /// Adds one notice per device whose clock is further ahead than this device accepts.
  func noteClocks(
    _ leads: [DeviceID: UInt64], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws {
    // A device that joins by these very changes is reported with its next ones, when its name is
    // known.
    let membership = engine.membership(of: zone.group)
    for device in leads.keys.sorted() where device != engine.device {
      let fact = Fact(number: "clock." + device.hex).asCache
      guard let lead = leads[device], membership.device(device) != nil,
        try !engine.store.facts.has(fact)
      else { continue }
      Probe.clockNoticed.hit()
      try engine.store.facts.set(fact, to: nowMilliseconds)
      let name = DeviceNames(engine: engine).name(device, in: zone)
      let minutes = (lead + HybridClock.maximumLeadMilliseconds) / 60_000
      try engine.store.notices.add(
        Notice(
          kind: .clock, zone: zone.id, device: device,
          text:
            "the clock of \(name) is \(minutes) minutes ahead of this device's: set the date and "
            + "time on both; its changes still count",
          milliseconds: nowMilliseconds))
    }
  }

  /// Keeps the contradicting segments of forks as evidence, and adds a notice about each fork.
  func noteForks(
    _ forks: [CausalQueue.Fork], in zone: ZoneState, nowMilliseconds: UInt64,
    _ intake: inout Intake, _ report: inout ReceiveReport
  ) throws {
    if !forks.isEmpty {
      try ComparisonMemory.compareSoon(zone, in: engine.store, nowMilliseconds: nowMilliseconds)
    }
    for fork in forks {
      report.forks.append(Dot(author: fork.author, sequence: fork.sequence))
      if fork.isDouble, zone.kind == .control {
        report.contradicted.append(Dot(author: fork.author, sequence: fork.sequence))
      } else if fork.isDouble,
        let evidence = try ForkDetection(engine: engine).evidence(of: fork, in: zone)
      {
        report.evidence.append(evidence)
      }
      // The contradicting segment is kept as evidence, beside the applied one.
      let head = zone.head(of: fork.author)
      let isPartlyApplied =
        fork.segment.first <= head.sequence && fork.segment.agrees(with: head)
      let evidence = PendingSegment(
        digest: fork.segment.digest, reason: .quarantine,
        wait: PendingWait(isPartlyApplied: isPartlyApplied), bytes: fork.segment.bytes)
      try engine.store.pending.save(evidence, in: zone.id)
      intake.waitsStored(evidence, in: zone)
      let name = DeviceNames(engine: engine).name(fork.author.device, in: zone)
      try engine.store.notices.add(
        Notice(
          kind: .fork, zone: zone.id, device: fork.author.device,
          text: (fork.isDouble
            ? "\(name) published two different histories with the same number"
            : "\(name) published an impossible change")
            + " (\(fork.author) #\(fork.sequence)): "
            + (fork.isDouble && zone.kind == .control
              ? "the members see both, and both count"
              : "its later changes are quarantined"),
          milliseconds: nowMilliseconds))
    }
  }
}
