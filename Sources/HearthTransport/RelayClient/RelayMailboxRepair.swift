import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// What an owner's or admin's device does about mailboxes at a relay that somebody has damaged.
package struct RelayMailboxRepair<Turns: ReplicaTurns> {
  private let mailboxes: RelayMailboxes<Turns>
  /// The chunks of attachments that records need, of each zone of which that can be said.
  private let needed: [ZoneID: Set<Identifier>]
  /// From so many entries on a mailbox begins anew, as what was cleared keeps its row.
  private let maximumEntries: UInt64

  /// - Parameters:
  ///   - mailboxes: the mailboxes at one relay.
  ///   - needed: the chunks of attachments that records need, of each zone of which that can be
  ///     said. Of the others, those are of no use that nobody needed when this device last looked.
  ///   - maximumEntries: from how many entries on a mailbox begins anew: half of what a relay
  ///     allows, because what is removed one by one takes as many again.
  package init(
    of mailboxes: RelayMailboxes<Turns>, needing needed: [ZoneID: Set<Identifier>] = [:],
    maximumEntries: UInt64 = 400_000
  ) {
    self.mailboxes = mailboxes
    self.needed = needed
    self.maximumEntries = maximumEntries
  }

  private var relay: RelayTransport { mailboxes.relay }

  private var engine: Engine<Turns.Replicas> {
    get throws { try mailboxes.engine }
  }

  /// Puts the mailboxes of a group right at a relay, as an owner's or admin's device.
  ///
  /// - Parameter mayClear: whether all that lies there was read, so that what is not here is of no
  ///   use to anybody.
  /// - Throws: a transport's error.
  package func repair(
    _ group: GroupID, mayClear: Bool
  ) async throws -> RelayRepair {
    let zones = try mailboxZones(of: group)
    relay.client.directory.zones = try mailboxes.accesses()
    var managers: Set<String> = []
    for zone in zones {
      guard let access = relay.client.directory.zones[zone.tag] else { continue }
      do {
        let opening = try await relay.client.open(access)
        if opening.opened.rank == .manager {
          if zone.kind == .control {
            // The next sync lays again what is missing, however often that was done before.
            let watch = HandoffWatch(log: opening.opened.head.generation, at: 0)
            try relay.notes.keep(watch, of: access.mailbox)
          }
          continue
        }
        let list = try mailboxes.list(of: group, relayID: opening.relayID)
        let present = try await relay.rosters.roster(of: access).seats.filter {
          $0.rank == .manager
        }
        let rightful = present.filter { list.managers.contains($0.key) }
        guard !rightful.isEmpty else { return try await move(group, zones) }
        managers.formUnion(rightful.map { list.holder(of: $0.key) })
      } catch let error as TransportError where error.code == .relayRefused {
        return try await move(group, zones)
      }
    }
    guard managers.isEmpty else { return .managedBy(managers.sorted()) }
    guard mayClear else { return .unread }
    var lines: [String] = []
    for zone in zones { lines += try await clear(zone) }
    return .cleared(lines)
  }

  /// The zones of a group that have mailboxes, the control zone first.
  private func mailboxZones(of group: GroupID) throws -> [ZoneState] {
    let engine = try engine
    let control = try engine.controlZone(of: group)
    return [control]
      + engine.zones.filter {
        $0.group == group && $0.kind == .data && ExchangeScope(engine: engine).isExchanged($0)
      }
  }

  /// Makes the mailboxes of a group anew under names that nobody has yet.
  ///
  /// Who stays looks for them when the former ones do not let them in, or are managed by nobody who
  /// may. What lies in them is given anew by everybody who has it. The control zone's comes last:
  /// the others follow it, and must not to where not all could be made.
  ///
  /// - Throws: why the relay lets nothing be made, where that is not that the names are taken.
  private func move(
    _ group: GroupID, _ zones: [ZoneState]
  ) async throws -> RelayRepair {
    var moves = try relay.notes.moves(of: group)
    var noRight: TransportError?
    for number in moves.ahead {
      relay.client.directory.zones = try mailboxes.accesses {
        try $0 == group ? number : relay.notes.moves(of: $0).current
      }
      var areOwn = true
      for zone in zones.reversed() where areOwn {
        guard let access = relay.client.directory.zones[zone.tag] else { continue }
        do {
          areOwn = try await relay.client.open(access).opened.rank == .manager
        } catch let error as TransportError where error.code == .relayRefused {
          if relay.client.lacksRight { noRight = error }
          areOwn = false
        }
      }
      guard areOwn else { continue }
      moves.go(to: number)
      try relay.notes.keep(moves, of: group)
      return .moved
    }
    relay.client.directory.zones = try mailboxes.accesses()
    if let noRight { throw noRight }
    return .noPlace
  }

  // MARK: Clearing

  /// What an author who is no manager stored in a mailbox and nobody can use.
  private struct Junk {
    let holder: String
    let names: [[UInt8]]
    let byteCount: Int
  }

  /// Takes away what members who are no managers, and others, stored in a zone's mailbox and nobody
  /// can use.
  ///
  /// What was not read here stays, and what others may lack whom this device cannot give it. Chunks
  /// of snapshots go, which their makers give again. Where the mailbox is all but full even then,
  /// its log begins anew, if all that is of use in it is here.
  ///
  /// - Returns: what was cleared of whom, in words.
  private func clear(_ zone: ZoneState) async throws -> [String] {
    guard let access = relay.client.directory.zones[zone.tag] else { return [] }
    let opening = try await relay.client.open(access)
    let list = try mailboxes.list(of: zone.group, relayID: opening.relayID)
    let report = try await relay.rosters.roster(of: access)
    let found = try await junk(in: access, zone, report, list)
    let missing = try missing(of: zone, in: access.mailbox)
    // Each removal is an entry of its own: there may be no room for them all.
    let removals = UInt64(found.reduce(0) { $0 + $1.names.count })
    var isFull = report.entries > maximumEntries || report.entries + removals > maximumEntries
    var lines: [String] = []
    if missing > 0 || !isFull {
      // A mailbox that cannot begin anew keeps room for what others store, and for what they lack.
      let limit = maximumEntries / 2 * 3
      let room = missing == 0 ? removals : limit > report.entries ? limit - report.entries : 0
      lines = try await remove(found, of: zone, in: access, atMost: Int(clamping: room))
    }
    let after = try await relay.rosters.roster(of: access)
    isFull = isFull || after.entries > maximumEntries
    guard isFull || after.usedBytes > opening.opened.quotaBytes / 4 * 3 else { return lines }
    guard missing == 0 else {
      return lines + [
        "not the whole mailbox of \(zone.name), although it is almost full: \(missing) files in "
          + "it are not here, and others may need them"
      ]
    }
    try await relay.client.reset(access)
    return lines + ["the whole mailbox of \(zone.name), which starts again"]
  }

  /// What everybody who is no manager stored in a mailbox and nobody can use.
  private func junk(
    in access: MailboxAccess, _ zone: ZoneState, _ report: RelayRosterReport, _ list: RelayList
  ) async throws -> [Junk] {
    let nobody = [UInt8](repeating: 0, count: SigningPublicKey.count)
    let others = report.seats.filter { $0.rank != .manager } + [report.guests]
    var found: [Junk] = []
    for seat in others where seat.usedBytes > 0 {
      let key = seat.key.isEmpty ? nobody : seat.key
      let (names, byteCount) = try await junk(of: key, in: access, zone)
      guard !names.isEmpty else { continue }
      found.append(Junk(holder: list.holder(of: seat.key), names: names, byteCount: byteCount))
    }
    return found
  }

  /// Removes what nobody can use, as far as the mailbox has room for the removals.
  ///
  /// - Returns: what was removed of whom, in words.
  private func remove(
    _ found: [Junk], of zone: ZoneState, in access: MailboxAccess, atMost limit: Int
  ) async throws -> [String] {
    var lines: [String] = []
    var room = limit
    do {
      for junk in found {
        let count = min(junk.names.count, room)
        for start in stride(from: 0, to: count, by: RelayLimits.maximumBatchItems) {
          let end = min(count, start + RelayLimits.maximumBatchItems)
          try await relay.remove(Array(junk.names[start..<end]), in: access)
        }
        room -= count
        let isAll = count == junk.names.count
        lines.append(
          (isAll ? "\(count) files, \(junk.byteCount >> 10) KiB," : "\(count) files")
            + " that \(junk.holder) stored in the mailbox of \(zone.name) and nobody can use"
            + (isAll ? "" : "; there is no room to remove the \(junk.names.count - count) others"))
      }
    } catch let error as TransportError where error.code == .relayMailboxFull {
      lines.append("some of what nobody can use in the mailbox of \(zone.name), until it was full")
    }
    return lines
  }

  /// How many files of a mailbox are of use and not here, so that they would be lost with it.
  private func missing(
    of zone: ZoneState, in mailbox: Identifier
  ) throws -> Int {
    let names = (relay.client.index(of: mailbox)?.sortedNames ?? []).compactMap {
      if case .segment(let name)? = RelayName($0, zoneTag: zone.tag) { name } else { nil }
    }
    let useless = try UselessFiles(engine: engine).useless(names, in: zone.id).union(relay.spoilt)
    let held = try UselessFiles(engine: engine).held(names, in: zone.id)
    return names.count { !held.contains($0) && !useless.contains($0) }
      + (try missingAttachments(of: zone, in: mailbox))
  }

  /// How many chunks of attachments in a mailbox may be needed and are not here.
  private func missingAttachments(
    of zone: ZoneState, in mailbox: Identifier
  ) throws -> Int {
    let here = Set(
      try engine.store.attachments.chunks(of: zone.id).filter { $0.byteCount > 0 }.map(\.digest))
    let idle = try idleChunks(of: zone)
    return (relay.client.index(of: mailbox)?.sortedNames ?? []).count {
      guard case .attachment(let name)? = RelayName($0, zoneTag: zone.tag) else { return false }
      return !here.contains(name.digest) && !idle(name.digest)
    }
  }

  /// Returns which chunks of attachments no record needs.
  ///
  /// A mailbox may hold more than a node knows of, so what is known does not decide.
  private func idleChunks(of zone: ZoneState) throws -> (Identifier) -> Bool {
    if let needed = needed[zone.id] { return { !needed.contains($0) } }
    let released = Set(
      try engine.store.attachments.chunks(of: zone.id)
        .filter { $0.releasedMilliseconds != nil }.map(\.digest))
    return { released.contains($0) }
  }

  /// The most pages of one author's names: an honest relay needs a tenth.
  private static var maximumPages: Int { 1_000 }

  /// The entries of an author that are of no use, as far as this device has read the log.
  private func junk(
    of author: [UInt8], in access: MailboxAccess, _ zone: ZoneState
  ) async throws -> (names: [[UInt8]], bytes: Int) {
    let last = relay.client.index(of: access.mailbox)?.position ?? 0
    let hasAll = try !UselessFiles(engine: engine).beganFromSnapshot(zone.id)
    var segments: [SegmentName: RelayHeader] = [:]
    var junk: [RelayHeader] = []
    let isIdle = try idleChunks(of: zone)
    var (after, seen) = (UInt64(0), UInt64(0))
    for _ in 0..<RelayMailboxRepair.maximumPages where after < last {
      let page = try await relay.rosters.names(
        storedBy: author, in: access, after: after, limit: RelayLimits.maximumListItems)
      // Each entry counts once, whatever a relay says.
      for header in page.headers where header.position > seen && header.position <= last {
        seen = header.position
        switch RelayName(header.name, zoneTag: zone.tag) {
        case .segment(let name): segments[name] = header
        case .chunk: if hasAll { junk.append(header) }
        case .attachment(let name): if isIdle(name.digest) { junk.append(header) }
        case .capsule, .grant, nil: junk.append(header)
        }
      }
      guard page.through < page.head, page.through > after else { break }
      after = page.through
    }
    let names = segments.keys.sorted()
    let held = try UselessFiles(engine: engine).held(names, in: zone.id)
    let useless = try UselessFiles(engine: engine).useless(names, in: zone.id)
    junk += names.filter { useless.contains($0) || relay.spoilt.contains($0) && !held.contains($0) }
      .compactMap { segments[$0] }
    return (junk.map(\.name), junk.reduce(0) { $0 + $1.byteCount })
  }
}
