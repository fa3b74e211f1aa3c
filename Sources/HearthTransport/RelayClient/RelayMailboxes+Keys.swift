import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

// How the keys of mailboxes turn over at relays, and what is left for who is away meanwhile.
extension RelayMailboxes {
  /// How many handoffs are filled where a mailbox is made anew: those of a year.
  static var maximumHandoffs: Int { 12 }
  private static var maximumNoticeBytes: Int { 1 << 20 }

  /// Sets the newest keys at a relay where it still takes older ones.
  ///
  /// Those who were removed are out from then on. The handoff goes first, so that nobody who stays
  /// is ever without a way in.
  ///
  /// - Parameter nowMilliseconds: the time since 1970, for what is not checked in every round.
  /// - Returns: what keeps old keys at the relay though newer ones are here, in words.
  /// - Throws: a transport's error.
  package func renewAccess(nowMilliseconds: UInt64) async throws -> [TransportProblem] {
    relay.client.directory.zones = try accesses()
    var found: Set<Renewal> = []
    var problems = relay.notices
    relay.notices = []
    let engine = try engine
    for control in engine.zones where control.kind == .control && engine.isExchanged(control) {
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
      + (found.contains(.handoffShut) ? [RelayMailboxes.handoffProblem(at: relay.place)] : [])
      + (found.contains(.handoffsLost) ? [HandoffWatch.problem(at: relay.place)] : [])
  }

  /// What came of a look at a mailbox's access key.
  enum Renewal {
    /// The newest key is set, or somebody else is at it.
    case done
    /// A newer key waits because the relay has no room for the handoff.
    case oldKeysStay
    /// The newest key is set, and a handoff could not be filled.
    case handoffShut
    /// The newest key is set, and handoffs are missing that this device may not lay again.
    case handoffsLost
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
  ) async throws -> Renewal {
    guard let access = relay.client.directory.zones[zone.tag] else { return .done }
    let opening: RelayOpening
    do {
      opening = try await relay.client.open(access)
    } catch let error as TransportError where error.code == .relayRefused {
      return .done
    }
    guard !access.keys.isEmpty else { return .done }
    let list = try list(of: zone.group, relayID: opening.relayID)
    let look = try await putListRight(of: access, opening, list)
    problems += look.problems.filter { !problems.contains($0) }
    // Keys change and handoffs are laid by managers alone: everybody else could lock others out.
    guard opening.opened.rank == .manager else { return .done }
    var renewal = try await renewKeys(of: zone, access, opening, under: control)
    if zone.kind == .control, renewal == .done {
      renewal = try await HandoffCheck(
        mailboxes: self, control: control, access: access, opening: opening
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
  ) async throws -> Renewal {
    guard let newest = access.keys.first, try knowsNewest(of: control, opening, access.keys) else {
      return .done
    }
    var isRenewed = false
    var areFilled = true
    let replaced = RelayMailboxes.replaced(opening, of: access.keys)
    do {
      if zone.kind == .control,
        try owesHandoffs(of: access, after: opening)
      {
        // Whoever was away knows earlier keys only, also where a relay lost its handoffs. The
        // oldest first, as they are the first to make room for others.
        for old in access.keys.dropFirst().prefix(RelayMailboxes.maximumHandoffs).reversed() {
          Probe.handoffRefilled.hit()
          areFilled = try await fill(behind: old, newest, control) && areFilled
        }
        try relay.notes.attend(access.mailbox, log: opening.opened.head.generation)
        isRenewed = true
      }
      if !replaced.isEmpty, !Mutant.neverTurnsKeys.isActive {
        if zone.kind == .control {
          // Several keys may have followed since: the segments in each handoff are under its key,
          // and bring the next one. The removal of whoever was away may be behind any of them.
          for old in replaced.reversed() {
            areFilled = try await fill(behind: old, newest, control) && areFilled
          }
        }
        Probe.accessRenewed.hit()
        try await relay.client.rotate(zoneTag: zone.tag)
        isRenewed = true
      }
      if zone.kind == .control {
        let areLed = try await leadOn(
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

  /// Whether the key that this device would set is not one that others have replaced.
  ///
  /// Who lacks the newest epoch, as whoever made it had not heard of this device, would turn the
  /// key back to one that those have who were removed. It waits until somebody gives it that epoch.
  func knowsNewest(
    of control: ZoneState, _ opening: RelayOpening, _ keys: [MailboxKey]
  ) throws -> Bool {
    if case .access(let place) = opening.key, place < keys.count,
      !control.holdsEpoch(keys[place].id)
    {
      return false
    }
    let membership = try engine.membership(of: control.group)
    let epochs = membership.epochs(of: control.id).filter { membership.isValid($0) }
    let reached = epochs.filter { control.holdsEpoch($0.grant.epoch) }.map(\.depth).max() ?? -1
    return !control.isEpochOver && !epochs.contains { $0.depth > reached }
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
      return last > 0 ? Array(keys[1...last].suffix(maximumHandoffs)) : Array(keys.prefix(1))
    // Whoever set a key that no member has is put right; once, however long the session lasts.
    case .own:
      if opening.wantsNewest { return [] }
      Probe.managerPutRight.hit()
      return Array(keys.dropFirst(keys.count > 1 ? 1 : 0).prefix(1))
    }
  }

  /// Leaves what leads to the newest key also in the handoffs of those of whom somebody had not
  /// heard who made a key: where that one changed the access key, the handoff behind the key that
  /// they have holds nothing for them.
  ///
  /// Once for each of them and each such key, and again with every change of the access key: a
  /// relay that was set back to an old copy has lost what was left there.
  /// - Returns: whether all handoffs that this took could be filled.
  private func leadOn(
    to newest: MailboxKey, of keys: [MailboxKey], under control: ZoneState, isRenewed: Bool
  ) async throws -> Bool {
    if Mutant.forgetsPassedBy.isActive { return true }
    let found = try engine.passedBy(in: control.group, latest: MailboxAccess.maximumKeys).filter {
      $0.behind != newest.id
    }
    .map { (handoff: $0.behind, mark: segmentDigest($0.bytes)) }
    guard !found.isEmpty else { return true }
    let mailbox = relay.client.directory.zones[control.tag]?.mailbox ?? control.tag
    let known = isRenewed ? [] : try relay.notes.marks(of: mailbox)
    let owed = Set(found.filter { !known.contains($0.mark) }.map(\.handoff))
    let handoffs = keys.filter { owed.contains($0.id) }.prefix(RelayMailboxes.maximumHandoffs)
    guard !handoffs.isEmpty else { return true }
    var areFilled = true
    for old in handoffs {
      Probe.passedByLed.hit()
      areFilled = try await fill(behind: old, newest, control) && areFilled
    }
    let filled = Set(handoffs.map(\.id))
    try relay.notes.mark(
      mailbox,
      with: found.filter { known.contains($0.mark) || filled.contains($0.handoff) }.map(\.mark))
    return areFilled
  }

  /// Leaves in the handoff behind a key what leads those who stay to the newest one.
  ///
  /// - Returns: false where somebody who has the key has spoilt the handoff: has set another key
  ///   for it, or filled it.
  func fill(
    behind old: MailboxKey, _ newest: MailboxKey, _ control: ZoneState
  ) async throws -> Bool {
    if Mutant.leavesHandoffsEmpty.isActive { return true }
    let mailbox = relay.client.directory.zones[control.tag]?.mailbox ?? control.tag
    let handoff = MailboxAccess.handoff(of: mailbox, behind: old, mayCreate: true)
    var directory = RelayDirectory()
    directory.zones[control.tag] = handoff
    let view = relay.view(directory)
    let told = try engine.controlSegments(
      of: control.group, sealedUnder: old.id, atMostBytes: RelayMailboxes.maximumNoticeBytes)
    let grants = try engine.handoffRecipients(of: control.group).map { recipient in
      (
        name: RelayName.grant(to: recipient.id, behind: old),
        bytes: try newest.root.seal(
          epoch: newest.id, to: BoxPublicKey(validating: recipient.box))
      )
    }
    do {
      try await putRight(handoff, over: view)
      do {
        try await view.publish(told)
        try await view.give(grants, in: handoff)
      } catch let error as TransportError where error.code == .relayMailboxFull {
        // Somebody who managed it has filled it: it begins anew, as its manager may let it.
        try await view.client.reset(handoff)
        try await view.publish(told)
        try await view.give(grants, in: handoff)
      }
    } catch let error as TransportError
      where [.relayRefused, .relayMailboxFull].contains(error.code)
    {
      Probe.handoffSpoilt.hit()
      return false
    }
    return true
  }

  /// Sets the key for which a handoff is made where somebody who managed the mailbox has set
  /// another, by which nobody finds the way; what lies there is of no use then.
  private func putRight(_ handoff: MailboxAccess, over view: RelayTransport) async throws {
    let opening = try await view.client.open(handoff)
    guard opening.key == .own, !opening.wantsNewest else { return }
    _ = try await view.client.ask(handoff.mailbox, .rotate)
    try await view.client.reset(handoff)
  }
}
