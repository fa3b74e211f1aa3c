import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import InlineExecution

/// Everybody's sheets of recovery words, present and replaced ones, as keys.
///
/// A real device keeps of its person's words their public keys and the place of the capsule, and
/// hands both to the person's other devices over the private database. There is none here, so they
/// look it up: by what the household's log says of the words, as the product does.
final class Sheets {
  private var roots: [PersonID: [RecoveryRoot]] = [:]

  func add(_ root: RecoveryRoot, of person: PersonID) {
    roots[person, default: []].append(root)
  }

  /// The words that have some public key.
  func root(of person: PersonID, box: [UInt8]?) -> RecoveryRoot? {
    roots[person]?.last { $0.publicKeys.box == box }
  }

  /// The words that were made last, whether or not they hold.
  func latest(of person: PersonID) -> RecoveryRoot? { roots[person]?.last }

  func all(of person: PersonID) -> [RecoveryRoot] { roots[person] ?? [] }
}

// A capsule for the words on every way, and the way back from it, as the shell of the product does.
extension SimDevice {
  static func capsuleName(of root: RecoveryRoot) -> BlobName {
    BlobName(kind: .capsule, scope: Identifier(bytes: root.locator) ?? .zero)
  }

  /// Puts the capsule of the person's words where a way lacks a good one.
  func giveCapsule(to way: Way, from engine: Engine<ReplicaStore>) throws {
    guard let home, let zone = try? engine.zone(home) else { return }
    let keys = engine.membership(of: zone.group).recovery.recoveryKeys(of: person)
    guard let root = sheets?.root(of: person, box: keys?.box) else { return }
    way.lay(
      SimDevice.capsuleName(of: root).scope,
      in: try .recovery(root.capsuleAccess, mayCreate: true))
    let owner = CapsuleOwner(
      person: person, name: name, box: root.publicKeys.boxKey, access: root.capsuleAccess)
    let before = try runInline {
      try await OwnTurns(engine).giveRecoveryCapsule(of: owner, to: way.transport)
    }
    if before == .outdated { SimProbe.capsuleRenewed.hit() }
  }

  /// Takes the capsule of words that were replaced away from every way.
  func removeCapsule(of root: RecoveryRoot) throws {
    let place = SimDevice.capsuleName(of: root)
    for way in try ways() {
      way.lay(place.scope, in: try .recovery(root.capsuleAccess, mayCreate: false))
      try runInline { try await way.transport.remove(place) }
    }
  }

  /// Makes this bare device one of a person's, by words and by what lies on its ways alone.
  ///
  /// Whatever fails before the end leaves nothing, as where the product gives up its draft.
  func recover(with root: RecoveryRoot, revokingOthers: Bool, at time: UInt64) throws {
    takeTurn()
    let now = clock.wall(at: time)
    let ways = try ways()
    let listing = try listing(for: root, on: ways)
    guard listing.person == person else { throw StepFailure("these are somebody else's words") }
    let entered = try withEngine { engine -> ZoneID? in
      let before = engine
      do {
        return try engine.store.transaction {
          engine = before
          var found: ZoneID?
          for group in listing.groups where group.database == .shared {
            try fetch(group, with: root, over: ways, &engine, now)
            try RecoveryKeys.recover(
              person, in: group.id, deviceName: name, revokingOthers: revokingOthers,
              signing: { root.sign(domain: $0, $1) }, by: &engine, nowMilliseconds: now)
            for zone in engine.zones where zone.group == group.id {
              _ = try Sealing.seal(zone.id, in: &engine)
            }
            found = engine.zones.first { $0.group == group.id && $0.kind == .data }?.id
          }
          return found
        }
      } catch {
        engine = before
        throw error
      }
    }
    guard let entered else { throw StepFailure("the words lead to no household") }
    home = entered
    try Anchor.keepUp(anchor, with: engine())
    SimProbe.recovered.hit()
  }

  /// What the capsules of some words say together.
  private func listing(for root: RecoveryRoot, on ways: [Way]) throws -> RecoveryListing {
    var found: RecoveryListing?
    for way in ways {
      let access = try MailboxAccess.recovery(root.capsuleAccess, mayCreate: false)
      guard
        let bytes = try? way.fetch(SimDevice.capsuleName(of: root), in: access),
        let body = try? RecoveryCapsule.open(bytes, with: root.capsuleAccess),
        let listing = try? RecoveryListing(decoding: body)
      else { continue }
      found = found?.joined(with: listing) ?? listing
    }
    guard let found else { throw StepFailure("there is no capsule for these words") }
    return found
  }

  /// Fetches a group's logs, with every key that they hand to the words.
  private func fetch(
    _ group: RecoveryListing.Group, with root: RecoveryRoot, over ways: [Way],
    _ engine: inout Engine<ReplicaStore>, _ now: UInt64
  ) throws {
    try RecoveryStart.beginRecovering(group, with: root, in: &engine)
    let control = try engine.controlZone(of: group.id).id
    var report = TransportReport(setting: name)
    repeat {
      for way in ways {
        if let relay = way.relay {
          try engine.admit(
            to: group.id, over: relay.relay, as: [(person, root.boxPair)], anchorFile: anchor,
            nowMilliseconds: now)
        }
        try engine.pull(
          control, from: way.transport, anchorFile: anchor, nowMilliseconds: now, &report)
      }
    } while try RecoveryStart.takeRecoveryKeys(of: group.id, for: person, with: root, in: &engine)
    let membership = engine.membership(of: group.id)
    guard membership.people.contains(where: { $0.id == person }),
      membership.recovery.recoveryKeys(of: person)?.sign == root.publicKeys.sign
    else { throw StepFailure("the household does not know these words") }
    for zone in engine.zones where zone.group == group.id && zone.kind == .data {
      for way in ways {
        try engine.pull(
          zone.id, from: way.transport, anchorFile: anchor, nowMilliseconds: now, &report)
      }
    }
  }
}
