import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// Turns over the keys of mailboxes at a relay, and leaves handoffs for who is away meanwhile.
package struct RelayKeyRenewal<Turns: ReplicaTurns> {
  private let mailboxes: RelayMailboxes<Turns>
  private let handoffs: RelayHandoffs<Turns>

  package init(of mailboxes: RelayMailboxes<Turns>) {
    self.mailboxes = mailboxes
    handoffs = RelayHandoffs(mailboxes: mailboxes)
  }

  private var relay: RelayTransport { mailboxes.relay }

  private var engine: Engine<Turns.Replicas> {
    get throws { try mailboxes.engine }
  }

  /// Sets the newest keys at a relay where it still takes older ones.
  ///
  /// Those who were removed are out from then on. The handoff goes first, so that nobody who stays
  /// is ever without a way in.
  ///
  /// - Parameter nowMilliseconds: the time since 1970, for what is not checked in every round.
  /// - Returns: what keeps old keys at the relay though newer ones are here, in words.
  /// - Throws: a transport's error.
  package func renewAccess(nowMilliseconds: UInt64) async throws -> [TransportProblem] {
    relay.client.directory.zones = try mailboxes.accesses()
    var found: Set<RelayRenewal> = []
    var problems = relay.notices
    relay.notices = []
    let engine = try engine
    for control in engine.zones
    where control.kind == .control && ExchangeScope(engine: engine).isExchanged(control) {
      guard engine.membership(of: control.group).isActive(engine.device) else { continue }
      for zone in [control] + engine.zones.filter({ $0.group == control.group && $0.kind == .data })
      {
        found.insert(try await renewAccess(of: zone, under: control, nowMilliseconds, &problems))
      }
    }
    try relay.client.keep()
    try relay.notes.noteOldKeys(found.contains(.oldKeysStay))
    let oldKeys = RelayWords(place: relay.place).oldKeysProblem
    return problems + (found.contains(.oldKeysStay) ? [oldKeys] : [])
      + (found.contains(.handoffShut) ? [RelayKeyRenewal.handoffProblem(at: relay.place)] : [])
      + (found.contains(.handoffsLost) ? [HandoffWatch.problem(at: relay.place)] : [])
  }

  /// That a handoff is of no use; the keys are changed all the same, as whoever has the old ones
  /// would otherwise keep them valid by spoiling it.
  private static func handoffProblem(at place: String) -> TransportProblem {
    TransportProblem(
      place: place,
      fault: "the keys were changed, but devices that were away cannot get the new keys here: "
        + "somebody with the old keys damaged the handoff",
      remedy:
        "if the relay does not admit a device that was away: sync it over a folder or another "
        + "relay, or invite it again", hidesData: false)
  }

  private func renewAccess(
    of zone: ZoneState, under control: ZoneState, _ nowMilliseconds: UInt64,
    _ problems: inout [TransportProblem]
  ) async throws -> RelayRenewal {
    guard let access = relay.client.directory.zones[zone.tag] else { return .done }
    let opening: RelayOpening
    do {
      opening = try await relay.client.open(access)
    } catch let error as TransportError where error.code == .relayRefused {
      return .done
    }
    guard !access.keys.isEmpty else { return .done }
    let list = try mailboxes.list(of: zone.group, relayID: opening.relayID)
    let look = try await RelayRosterUpkeep(of: mailboxes).putListRight(of: access, opening, list)
    problems += look.problems.filter { !problems.contains($0) }
    // Keys change and handoffs are laid by managers alone: everybody else could lock others out.
    guard opening.opened.rank == .manager else { return .done }
    var renewal = try await renewKeys(of: zone, access, opening, under: control)
    if zone.kind == .control, renewal == .done {
      renewal = try await HandoffCheck(
        handoffs: handoffs, control: control, access: access, opening: opening
      ).run(at: nowMilliseconds)
    }
    // Whoever made the mailbox and is no admin hands it over when all is laid.
    if let step = look.ownStep {
      _ = try await relay.rosters.trySetting(step.rank, of: step.key, in: access)
    }
    return renewal
  }

  /// Changes the access key of a mailbox that this device manages, and lays handoffs.
  private func renewKeys(
    of zone: ZoneState, _ access: MailboxAccess, _ opening: RelayOpening,
    under control: ZoneState
  ) async throws -> RelayRenewal {
    guard let newest = access.keys.first,
      try handoffs.knowsNewest(of: control, opening, access.keys)
    else {
      return .done
    }
    var isRenewed = false
    var areFilled = true
    let replaced = RelayKeyRenewal.replaced(opening, of: access.keys)
    do {
      if zone.kind == .control, try owesHandoffs(of: access, after: opening) {
        areFilled = try await refillHandoffs(of: access, newest, control)
        try relay.notes.attend(access.mailbox, log: opening.opened.head.generation)
        isRenewed = true
      }
      if !replaced.isEmpty, !Mutant.neverTurnsKeys.isActive {
        if zone.kind == .control {
          // Several keys may have followed since: the segments in each handoff are under its key,
          // and bring the next one. The removal of whoever was away may be behind any of them.
          for old in replaced.reversed() {
            areFilled = try await handoffs.fill(behind: old, newest, control) && areFilled
          }
        }
        Probe.accessRenewed.hit()
        try await relay.client.rotate(zoneTag: zone.tag)
        isRenewed = true
      }
      if zone.kind == .control {
        let areLed = try await handoffs.leadOn(
          to: newest, of: access.keys, under: control, isRenewed: isRenewed)
        areFilled = areFilled && areLed
      }
    } catch let error as TransportError
      where [.relayFault, .relayRefused, .relayFull].contains(error.code)
    {
      // Somebody else was first, or the relay has no room for the handoff: the next round looks
      // again.
      Probe.renewalLost.hit()
      return isRenewed || replaced.isEmpty || error.code != .relayFull ? .done : .oldKeysStay
    }
    return areFilled ? .done : .handoffShut
  }

  /// Fills the handoffs behind all earlier keys of a mailbox, and returns whether all are complete.
  ///
  /// Whoever was away knows earlier keys only, also where a relay lost its handoffs. The oldest
  /// first, as they are the first to make room for others.
  private func refillHandoffs(
    of access: MailboxAccess, _ newest: MailboxKey, _ control: ZoneState
  ) async throws -> Bool {
    var areFilled = true
    for old in access.keys.dropFirst().prefix(RelayHandoffs<Turns>.maximumHandoffs).reversed() {
      Probe.handoffRefilled.hit()
      areFilled = try await handoffs.fill(behind: old, newest, control) && areFilled
    }
    return areFilled
  }

  /// Whether the handoffs of a mailbox are to be filled: its log is not the one whose handoffs this
  /// device has seen to, or somebody else has set a key that is not known here.
  ///
  /// It made the mailbox itself, maybe in a session that broke off before the handoffs were filled;
  /// or the relay lost something, and whoever noticed first may have got no further. Where a
  /// manager puts another's key right, the handoffs lead to that one, from whichever key others
  /// have.
  private func owesHandoffs(
    of access: MailboxAccess, after opening: RelayOpening
  ) throws -> Bool {
    if Mutant.fillsHandoffsAtOnceOrNever.isActive { return opening.isCreated }
    if opening.key == .own, !opening.wantsNewest { return true }
    let attended = try relay.notes.attendedLog(of: access.mailbox)
    return attended != opening.opened.head.generation
  }

  /// The key that opened a mailbox and is not the newest, as the last one, and those between it and
  /// the newest, the newer first; empty where nothing needs to change.
  private static func replaced(_ opening: RelayOpening, of keys: [MailboxKey]) -> [MailboxKey] {
    switch opening.key {
    case .access(0): return []
    case .access(let place):
      let last = min(place, keys.count - 1)
      if Mutant.skipsHandoffsBetween.isActive { return [keys[last]] }
      return last > 0
        ? Array(keys[1...last].suffix(RelayHandoffs<Turns>.maximumHandoffs)) : Array(keys.prefix(1))
    // Whoever set a key that no member has is put right; once, however long the session lasts.
    case .own:
      if opening.wantsNewest { return [] }
      Probe.managerPutRight.hit()
      return Array(keys.dropFirst(keys.count > 1 ? 1 : 0).prefix(1))
    }
  }
}
