import HearthCRDT
import HearthMembership

// Changes that cite what their authors cannot have seen: held back, kept as evidence, told.
extension Engine {
  /// Which authors have a place in a zone.
  func room(of zone: ZoneState) -> AuthorRoom {
    AuthorRoom(
      membership(of: zone.group),
      control: zone.kind == .control ? nil : try? controlZone(of: zone.group))
  }

  /// Where the citations of a zone of records are looked up; nil for a control zone.
  func evidence(for zone: ZoneState) throws -> CitedEvidence? {
    guard zone.kind == .data else { return nil }
    let control = try controlZone(of: zone.group)
    let logs = citedLogs(of: zone)
    let controlLogs = citedLogs(of: control)
    return CitedEvidence(
      control: control, log: logs.log(of:at:), controlLog: controlLogs.log(of:at:),
      memory: excerpts)
  }

  private func citedLogs(of zone: ZoneState) -> CitedLogs<S> {
    CitedLogs(
      zone, store: store,
      opener: SegmentOpener(zone: zone, membership: membership(of: zone.group)), device: device,
      memory: excerpts
    ) { [self] in try baseHeads(of: zone) }
  }

  /// Tells once of each change that is held back for what it cites.
  func noteFalseClaims(
    _ claims: [FalseClaim], in zone: ZoneState, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    report.falseClaims += claims
    // A zone that is built anew meets again what it had held back before.
    let told = Set(
      try store.pendingEntries(in: zone.id).filter { $0.reason == .falseClaim }
        .compactMap { $0.author(in: zone) })
    for claim in claims where !told.contains(claim.author) {
      try store.add(
        Notice(
          kind: .falseClaim, zone: zone.id, device: claim.author.device,
          text: words(for: claim, in: zone), milliseconds: nowMilliseconds))
    }
  }

  /// A false claim in words, with who made it and what follows.
  package func words(for claim: FalseClaim, in zone: ZoneState) -> String {
    let name = deviceName(claim.author.device, in: zone)
    let cited = deviceName(claim.cited.author.device, in: zone)
    let what =
      switch claim.kind {
      case .content:
        "it cites a change of \(cited) (\(claim.cited)) that \(cited) did not write so"
      case .past:
        "it cites a change that had seen \(claim.cited) of \(cited), and does not own to have seen "
          + "that"
      }
    return "\(name) published a change (\(claim.author)#\(claim.sequence)) that no honest program "
      + "writes: \(what). It and what \(name) writes after it in this life is held back; all "
      + "others' changes count"
  }

  /// The changes of a zone that are held back for what they cite, by author.
  ///
  /// Judges again what waits for that reason. The cost follows those segments.
  package func falseClaims(in id: ZoneID) throws -> [FalseClaim] {
    let zone = try zone(id)
    let entries = try store.pendingEntries(in: id).filter { $0.reason == .falseClaim }
    guard !entries.isEmpty, let evidence = try evidence(for: zone) else { return [] }
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    let opened = try entries.compactMap { entry -> OpenedSegment? in
      guard let bytes = try store.bytes(ofPending: entry.digest, in: id),
        case .opened(let segment)? = try? opener.open(bytes, digest: entry.digest)
      else { return nil }
      return segment
    }
    var draft = zone
    var queue = CausalQueue(
      opened, control: evidence.control.reached, room: room(of: zone), evidence: evidence)
    try queue.run(on: &draft)
    return queue.falseClaims
  }
}
