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
      control: control, base: logs.base(of:holding:), log: logs.log(of:at:),
      controlLog: controlLogs.log(of:at:),
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
    for claim in claims {
      // A zone that is built anew meets again what it had held back before.
      let author = "\(claim.author.device.hex).\(claim.author.incarnation)"
      let fact = "claim.\(zone.id.hex).\(author).\(claim.sequence)"
      guard try store.fact(fact) == nil else { continue }
      try store.setFact(fact, Engine.bytes(of: nowMilliseconds))
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
  package func falseClaims(in id: ZoneID) throws -> [FalseClaim] { try claims(in: zone(id)) }

  /// For what logs of a zone are held back, by evidence that is here or by the snapshot that the
  /// zone began from, in order of author.
  func claims(in zone: ZoneState) throws -> [FalseClaim] {
    let waiting = FalseClaim.claims(in: try store.pendingEntries(in: zone.id))
    return FalseClaim.earliest(waiting, try baseClaims(of: zone)).values
      .sorted { $0.author < $1.author }
  }

  // MARK: What the snapshot says

  private static func baseClaimsFact(_ zone: ZoneID) -> String { "base-claims.\(zone.hex)" }

  /// For what logs were held back in the snapshot that a zone began from.
  ///
  /// The claim itself cites what lies below the snapshot, which nobody can compare who began there.
  /// One that cites a log beyond its proven end is none: more than one history is shown of that.
  func baseClaims(of zone: ZoneState) throws -> [Author: FalseClaim] {
    guard let bytes = try store.fact(Engine.baseClaimsFact(zone.id)) else { return [:] }
    var reader = ByteReader(bytes)
    var claims: [Author: FalseClaim] = [:]
    for _ in 0..<(try reader.count("claims", itemBytes: 51, atMost: Limits.maximumAuthors)) {
      let claim = try reader.claim()
      let cited = claim.isControl ? try controlZone(of: zone.group) : zone
      guard claim.cited.sequence < cited.forkEnds[claim.cited.author] ?? .max else { continue }
      claims[claim.author] = claim
    }
    try reader.finish()
    return claims
  }

  func save(baseClaims claims: [FalseClaim], of zone: ZoneID) throws {
    var writer = ByteWriter()
    writer.varint(claims.count)
    for claim in claims { writer.claim(claim) }
    let fact = claims.isEmpty ? nil : writer.bytes
    guard try store.fact(Engine.baseClaimsFact(zone)) != fact else { return }
    try store.setFact(Engine.baseClaimsFact(zone), fact)
  }

  // MARK: What others may judge otherwise

  private static func uncertainFact(_ zone: ZoneID) -> String { "uncertain.\(zone.hex)" }

  /// The first change of each log of a zone that was judged without what it cites.
  package func uncertainChanges(in zone: ZoneID) throws -> [Author: UInt64] {
    guard let bytes = try store.fact(Engine.uncertainFact(zone)) else { return [:] }
    var reader = ByteReader(bytes)
    let noted = try reader.frontier("uncertain changes")
    try reader.finish()
    return Dictionary(uniqueKeysWithValues: noted.entries.map { ($0.author, $0.sequence) })
  }

  func save(uncertain: [Author: UInt64], of zone: ZoneID) throws {
    var writer = ByteWriter()
    writer.frontier(Frontier(uncertain.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    let fact = uncertain.isEmpty ? nil : writer.bytes
    guard try store.fact(Engine.uncertainFact(zone)) != fact else { return }
    try store.setFact(Engine.uncertainFact(zone), fact)
  }
}
