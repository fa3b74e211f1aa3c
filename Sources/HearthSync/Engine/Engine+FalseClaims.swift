import HearthCRDT
import HearthMembership

// Changes that cite what their authors cannot have seen: held back, kept as evidence, reported.
extension Engine {
  /// The authors that a zone admits.
  func room(of zone: ZoneState) throws -> AuthorRoom {
    let control = zone.kind == .control ? nil : try? controlZone(of: zone.group)
    let sponsors = try Sponsors(of: control?.id ?? zone.id, in: store)
    return AuthorRoom(
      membership(of: zone.group), sponsors: sponsors.people, control: control)
  }

  /// The lookup of a data zone's citations; nil for a control zone.
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
        let start = try store.snapshots.base(of: zone.id, atMost: ExcerptMemory.baseStartBytes)
      else { return [] }
      return try excerpts.heads(ofBaseOf: zone.id, beginning: start) { try baseHeads(of: zone) }
    }
  }

  /// Adds one notice per change that is held back for its citations.
  func noteFalseClaims(
    _ claims: [FalseClaim], in zone: ZoneState, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    report.falseClaims += claims
    for claim in claims {
      // A rebuilt zone finds earlier held-back changes again.
      let author = "\(claim.author.device.hex).\(claim.author.incarnation)"
      let fact = "claim.\(zone.id.hex).\(author).\(claim.sequence)"
      guard try store.facts.value(of: fact) == nil else { continue }
      try store.facts.set(fact, to: nowMilliseconds.fixedBytes)
      try compareSoon(zone, nowMilliseconds: nowMilliseconds)
      try store.notices.add(
        Notice(
          kind: .falseClaim, zone: zone.id, device: claim.author.device,
          text: words(for: claim, in: zone), milliseconds: nowMilliseconds))
    }
  }

  /// A false claim in words, with its author and its consequences.
  package func words(for claim: FalseClaim, in zone: ZoneState) -> String {
    let name = deviceName(claim.author.device, in: zone)
    let cited = deviceName(claim.cited.author.device, in: zone)
    let what =
      switch claim.kind {
      case .content:
        "it cites a change of \(cited) (\(claim.cited)) with content that \(cited) did not write"
      case .past:
        "it cites a change that had seen \(claim.cited) of \(cited), but claims not to have seen it"
      case .summedUp:
        "the snapshot that \(zone.name) began from shows that it cites changes that \(name) cannot "
          + "have seen"
      }
    return "\(name) published a change (\(claim.author)#\(claim.sequence)) that no honest program "
      + "writes: \(what). This change and the later ones of this incarnation of \(name) are "
      + "quarantined; all other changes count"
  }

  /// The changes of a zone that are held back for their citations, by author.
  ///
  /// They are known from evidence on this node, or from the zone's base snapshot.
  package func falseClaims(in id: ZoneID) throws -> [FalseClaim] {
    let waiting = FalseClaim.claims(in: try store.pending.entries(in: id))
    return FalseClaim.earliest(waiting, try baseClaims(of: id)).values
      .sorted { $0.author < $1.author }
  }

  /// The held-back changes, equal on all nodes with the same data.
  ///
  /// A fork that ends a log earlier takes precedence.
  func heldBack(in zone: ZoneState) throws -> [Dot] {
    try falseClaims(in: zone.id)
      .filter { $0.sequence < zone.forkEnds[$0.author] ?? .max }
      .map { Dot(author: $0.author, sequence: $0.sequence) }
  }

  // MARK: What others claim of this device

  /// The devices that claim to have seen changes of this incarnation that do not exist, by zone.
  ///
  /// A change with such a citation waits for ever, and nobody but this device can know that. Claims
  /// are pending changes and heartbeats: their authors have signed both.
  package func unwrittenClaims(in group: GroupID) throws -> [UnwrittenClaim] {
    let membership = membership(of: group)
    let own = zones.filter { $0.group == group }
    // Where another copy of this device has written, its log is not known whole here.
    let isWhole = own.allSatisfy {
      $0.forkEnds[author] == nil && $0.head(of: author).forkedAt == nil
    }
    guard membership.isActive(device), isWhole else { return [] }
    var claims: [ZoneID: [DeviceID: UInt64]] = [:]
    func add(_ seen: Frontier, of zone: ZoneState?, by other: DeviceID) {
      guard let zone, other != device, membership.isActive(other) else { return }
      let (claimed, written) = (seen[author], zone.head(of: author).sequence)
      guard claimed > written else { return }
      claims[zone.id, default: [:]][other] = max(
        claims[zone.id]?[other] ?? 0, claimed - written)
    }
    let control = own.first { $0.kind == .control }
    for zone in own {
      for entry in try store.pending.entries(in: zone.id)
      where entry.reason == .cause || entry.reason == .gap {
        guard let other = entry.author(in: zone)?.device else { continue }
        add(entry.wait.seen, of: zone, by: other)
        add(entry.wait.controlSeen, of: control, by: other)
      }
    }
    for other in membership.devices.map(\.id) {
      for said in membership.lastHeard(of: other)?.frontiers ?? [] {
        add(said.frontier, of: own.first { $0.id == said.zone }, by: other)
      }
    }
    return own.map(\.id).flatMap { zone in
      (claims[zone] ?? [:]).sorted { $0.key < $1.key }.map {
        UnwrittenClaim(device: $0.key, zone: zone, count: $0.value)
      }
    }
  }

  /// Adds one notice per device and zone about claims to have seen what this device never wrote.
  func noteUnwrittenClaims(in group: GroupID, nowMilliseconds: UInt64) throws {
    for claim in try unwrittenClaims(in: group) {
      let fact = "unwritten.\(claim.zone.hex).\(claim.device.hex).\(incarnation)"
      guard try store.facts.value(of: fact) == nil else { continue }
      let text = words(for: claim, in: try zone(claim.zone))
      try store.transaction {
        try store.facts.set(fact, to: nowMilliseconds.fixedBytes)
        try store.notices.add(
          Notice(
            kind: .falseClaim, zone: claim.zone, device: claim.device, text: text,
            milliseconds: nowMilliseconds))
      }
    }
  }

  /// A claim to have seen what this device never wrote, in words.
  ///
  /// The words leave room for a device that was put back together with all signs of it: others may
  /// then really have seen more than it knows.
  package func words(for claim: UnwrittenClaim, in zone: ZoneState) -> String {
    let name = nameWithPerson(claim.device, in: zone)
    let changes = claim.count == 1 ? "1 change" : "\(claim.count) changes"
    return "\(name) claims to have seen \(changes) of this device that this device never wrote: no "
      + "honest program does that, unless this device was put back to an older copy unnoticed, or "
      + "a snapshot misled \(name). Changes that rest on this claim wait; all others count"
  }

  // MARK: What the snapshot says

  private static func baseClaimsFact(_ zone: ZoneID) -> String { "base-claims.\(zone.hex)" }

  /// The false claims for which logs were held back in a zone's base snapshot.
  ///
  /// The claims cite changes below the snapshot, which a node that bootstrapped from it cannot
  /// compare.
  func baseClaims(of zone: ZoneID) throws -> [Author: FalseClaim] {
    guard let bytes = try store.facts.value(of: Engine.baseClaimsFact(zone)) else { return [:] }
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
    guard try store.facts.value(of: Engine.baseClaimsFact(zone)) != fact else { return }
    try store.facts.set(Engine.baseClaimsFact(zone), to: fact)
  }

  // MARK: What others may judge otherwise

  private static func uncertainFact(_ zone: ZoneID) -> String { "uncertain.\(zone.hex)" }

  /// The first change of each log of a zone that was judged without the changes it cites.
  package func uncertainChanges(in zone: ZoneID) throws -> [Author: UInt64] {
    guard let bytes = try store.facts.value(of: Engine.uncertainFact(zone)) else { return [:] }
    var reader = ByteReader(bytes)
    let noted = try reader.frontier("uncertain changes")
    try reader.finish()
    return Dictionary(uniqueKeysWithValues: noted.entries.map { ($0.author, $0.sequence) })
  }

  func save(uncertain: [Author: UInt64], of zone: ZoneID) throws {
    var writer = ByteWriter()
    writer.frontier(Frontier(uncertain.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    let fact = uncertain.isEmpty ? nil : writer.bytes
    guard try store.facts.value(of: Engine.uncertainFact(zone)) != fact else { return }
    try store.facts.set(Engine.uncertainFact(zone), to: fact)
  }
}
