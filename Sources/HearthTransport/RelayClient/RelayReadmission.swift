import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// Gets a device into the mailboxes at a relay where it was away while their access keys were
/// changed.
package struct RelayReadmission<Turns: ReplicaTurns> {
  /// How a mailbox stands to this device.
  private enum Standing {
    /// It does not let it in.
    case shut
    /// Nobody manages it who may, by the members' log.
    case taken
    /// Somebody manages it who may; its list is not what the log says.
    case managed
    /// Its list is what the log says, or the log is not here yet.
    case right

    var isOfUse: Bool { self == .managed || self == .right }
  }

  private let mailboxes: RelayMailboxes<Turns>

  package init(to mailboxes: RelayMailboxes<Turns>) {
    self.mailboxes = mailboxes
  }

  private var relay: RelayTransport { mailboxes.relay }

  private var engine: Engine<Turns.Replicas> {
    get throws { try mailboxes.engine }
  }

  /// Sees to it that this device can open the mailboxes of some groups at a relay, where it was
  /// away while their access keys were changed.
  /// - Throws: a transport's error.
  package func admit(
    to groups: [GroupID], anchorFile: any AnchorFile, nowMilliseconds: UInt64
  ) async throws {
    relay.client.directory.zones = try mailboxes.accesses()
    try relay.client.prepare()
    let own = try engine.identity.boxPair
    let device = try engine.device
    for group in groups {
      try await admit(
        to: group, as: [(device, own)], anchorFile: anchorFile, nowMilliseconds: nowMilliseconds)
    }
  }

  /// The same for one group.
  ///
  /// Which of its mailboxes is used is decided anew each time. Somebody may have led this device
  /// into one where it is alone, so a lower number that lets it in again wins; and where nobody
  /// manages the present one who may, those ahead are looked at, which an owner or admin may have
  /// made in its place.
  ///
  /// - Parameter recipients: as whom this node finds what was left for it in handoffs.
  package func admit(
    to group: GroupID, as recipients: [(id: Identifier, pair: BoxKeyPair)],
    anchorFile: any AnchorFile, nowMilliseconds: UInt64
  ) async throws {
    func enter(_ number: UInt64, mayCreate: Bool) async throws -> Standing {
      try await self.enter(group, number, mayCreate: mayCreate) { handoff in
        try await visit(handoff, group, recipients, anchorFile, nowMilliseconds)
      }
    }
    var moves = try relay.notes.moves(of: group)
    let before = moves.current
    var found = try await firstOfUse(moves.lower, of: group)
    if found == nil {
      let here = try await enter(before, mayCreate: true)
      if here == .managed {
        found = try await firstOfUse(moves.higher, of: group)
      } else if !here.isOfUse {
        for number in moves.ahead where found == nil {
          let standing = try await enter(number, mayCreate: false)
          if standing.isOfUse { found = number }
        }
      }
    }
    if let found {
      moves.go(to: found)
      try relay.notes.keep(moves, of: group)
      let engine = try engine
      // Who is only coming has no other place from which it could be led away.
      if engine.membership(of: group).isActive(engine.device) {
        let name = engine.zones.first { $0.group == group && $0.kind == .data }?.name
        relay.notices.append(
          moveProblem(
            of: name ?? "a household", from: before, to: found, at: relay.place))
      }
    }
    relay.client.directory.zones = try mailboxes.accesses(joining: group)
  }

  private func standing(
    of access: MailboxAccess, _ opening: RelayOpening, _ group: GroupID
  ) async throws -> Standing {
    let list = try mailboxes.list(of: group, relayID: opening.relayID)
    if list.managers.isEmpty || relay.rosters.digest(of: access.mailbox, opening) == list.digest {
      return .right
    }
    let seats = try await relay.rosters.roster(of: access).seats
    let managers = seats.filter { $0.rank == .manager }.map(\.key)
    return list.managers.isDisjoint(with: managers) ? .taken : .managed
  }

  /// The first of some numbers whose mailboxes are of use to this device as it is.
  private func firstOfUse(
    _ numbers: some Sequence<UInt64>, of group: GroupID
  ) async throws -> UInt64? {
    for number in numbers where try await look(at: number, of: group).isOfUse { return number }
    return nil
  }

  /// Looks at the mailboxes with a number, as far as they let this device in as it is.
  private func look(
    at number: UInt64, of group: GroupID
  ) async throws -> Standing {
    let control = try engine.controlZone(of: group)
    var access = try mailboxes.mailboxAccess(
      of: control.id, granted: mailboxes.grantedKeys(of: group)
    ).moved(number)
    access.onlyOpens = true
    do {
      return try await standing(of: access, relay.client.open(access), group)
    } catch let error as TransportError where error.code == .relayRefused {
      return .shut
    }
  }

  /// The most handoffs through which a device looks for its way into one mailbox: as many as it
  /// has keys, and as a mailbox has handoffs.
  private static var maximumVisits: Int {
    MailboxAccess.maximumKeys + RelayLimits.maximumHandoffs
  }

  /// Opens the mailbox of a group that has a number, through handoffs where that is needed.
  ///
  /// Each handoff may lead to another one; a member may make them without end.
  ///
  /// - Parameter visit: opens a handoff and takes what lies in it.
  private func enter(
    _ group: GroupID, _ number: UInt64, mayCreate: Bool, visit: (MailboxAccess) async throws -> Void
  ) async throws -> Standing {
    let engine = try engine
    let control = try engine.controlZone(of: group)
    let isComing = !engine.membership(of: group).isActive(engine.device)
    var visited: Set<[UInt8]> = []
    for _ in 0...RelayReadmission.maximumVisits {
      relay.client.directory.zones = try mailboxes.accesses(joining: group) {
        try $0 == group ? number : relay.notes.moves(of: $0).current
      }
      if !mayCreate { relay.client.directory.zones[control.tag]?.onlyOpens = true }
      guard let access = relay.client.directory.zones[control.tag] else { return .shut }
      do {
        let opening = try await relay.client.open(zoneTag: control.tag)
        // Who finds its way in for the first time owes nobody a handoff.
        if isComing { try relay.notes.attend(access.mailbox, log: opening.opened.head.generation) }
        return try await standing(of: access, opening, group)
      } catch let error as TransportError where error.code == .relayRefused {
        let key = access.keys.first { !visited.contains($0.id) }
        guard let key else { return .shut }
        visited.insert(key.id)
        try await visit(.handoff(of: access.mailbox, behind: key, mayCreate: false))
      }
    }
    return .shut
  }

  /// Takes what lies in a handoff: the group's news of then, and the next key.
  private func visit(
    _ handoff: MailboxAccess, _ group: GroupID,
    _ recipients: [(id: Identifier, pair: BoxKeyPair)], _ anchorFile: any AnchorFile,
    _ nowMilliseconds: UInt64
  ) async throws {
    guard let key = handoff.keys.first else { return }
    let control = try engine.controlZone(of: group)
    var directory = RelayDirectory()
    directory.zones[control.tag] = handoff
    let view = relay.view(directory)
    do {
      var exchange = Exchange(
        over: view, named: relay.place, with: mailboxes.turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      try await exchange.pull(control.id)
      for (id, pair) in recipients {
        guard let sealed = try await view.grant(.grant(to: id, behind: key), in: handoff),
          let (root, epoch) = try? RelayAccessRoot.open(sealed, with: pair)
        else { continue }
        Probe.handoffPassed.hit()
        try mailboxes.keep(granted: MailboxKey(id: epoch, root: root), of: group)
      }
    } catch let error as TransportError where error.code == .relayRefused {
      return
    }
  }
}

/// That this device uses other mailboxes from now on: where nobody has made them anew, somebody
/// leads it away.
private func moveProblem(
  of name: String, from former: UInt64, to number: UInt64, at place: String
) -> TransportProblem {
  TransportProblem(
    place: "\(place), mailboxes of \(name)",
    fault:
      "from now on this device uses the new mailboxes with number \(number), in place of those "
      + "with number \(former), which "
      + (number < former
        ? "it used while the others did not admit it"
        : "do not admit it, or have no rightful manager"),
    remedy: "check that an owner or admin of the household uses them too: `hearth transport "
      + "repair` makes new mailboxes; if nobody did that, ask them to sync, then sync again",
    hidesData: true)
}
