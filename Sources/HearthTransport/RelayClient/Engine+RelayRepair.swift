import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

// What an owner's or admin's device does about mailboxes that somebody has spoilt.
extension Engine {
  /// Puts the mailboxes of a group right at a relay, as an owner's or admin's device.
  ///
  /// - Parameter mayClear: whether all that lies there was read, so that what is not here is of no
  ///   use to anybody.
  /// - Throws: a transport's error.
  package func repair(
    _ group: GroupID, over relay: RelayTransport, mayClear: Bool
  ) throws -> RelayRepair {
    let zones = try mailboxZones(of: group)
    relay.directory.zones = try relayAccesses(at: relay)
    var managers: Set<String> = []
    for zone in zones {
      guard let access = relay.directory.zones[zone.tag] else { continue }
      do {
        let opening = try relay.open(access)
        if opening.opened.rank == .manager { continue }
        let list = try relayList(of: group, relayID: opening.relayID, over: relay)
        let present = try relay.roster(of: access).seats.filter { $0.rank == .manager }
        let rightful = present.filter { list.managers.contains($0.key) }
        guard !rightful.isEmpty else { return try move(group, zones, over: relay) }
        managers.formUnion(rightful.map { list.holder(of: $0.key) })
      } catch let error as TransportError where error.code == .relayRefused {
        return try move(group, zones, over: relay)
      }
    }
    guard managers.isEmpty else { return .managedBy(managers.sorted()) }
    guard mayClear else { return .cleared([]) }
    return .cleared(try zones.flatMap { try clear($0, over: relay) })
  }

  /// The zones of a group that have mailboxes, the control zone first.
  private func mailboxZones(of group: GroupID) throws -> [ZoneState] {
    let control = try controlZone(of: group)
    return [control] + zones.filter { $0.group == group && $0.kind == .data && isExchanged($0) }
  }

  /// Makes the mailboxes of a group anew under names that nobody has yet.
  ///
  /// Who stays looks for them when the former ones do not let them in, or are managed by nobody who
  /// may. What lies in them is given anew by everybody who has it.
  private func move(
    _ group: GroupID, _ zones: [ZoneState], over relay: RelayTransport
  ) throws -> RelayRepair {
    let known = try relay.moves(of: group)
    for moves in (known + 1)...(known + Engine.maximumMovesAhead) {
      relay.directory.zones = try relayAccesses(carrying: relay.carried) {
        try $0 == group ? moves : relay.moves(of: $0)
      }
      let areOwn = try zones.allSatisfy { zone in
        guard let access = relay.directory.zones[zone.tag] else { return true }
        do {
          return try relay.open(access).opened.rank == .manager
        } catch let error as TransportError where error.code == .relayRefused {
          return false
        }
      }
      guard areOwn else { continue }
      try relay.keepMoves(moves, of: group)
      return .moved
    }
    relay.directory.zones = try relayAccesses(at: relay)
    return .noPlace
  }

  // MARK: Clearing

  /// From so many entries on a mailbox begins anew, as what was cleared keeps its row: half of what
  /// a relay allows unless its operator says otherwise.
  private static var maximumEntries: UInt64 { 1_000_000 }

  /// Takes away what others stored in a zone's mailbox and nobody can use.
  ///
  /// That is what is no segment of the zone that is here: whoever has it once more gives it again.
  /// Chunks of snapshots go too, which their makers give again. Where the mailbox is all but full
  /// even then, its log begins anew.
  ///
  /// - Returns: what was cleared of whom, in words.
  private func clear(_ zone: ZoneState, over relay: RelayTransport) throws -> [String] {
    guard let access = relay.directory.zones[zone.tag] else { return [] }
    let opening = try relay.open(access)
    let list = try relayList(of: zone.group, relayID: opening.relayID, over: relay)
    let held = Set(try store.segments(of: zone.id).map(\.digest))
      .union(try store.pending(in: zone.id).map(\.digest))
    let report = try relay.roster(of: access)
    var lines: [String] = []
    let nobody = [UInt8](repeating: 0, count: SigningPublicKey.count)
    let others = report.seats.filter { $0.rank != .manager } + [report.guests]
    for seat in others where seat.usedBytes > 0 {
      let key = seat.key.isEmpty ? nobody : seat.key
      let junk = try junk(of: key, in: access, zone, held: held, over: relay)
      guard !junk.names.isEmpty else { continue }
      for start in stride(from: 0, to: junk.names.count, by: RelayLimits.maximumBatchItems) {
        let end = min(junk.names.count, start + RelayLimits.maximumBatchItems)
        try relay.remove(Array(junk.names[start..<end]), in: access)
      }
      lines.append(
        "\(junk.names.count) files, \(junk.bytes >> 10) KiB, that \(list.holder(of: seat.key)) "
          + "stored in the mailbox of \(zone.name) and nobody can use")
    }
    let after = try relay.roster(of: access)
    let all = after.seats + [after.guests]
    let bytes = all.reduce(UInt64(0)) { $0 + $1.usedBytes }
    let entries = all.reduce(UInt64(0)) { $0 + $1.entries }
    if bytes > opening.opened.quotaBytes / 4 * 3 || entries > Engine.maximumEntries {
      try relay.reset(access)
      lines.append("the whole mailbox of \(zone.name), which begins anew")
    }
    return lines
  }

  /// The entries of an author that are of no use, as far as this device has read the log.
  private func junk(
    of author: [UInt8], in access: MailboxAccess, _ zone: ZoneState, held: Set<Identifier>,
    over relay: RelayTransport
  ) throws -> (names: [[UInt8]], bytes: Int) {
    let last = relay.lastPosition(in: access.mailbox)
    var names: [[UInt8]] = []
    var bytes = 0
    var after: UInt64 = 0
    while true {
      let page = try relay.names(
        storedBy: author, in: access, after: after, limit: RelayLimits.maximumListItems)
      for header in page.headers where header.position <= last {
        if case .segment(let name)? = RelayName(header.name, zoneTag: zone.tag),
          held.contains(name.digest)
        {
          continue
        }
        names.append(header.name)
        bytes += header.byteCount
      }
      guard page.through < page.head, page.through > after else { return (names, bytes) }
      after = page.through
    }
  }

  // MARK: By words

  /// Brings the lists of all mailboxes in line with the log, with a connection of recovery words.
  ///
  /// Whoever comes back by words alone has no device left that could list the new one.
  /// - Throws: a transport's error.
  package func putListsRight(over relay: RelayTransport) throws {
    relay.directory.zones = try relayAccesses(at: relay)
    for zone in zones where isExchanged(zone) && membership(of: zone.group).isActive(device) {
      guard var access = relay.directory.zones[zone.tag] else { continue }
      access.onlyOpens = true
      do {
        let opening = try relay.open(access)
        let list = try relayList(of: zone.group, relayID: opening.relayID, over: relay)
        _ = try putListRight(of: access, opening, list, over: relay)
      } catch let error as TransportError where error.code == .relayRefused {
        // It does not go over this relay, or others manage it.
        continue
      }
    }
  }
}
