import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// What came of a look at a mailbox's access key.
enum RelayRenewal {
  /// The newest key is set, or somebody else is at it.
  case done
  /// A newer key waits because the relay has no room for the handoff.
  case oldKeysStay
  /// The newest key is set, and a handoff could not be filled.
  case handoffShut
  /// The newest key is set, and handoffs are missing that this device may not lay again.
  case handoffsLost
}

/// The rekey handoffs that a managing device leaves at a relay.
struct RelayHandoffs<Turns: ReplicaTurns> {
  /// How many handoffs are filled where a mailbox is made anew: those of a year.
  static var maximumHandoffs: Int { 12 }
  private static var maximumNoticeBytes: Int { 1 << 20 }

  let mailboxes: RelayMailboxes<Turns>

  private var relay: RelayTransport { mailboxes.relay }

  private var engine: Engine<Turns.Replicas> {
    get throws { try mailboxes.engine }
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
    let epochs = membership.keys.epochs(of: control.id).filter { membership.keys.isValid($0) }
    let reached = epochs.filter { control.holdsEpoch($0.grant.epoch) }.map(\.depth).max() ?? -1
    return !control.isEpochOver && !epochs.contains { $0.depth > reached }
  }

  /// Leaves what leads to the newest key also in the handoffs of those of whom somebody had not
  /// heard who made a key: where that one changed the access key, the handoff behind the key that
  /// they have holds nothing for them.
  ///
  /// Once for each of them and each such key, and again with every change of the access key: a
  /// relay that was set back to an old copy has lost what was left there.
  /// - Returns: whether all handoffs that this took could be filled.
  func leadOn(
    to newest: MailboxKey, of keys: [MailboxKey], under control: ZoneState, isRenewed: Bool
  ) async throws -> Bool {
    if Mutant.forgetsPassedBy.isActive { return true }
    let found = try RekeyHandoffs(engine: engine).passedBy(
      in: control.group, latest: MailboxAccess.maximumKeys
    ).filter {
      $0.behind != newest.id
    }
    .map { (handoff: $0.behind, mark: segmentDigest($0.bytes)) }
    guard !found.isEmpty else { return true }
    let mailbox = relay.client.directory.zones[control.tag]?.mailbox ?? control.tag
    let known = isRenewed ? [] : try relay.notes.marks(of: mailbox)
    let owed = Set(found.filter { !known.contains($0.mark) }.map(\.handoff))
    let handoffs = keys.filter { owed.contains($0.id) }.prefix(RelayHandoffs.maximumHandoffs)
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
    let told = try RekeyHandoffs(engine: engine).controlSegments(
      of: control.group, sealedUnder: old.id, atMostBytes: RelayHandoffs.maximumNoticeBytes)
    let grants = try RekeyHandoffs(engine: engine).handoffRecipients(of: control.group).map {
      recipient in
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
