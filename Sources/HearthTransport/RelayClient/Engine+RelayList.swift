import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// Whom the mailboxes of a group list at one relay, by what the members' log says.
package struct RelayList: Sendable {
  /// The keys of the owner's and admins' devices, and of their recovery words.
  var managers: Set<[UInt8]> = []
  /// The keys of all other devices.
  var authors: Set<[UInt8]> = []
  /// Whose keys these are, in words, those of former devices among them.
  var holders: [[UInt8]: String] = [:]

  var digest: Bytes16 { RelayRosterReport.digest(managers: managers, authors: authors) }

  func rank(of key: [UInt8]) -> RelayRank {
    managers.contains(key) ? .manager : authors.contains(key) ? .author : .struck
  }

  /// Who is meant by a key.
  func holder(of key: [UInt8]) -> String {
    holders[key] ?? (key.isEmpty ? "somebody whom nobody has listed" : "an unknown device")
  }
}

// The lists of mailboxes follow the members' log.
extension Engine {
  /// Whom the mailboxes of a group should list at a relay.
  ///
  /// Every member computes the same from the log, so no device has to announce its key. Where there
  /// are more than a list takes, the highest roles go first.
  package func relayList(
    of group: GroupID, relayID: [UInt8], over relay: RelayTransport
  ) throws -> RelayList {
    let membership = membership(of: group)
    var list = RelayList()
    var devices: [(role: Role, id: DeviceID, key: [UInt8])] = []
    for device in membership.allDevices {
      guard let key = try? relay.pseudonym(of: device.card.signKey, relayID: relayID) else {
        continue
      }
      let person = membership.person(device.person)?.name ?? "a former member"
      list.holders[key] = "\(device.card.name) of \(person)"
      if let role = membership.role(of: device.id) { devices.append((role, device.id, key)) }
    }
    devices.sort { ($1.role.rawValue, $0.id) < ($0.role.rawValue, $1.id) }
    var words: [[UInt8]] = []
    for (person, keys) in membership.recoveryKeys() {
      guard let role = membership.person(person)?.role, role.rawValue >= Role.admin.rawValue,
        let key = try? relay.pseudonym(of: keys.sign, relayID: relayID)
      else { continue }
      list.holders[key] = "the recovery words of \(membership.person(person)?.name ?? "somebody")"
      words.append(key)
    }
    let managers = devices.filter { $0.role.rawValue >= Role.admin.rawValue }.map(\.key) + words
    list.managers = Set(managers.prefix(RelayLimits.maximumManagers))
    let others = devices.map(\.key).filter { !list.managers.contains($0) }
    list.authors = Set(others.prefix(RelayLimits.maximumAuthors))
    return list
  }

  /// What came of a look at a mailbox's list.
  struct ListLook {
    /// What somebody should know.
    var problems: [TransportProblem] = []
    /// This device's own key and its new rank, where that ends its managing: to be set last.
    var ownStep: (key: [UInt8], rank: RelayRank)?
    /// Whether nobody manages the mailbox who may by the log.
    var isTaken = false
  }

  /// Brings a mailbox's list in line with the log, as far as this device may.
  ///
  /// Devices that have gone are struck off first, so that a full list keeps none of them in. The
  /// own device's step comes last, so that there is always a manager.
  func putListRight(
    of access: MailboxAccess, _ opening: RelayOpening, _ list: RelayList,
    over relay: RelayTransport
  ) throws -> ListLook {
    var look = ListLook()
    guard !list.managers.isEmpty else { return look }
    let isManager = opening.opened.rank == .manager
    let most = opening.opened.quotaBytes / RelayLimits.guestsShare / 10 * 9
    // Nobody holds too much where all hold less than that together.
    let isFull = isManager && opening.opened.usedBytes >= most
    let known = relay.lists[access.mailbox] ?? opening.opened.roster
    guard known != list.digest || isFull else { return look }
    let report = try relay.roster(of: access)
    let managers = report.seats.filter { $0.rank == .manager }.map(\.key)
    if isFull { look.problems += overuse(in: report, opening, list, at: relay) }
    guard isManager else {
      look.isTaken = list.managers.isDisjoint(with: managers)
      if look.isTaken { look.problems.append(taken(by: managers, list, at: relay)) }
      return look
    }
    let ranks = Dictionary(
      report.seats.map { ($0.key, $0.rank) }, uniquingKeysWith: { first, _ in first })
    let own = try relay.pseudonym(of: identity.publicKeys.sign, relayID: opening.relayID)
    for seat in report.seats where seat.rank.isListed && list.rank(of: seat.key) != seat.rank {
      let rank = list.rank(of: seat.key)
      if rank == .struck, Mutant.listsWhoHasGone.isActive { continue }
      if seat.key == own {
        look.ownStep = (own, rank)
      } else if seat.rank == .manager || rank == .struck {
        try relay.setRank(rank, of: seat.key, in: access)
      }
    }
    for key in (list.managers.union(list.authors)).sorted(by: { $0.lexicographicallyPrecedes($1) })
    where ranks[key] != list.rank(of: key) && ranks[key] != .manager {
      try relay.setRank(list.rank(of: key), of: key, in: access)
    }
    relay.lists[access.mailbox] = list.digest
    return look
  }

  private func taken(
    by managers: [[UInt8]], _ list: RelayList, at relay: RelayTransport
  ) -> TransportProblem {
    let names = managers.map { list.holder(of: $0) }.sorted().joined(separator: ", ")
    return TransportProblem(
      place: "\(relay.place), list of the mailbox",
      fault: "the household's mailbox is managed there by nobody who may, but by \(names)",
      remedy: "an owner or admin makes it anew: `hearth transport repair`", hidesData: true)
  }

  /// Who holds almost as much as one may, of those that a manager can do something about.
  private func overuse(
    in report: RelayRosterReport, _ opening: RelayOpening, _ list: RelayList,
    at relay: RelayTransport
  ) -> [TransportProblem] {
    let quota = opening.opened.quotaBytes
    let seats = report.seats.filter { $0.rank != .manager } + [report.guests]
    return seats.filter {
      let share = $0.key.isEmpty ? RelayLimits.guestsShare : RelayLimits.authorsShare
      return $0.usedBytes >= quota / share / 10 * 9
    }.map {
      TransportProblem(
        place: "\(relay.place), \(list.holder(of: $0.key))",
        fault: "\(list.holder(of: $0.key)) holds \($0.usedBytes >> 20) MiB of the household's "
          + "mailbox at \(relay.place), as much as one may, in \($0.entries) files",
        remedy: "look whether that can be; what nobody can open `hearth transport repair` clears",
        hidesData: false)
    }
  }
}
