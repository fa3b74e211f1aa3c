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
    ) { [self] in
      guard
        let start = try store.baseSnapshot(of: zone.id, atMost: ExcerptMemory.baseStartBytes)
      else { return [] }
      return try excerpts.heads(ofBaseOf: zone.id, beginning: start) { try baseHeads(of: zone) }
    }
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
      case .summedUp:
        "the snapshot that \(zone.name) began from says that it cites what \(name) cannot have seen"
      }
    return "\(name) published a change (\(claim.author)#\(claim.sequence)) that no honest program "
      + "writes: \(what). It and what \(name) writes after it in this life is held back; all "
      + "others' changes count"
  }

  /// The changes of a zone that are held back for what they cite, by author.
  ///
  /// By evidence that is here, or by the snapshot that the zone began from.
  package func falseClaims(in id: ZoneID) throws -> [FalseClaim] {
    let waiting = FalseClaim.claims(in: try store.pendingEntries(in: id))
    return FalseClaim.earliest(waiting, try baseClaims(of: id)).values
      .sorted { $0.author < $1.author }
  }

  /// The changes that are held back, as everybody has them who holds the same: where two histories
  /// end a log before, that counts.
  func heldBack(in zone: ZoneState) throws -> [Dot] {
    try falseClaims(in: zone.id)
      .filter { $0.sequence < zone.forkEnds[$0.author] ?? .max }
      .map { Dot(author: $0.author, sequence: $0.sequence) }
  }

  // MARK: What the snapshot says

  private static func baseClaimsFact(_ zone: ZoneID) -> String { "base-claims.\(zone.hex)" }

  /// For what logs were held back in the snapshot that a zone began from: the claims cite what lies
  /// below it, which nobody can compare who began there.
  func baseClaims(of zone: ZoneID) throws -> [Author: FalseClaim] {
    guard let bytes = try store.fact(Engine.baseClaimsFact(zone)) else { return [:] }
    var reader = ByteReader(bytes)
    let heldBack = try reader.frontier("changes held back")
    try reader.finish()
    return Dictionary(
      uniqueKeysWithValues: heldBack.entries.map {
        ($0.author, FalseClaim(summedUp: Dot(author: $0.author, sequence: $0.sequence)))
      })
  }

  func save(heldBack changes: [Dot], ofBaseOf zone: ZoneID) throws {
    var writer = ByteWriter()
    writer.frontier(Frontier(changes.map { ($0.author, $0.sequence) }))
    let fact = changes.isEmpty ? nil : writer.bytes
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
