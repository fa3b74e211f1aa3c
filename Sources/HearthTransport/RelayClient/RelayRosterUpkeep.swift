import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// Brings the lists of mailboxes at a relay in line with the control log, as far as possible.
package struct RelayRosterUpkeep<Turns: ReplicaTurns> {
  /// What came of a look at a mailbox's list.
  struct ListLook {
    /// What somebody should know.
    var problems: [TransportProblem] = []
    /// This device's own key and its new rank, where that ends its managing: to be set last.
    var ownStep: (key: [UInt8], rank: RelayRank)?
  }

  private let mailboxes: RelayMailboxes<Turns>

  package init(of mailboxes: RelayMailboxes<Turns>) {
    self.mailboxes = mailboxes
  }

  private var relay: RelayTransport { mailboxes.relay }

  private var engine: Engine<Turns.Replicas> {
    get throws { try mailboxes.engine }
  }

  /// Brings the lists of all mailboxes in line with the log, with a connection of recovery words.
  ///
  /// Whoever comes back by words alone has no device left that could list the new one.
  /// - Throws: a transport's error.
  package func putListsRight() async throws {
    relay.client.directory.zones = try mailboxes.accesses()
    let engine = try engine
    for zone in engine.zones
    where ExchangeScope(engine: engine).isExchanged(zone)
      && engine.membership(of: zone.group).isActive(engine.device)
    {
      guard var access = relay.client.directory.zones[zone.tag] else { continue }
      access.onlyOpens = true
      do {
        let opening = try await relay.client.open(access)
        let list = try mailboxes.list(of: zone.group, relayID: opening.relayID)
        _ = try await putListRight(of: access, opening, list)
      } catch let error as TransportError where error.code == .relayRefused {
        // It does not go over this relay, or others manage it.
        continue
      }
    }
  }

  /// How often a list is looked at again that others change meanwhile.
  private static var maximumListLooks: Int { 3 }

  /// Brings a mailbox's list in line with the log, as far as this device may.
  ///
  /// Devices that have gone are struck off first, so that a full list keeps none of them in. The
  /// own device's step comes last, so that there is always a manager.
  func putListRight(
    of access: MailboxAccess, _ opening: RelayOpening, _ list: RelayList
  ) async throws -> ListLook {
    var look = ListLook()
    guard !list.managers.isEmpty else { return look }
    let isManager = opening.opened.rank == .manager
    let most = opening.opened.quotaBytes / RelayLimits.guestsShare / 10 * 9
    // Nobody holds too much where all hold less than that together.
    let isFull = isManager && opening.opened.usedBytes >= most
    let known = relay.rosters.digest(of: access.mailbox, opening)
    // What was said at the opening tells nothing of what other managers have done since.
    let isLookedAt = relay.rosters.isChecked(access.mailbox, opening)
    guard known != list.digest || isFull || isManager && isLookedAt else {
      relay.rosters.note(known, of: access.mailbox, opening)
      return look
    }
    var report = try await relay.rosters.roster(of: access)
    if isFull { look.problems += overuse(in: report, opening, list) }
    guard isManager else {
      let managers = report.seats.filter { $0.rank == .manager }.map(\.key)
      if list.managers.isDisjoint(with: managers) {
        look.problems.append(taken(by: managers, list))
      }
      return look
    }
    let own = try relay.rosters.pseudonym(
      of: engine.identity.publicKeys.sign, relayID: opening.relayID)
    // Who still managed it may have listed others since: what is left to do is looked at anew.
    for _ in 0..<RelayRosterUpkeep.maximumListLooks {
      let refused = try await takeSteps(from: report, to: list, sparing: own, in: access)
      guard let refused else { break }
      report = try await relay.rosters.roster(of: access)
      if !refused.isEmpty {
        look.problems.append(unlisted(refused, list))
        break
      }
    }
    relay.rosters.note(report.digest, of: access.mailbox, opening)
    let rank = list.rank(of: own)
    if rank != .manager, report.seats.contains(where: { $0.key == own && $0.rank.isListed }) {
      look.ownStep = (own, rank)
    }
    return look
  }

  /// Does what a list lacks: all strikes, then what takes the managing away, then listings, so that
  /// none waits for room that another makes, and one that is refused ends nothing.
  ///
  /// - Returns: the keys of the steps that were refused; nil where nothing was left to do.
  private func takeSteps(
    from report: RelayRosterReport, to list: RelayList, sparing own: [UInt8],
    in access: MailboxAccess
  ) async throws -> [[UInt8]]? {
    var ranks: [[UInt8]: RelayRank] = [:]
    for seat in report.seats { ranks[seat.key] = seat.rank }
    let wrong = report.seats.filter {
      $0.key != own && $0.rank.isListed && list.rank(of: $0.key) != $0.rank
    }
    var refused: [[UInt8]] = []
    var isDone = true
    func step(_ rank: RelayRank, _ key: [UInt8]) async throws -> Bool {
      isDone = false
      guard try await relay.rosters.trySetting(rank, of: key, in: access) else { return false }
      ranks[key] = rank
      return true
    }
    for seat in wrong where list.rank(of: seat.key) == .struck && !Mutant.listsWhoHasGone.isActive {
      if try await !step(.struck, seat.key) { refused.append(seat.key) }
    }
    for seat in wrong where seat.rank == .manager && list.rank(of: seat.key) == .author {
      // Where there is no room for it as an author, it waits for that off the list.
      var isDown = try await step(.author, seat.key)
      if !isDown { isDown = try await step(.struck, seat.key) }
      if !isDown { refused.append(seat.key) }
    }
    for keys in [list.managers, list.authors] {
      for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
      where ranks[key] != list.rank(of: key) && !refused.contains(key)
        // By the words' connection this device lists itself; it takes itself down last.
        && (key != own || ranks[key] != .manager)
      {
        if try await !step(list.rank(of: key), key) { refused.append(key) }
      }
    }
    return isDone ? nil : refused
  }

  private func unlisted(
    _ keys: [[UInt8]], _ list: RelayList
  ) -> TransportProblem {
    let names = keys.prefix(8).map { list.holder(of: $0) }.sorted().joined(separator: ", ")
    let more = keys.count > 8 ? " and \(keys.count - 8) more" : ""
    return TransportProblem(
      place: "\(relay.place), list of the mailbox",
      fault: "the relay does not update its list for \(names)\(more)",
      remedy: "sync again; if that does not help, run `hearth transport repair`", hidesData: false)
  }

  private func taken(
    by managers: [[UInt8]], _ list: RelayList
  ) -> TransportProblem {
    let names = managers.map { list.holder(of: $0) }.sorted().joined(separator: ", ")
    return TransportProblem(
      place: "\(relay.place), list of the mailbox",
      fault: "the managers of the household's mailbox there have no right to it: \(names)",
      remedy: "an owner or admin makes a new one: `hearth transport repair`", hidesData: true)
  }

  /// Who holds almost as much as one may, of those that a manager can do something about.
  private func overuse(
    in report: RelayRosterReport, _ opening: RelayOpening, _ list: RelayList
  ) -> [TransportProblem] {
    let quota = opening.opened.quotaBytes
    let seats = report.seats.filter { $0.rank != .manager } + [report.guests]
    return seats.filter {
      let share = $0.key.isEmpty ? RelayLimits.guestsShare : RelayLimits.authorsShare
      return $0.usedBytes >= quota / share / 10 * 9
    }.map {
      TransportProblem(
        place: "\(relay.place), \(list.holder(of: $0.key))",
        fault: "\(list.holder(of: $0.key)) uses \($0.usedBytes >> 20) MiB of the household's "
          + "mailbox at \(relay.place), almost a full share, in \($0.entries) files",
        remedy: "check whether that is right; `hearth transport repair` clears what nobody can "
          + "open",
        hidesData: false)
    }
  }
}
