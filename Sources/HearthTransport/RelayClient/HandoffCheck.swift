import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// A check whether a relay still has the rekey handoffs of a group, which lays missing ones again.
///
/// A relay or a manager may delete, displace or empty a handoff while the mailbox itself goes on.
/// Devices that are there need no handoff, so nobody would notice before the next change of keys,
/// and a device that was away would stay refused. ``HandoffWatch`` bounds the number of checks and
/// of uploads.
struct HandoffCheck<Turns: ReplicaTurns> {
  let handoffs: RelayHandoffs<Turns>
  /// The group's control zone.
  let control: ZoneState
  /// The mailbox of the control zone, and how this device opened it as a manager.
  let access: MailboxAccess
  let opening: RelayOpening

  private var relay: RelayTransport { handoffs.mailboxes.relay }

  /// Checks if a check is due.
  ///
  /// A log of which nothing is remembered is checked a day later: whoever sees it for the first
  /// time has just filled its handoffs, or was led in by somebody who has.
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: a transport's error.
  func run(at now: UInt64) async throws -> RelayRenewal {
    guard let newest = access.keys.first, access.keys.count > 1,
      try handoffs.knowsNewest(of: control, opening, access.keys)
    else { return .done }
    let log = opening.opened.head.generation
    guard var watch = try relay.notes.handoffWatch(of: access.mailbox), watch.log == log else {
      try relay.notes.keep(HandoffWatch(log: log, at: now), of: access.mailbox)
      return .done
    }
    guard watch.isDue(at: now) else { return watch.isGivenUp ? .handoffsLost : .done }
    var areFilled = true
    do {
      let missing = try await missing()
      let due = missing.prefix(watch.charge(missing.count))
      if !due.isEmpty { try relay.notes.keep(watch, of: access.mailbox) }
      // The oldest first, as they are the first to make room for others.
      for key in due.reversed() {
        Probe.handoffRefilled.hit()
        areFilled = try await handoffs.fill(behind: key, newest, control) && areFilled
      }
    } catch let error as TransportError
      where [.relayFault, .relayRefused, .relayFull].contains(error.code)
    {
      // What is left is checked in the next round, until that many uploads are used up.
      return watch.isGivenUp ? .handoffsLost : .done
    }
    watch.complete(at: now)
    try relay.notes.keep(watch, of: access.mailbox)
    return watch.isGivenUp ? .handoffsLost : areFilled ? .done : .handoffShut
  }

  /// The earlier keys, the newest first, whose handoffs the relay does not have, or has with a key
  /// for nobody.
  private func missing() async throws -> [MailboxKey] {
    let engine = try handoffs.mailboxes.engine
    let led = Set(
      try RekeyHandoffs(engine: engine).passedBy(
        in: control.group, latest: MailboxAccess.maximumKeys
      ).map(\.behind))
    let earlier = access.keys.dropFirst()
    let most = RelayHandoffs<Turns>.maximumHandoffs
    let keys =
      Array(earlier.prefix(most))
      + earlier.dropFirst(most).filter { led.contains($0.id) }.prefix(most)
    let recipients = try RekeyHandoffs(engine: engine).handoffRecipients(of: control.group).map(
      \.id)
    let handoffs = keys.map {
      MailboxAccess.handoff(of: access.mailbox, behind: $0, mayCreate: false)
    }
    let view = relay.view(RelayDirectory()).client
    // All are opened at the same time.
    view.connection.prefetch(handoffs.map { ($0, nil) })
    var missing: [MailboxKey] = []
    for (key, handoff) in zip(keys, handoffs) {
      let grants = Set(recipients.map { RelayName.grant(to: $0, behind: key).bytes })
      if try await !holds(oneOf: grants, handoff, over: view) { missing.append(key) }
    }
    return missing
  }

  /// The pages of the longest log that a handoff can have.
  private static var maximumPages: Int {
    Int(RelayLimits.maximumChildEntries) / RelayLimits.maximumListItems + 1
  }

  /// Whether a handoff is at the relay under the key for which it is made, and holds the sealed key
  /// of at least one recipient.
  ///
  /// A newcomer has none in older handoffs, and only its recipient can open one, so more cannot be
  /// asked for. The listing names no recipient, so the relay does not learn who is still one.
  private func holds(
    oneOf grants: Set<[UInt8]>, _ handoff: MailboxAccess, over view: RelayMailboxClient
  ) async throws -> Bool {
    do {
      try await view.open(handoff)
      var isFilled = false
      var after: UInt64 = 0
      for _ in 0..<HandoffCheck.maximumPages {
        let question = RelayQuestion.list(after: after, limit: RelayLimits.maximumListItems)
        guard case .listing(let page) = try await view.reply(handoff.mailbox, question) else {
          throw view.wrongAnswer()
        }
        isFilled = page.headers.contains { $0.isLive && grants.contains($0.name) }
        guard !isFilled, page.through < page.head else { break }
        after = page.through
      }
      // A session has a limited number of mailboxes open.
      _ = try await view.ask(handoff.mailbox, .close)
      return isFilled
    } catch let error as TransportError where error.code == .relayRefused {
      return false
    }
  }
}
