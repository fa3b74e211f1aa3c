import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The news about people from a sync round: joins, pending joins and removals.
struct PeopleNews: Sendable {
  /// Data: this node was approved.
  var lines: [String] = []
  /// Remarks: the next steps.
  var remarks: [String] = []

  /// Syncs, completes an approved join, and returns the news about people.
  static func sync(
    _ node: Node, checking check: FileCheck = .some
  ) async throws -> (SyncReport, PeopleNews) {
    let known = try await node.notices().count
    let before = try await people(of: node)
    var report = try await node.sync(checking: check)
    var news = PeopleNews()
    news.remarks += try await node.notices().dropFirst(known)
      .filter { [.people, .recovery, .access, .newLife, .difference, .damage].contains($0.kind) }
      .map { Style.safe($0.text) }
    news.remarks += try await lookAlikes(on: node, since: before)
    let admitted = await node.lastAdmissions
    for zone in admitted {
      news.lines.append(try await admission(to: zone, on: node))
      news.remarks.append("next: `hearth list` shows the chores")
    }
    let isIntroduced = try await introduce(node)
    if !admitted.isEmpty || isIntroduced {
      let further = try await node.sync()
      if !admitted.isEmpty || further.transports.contains(where: { $0.failure != nil }) {
        report.transports = further.transports
      }
    }
    news.remarks += try await PrivateText.remarks(of: node)
    news.remarks += try await StrandedText.unsynced(on: node)
    news.remarks += try await waiting(on: node)
    for zone in await node.dataZones() where zone.database == .shared {
      news.remarks += try await remarks(on: zone, of: node)
    }
    return (report, news)
  }

  /// Returns that this device was admitted to a household, and by whom.
  private static func admission(to zone: ZoneID, on node: Node) async throws -> String {
    let context = try await HouseholdContext.of(zone, node: node)
    let membership = try await node.membership(of: context.zone.group)
    let role = membership.role(of: await node.device)
    return "joined \(Style.safe(context.zone.name)) as \(role?.name ?? "nobody")"
      + (admitter(of: await node.device, in: membership).map {
        ": \(Style.safe($0)) approved"
      } ?? "")
  }

  /// Returns remarks on a household: its end for this device, or who and what awaits an answer.
  private static func remarks(on zone: ZoneState, of node: Node) async throws -> [String] {
    if let ending = try await node.ending(in: zone.group), ending.kind != .left {
      let line =
        EndingText.line(ending, household: zone.name)
        + ": you keep the data on this device and receive nothing new"
      let standing = try await StandingText.Document(of: zone, on: node)
      return [line] + (standing.ownQuarantined > 0 ? [StandingText.lost(standing)] : [])
    }
    var remarks = try await comers(to: zone, on: node)
    if try await node.diagnostics.awaitsSnapshot(in: zone.group) {
      let names = try await node.diagnostics.awaitedSnapshotAuthors(in: zone.group)
      remarks.append("\(Style.safe(zone.name)): \(StandingText.awaited(from: names))")
    }
    let membership = try await node.membership(of: zone.group)
    let own = membership.person(of: await node.device)?.id
    if let offer = membership.offers.last(where: { $0.to == own }) {
      remarks.append(
        "\(Style.safe(membership.person(offer.from)?.name ?? "the owner")) offers you "
          + "\(Style.safe(zone.name)): `hearth owner accept`")
    }
    return remarks
  }

  /// Returns remarks on the households that have not approved this device yet.
  private static func waiting(on node: Node) async throws -> [String] {
    var remarks: [String] = []
    for pending in try await node.admissions.requested() {
      if let unproven = pending.unproven {
        remarks.append("answer rejected: \(Style.safe(unproven))")
      }
      guard pending.isPrivate != true else { continue }
      let standing = PendingJoinText(pending)
      remarks.append(
        standing.isOver
          ? standing.words
          : "waiting: \(Style.safe(pending.groupName)) has not approved yet; the number to compare "
            + "is \(pending.number)"
            + (standing.expires.map { "; the invitation expires on \($0)" } ?? ""))
    }
    return remarks
  }

  /// Returns the members of each household of this device.
  private static func people(of node: Node) async throws -> [GroupID: Set<PersonID>] {
    var people: [GroupID: Set<PersonID>] = [:]
    for zone in await node.dataZones() where zone.database == .shared {
      people[zone.group] = Set(try await node.membership(of: zone.group).people.map(\.id))
    }
    return people
  }

  /// Returns warnings about new members whose names look like those of others.
  private static func lookAlikes(
    on node: Node, since before: [GroupID: Set<PersonID>]
  ) async throws -> [String] {
    var warnings: [String] = []
    for zone in await node.dataZones() where zone.database == .shared {
      guard let known = before[zone.group] else { continue }
      let membership = try await node.membership(of: zone.group)
      for person in membership.people where !known.contains(person.id) {
        let warning = PersonChoice.lookAlikeWarning(
          ofNewcomer: person.name, person.id, in: membership, zone.name)
        if let warning { warnings.append(warning) }
      }
    }
    return warnings
  }

  /// Returns the join requests and pending joins of a household.
  private static func comers(to zone: ZoneState, on node: Node) async throws -> [String] {
    [try await requests(to: zone, on: node), try await waiting(in: zone, on: node)].compactMap {
      $0
    }
  }

  /// Returns the join requests of a household; nil if there are none.
  private static func requests(to zone: ZoneState, on node: Node) async throws -> String? {
    let waiting = try await node.admissions.waiting(of: zone.group).filter { $0.usedBy == nil }
    guard !waiting.isEmpty else { return nil }
    let known = try await ShownNames(of: node.membership(of: zone.group))
    let names = waiting.map {
      Style.safe(known.name(ofNewcomer: $0.request.personName, on: $0.request.device))
    }
    return "\(Words.names(names)) asked to join \(Style.safe(zone.name)): "
      + "`hearth approve`"
  }

  /// Returns the pending joins, for people who may approve them; nil if there are none.
  private static func waiting(in zone: ZoneState, on node: Node) async throws -> String? {
    let membership = try await node.membership(of: zone.group)
    let confirmable = membership.entries.confirmable(by: await node.device)
    let names = membership.entries.waiting.filter { confirmable.contains($0.id) }
      .map { Style.safe($0.personName) }
    guard !names.isEmpty else { return nil }
    return "\(Words.names(names)) joined \(Style.safe(zone.name)) with a link that was "
      + "no longer valid, and \(names.count == 1 ? "needs" : "need") approval: `hearth approve`"
  }

  /// Adds a newcomer, or a reader with a new role, to the people who do chores.
  ///
  /// - Returns: whether there was anything to do.
  private static func introduce(_ node: Node) async throws -> Bool {
    var isIntroduced = false
    for zone in await node.dataZones() where zone.database == .shared {
      let context = HouseholdContext(node: node, zone: zone)
      if try await context.introducePerson() { isIntroduced = true }
    }
    return isIntroduced
  }

  /// The approver of a device.
  private static func admitter(of device: DeviceID, in membership: Membership) -> String? {
    guard let card = membership.device(device)?.card else { return nil }
    for entry in membership.audit().reversed() where entry.void == nil {
      if case .admit(let admit) = entry.operation, admit.join.device.signKey == card.signKey {
        return entry.person.flatMap { membership.person($0)?.name }
      }
    }
    return nil
  }
}
