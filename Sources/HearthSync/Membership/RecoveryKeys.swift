import HearthCRDT
import HearthCrypto
import HearthMembership

/// Signs bytes for a domain.
package typealias RecoverySigner = (Domain, [UInt8]) throws -> [UInt8]

/// The keys of people's recovery words, and the return of a person with them.
package enum RecoveryKeys {
  /// Publishes the public keys of this person's recovery words, and gives every zone new keys that
  /// the words open.
  ///
  /// - Parameters:
  ///   - sign: The Ed25519 key, 32 bytes.
  ///   - box: The X25519 key, 32 bytes.
  package static func set(
    sign: [UInt8], box: [UInt8], in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let keys = try recoveryKeys(sign: sign, box: box, of: group, in: engine)
    try performAndRekey(
      .setRecovery(keys), in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Replaces the recovery words, with the consent of the old words or of a second device.
  ///
  /// - Parameter consent: Makes the consent from the bytes to sign.
  package static func rotate(
    sign: [UInt8], box: [UInt8], in group: GroupID,
    consent: (Domain, [UInt8]) throws -> ControlOperation.Consent,
    by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let keys = try recoveryKeys(sign: sign, box: box, of: group, in: engine)
    try Rekeying.replaceOverEpochs(of: group, in: &engine, nowMilliseconds: nowMilliseconds)
    let dot = try engine.nextDot(in: engine.controlZone(of: group).id)
    let consent = try consent(
      ControlSignature.rotationDomain,
      ControlSignature.signedBytes(group: group, dot: dot, keys.encoded))
    try performAndRekey(
      .rotateRecovery(keys: keys, consent: consent), in: group, by: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  private static func performAndRekey(
    _ operation: ControlOperation, in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try GroupOperations.perform(
        [operation], in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      if draft.membership(of: group).role(of: engine.device) != .reader {
        try Rekeying.rekey(
          draft.zoneIDs(of: group), of: group, in: &draft, nowMilliseconds: nowMilliseconds)
      }
    }
    engine = draft
  }

  private static func recoveryKeys(
    sign: [UInt8], box: [UInt8], of group: GroupID, in engine: Engine<some Store>
  ) throws -> ControlOperation.RecoveryKeys {
    let key = try BoxPublicKey(validating: box)
    return ControlOperation.RecoveryKeys(
      sign: sign, box: box,
      secrets: try engine.zones.filter { $0.group == group }.sorted { $0.id < $1.id }.map {
        .init(zone: $0.id, sealed: try $0.secret.seal(to: key))
      })
  }

  /// Makes this device one of a person's devices, by the person's recovery words.
  ///
  /// The control log must be on this node. Everything that was synced is recovered.
  ///
  /// - Parameters:
  ///   - revokingOthers: Whether to revoke every other device of the person, with new keys.
  ///   - sign: Signs with the recovery words.
  /// - Throws: `notAllowed` if others would give the device no place.
  package static func recover(
    _ person: PersonID, in group: GroupID, deviceName: String, revokingOthers: Bool,
    signing sign: RecoverySigner, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    let others = Set(membership.devices.filter { $0.person == person }.map(\.id))
    var recover = ControlOperation.Recover(
      person: person, device: OwnCards(engine: engine).card(named: deviceName),
      revokesOthers: revokingOthers,
      cut: revokingOthers
        ? RemovalCuts(engine: engine).cut(
          of: RemovalCuts(engine: engine).logs(of: person, in: membership), in: group)
        : Cut(entries: []), signature: [])
    let dot = try engine.nextDot(in: engine.controlZone(of: group).id)
    recover.signature = try sign(
      ControlSignature.recoverDomain,
      ControlSignature.signedBytes(group: group, dot: dot, recover.signedBody))
    try requirePlace(for: recover, at: dot, in: group, by: engine)
    let isReader = membership.person(person)?.role == .reader
    let keys =
      revokingOthers && !isReader
      ? try Rekeying.grants(
        of: engine.zoneIDs(of: group), in: group,
        without: Mutant.wordsEndNobody.isActive ? [] : others,
        joined: JoiningDevice(
          device: engine.device, card: OwnCards(engine: engine).card(named: deviceName),
          person: person), by: engine) : []
    let closings =
      revokingOthers
      ? RemovalCuts(engine: engine).closings(in: group) { others.contains($0.creator) } : []
    try GroupOperations.perform(
      [.recover(recover)] + closings + keys, in: group, by: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  /// Requires that a recovery of this device has a place in the control zone.
  private static func requirePlace(
    for recover: ControlOperation.Recover, at dot: Dot, in group: GroupID,
    by engine: Engine<some Store>
  ) throws {
    let control = try engine.controlZone(of: group)
    let introductions = engine.membership(of: group).introductions
    guard
      let introduction = introductions.introduction(
        .recover(recover), at: dot, in: group,
        naming: introductions.signKey(of: recover, at: dot))
    else { return }
    var room = try Introductions.room(of: control, in: engine)
    room.introduce(engine.device, introduction, hasRight: true, isCited: false)
    guard !room.admits(dot.author, in: control) else { return }
    throw SyncError(
      .notAllowed,
      "these words let in as many devices as one person may have: "
        + (recover.revokesOthers
          ? "ask an owner or admin to remove you, and to invite you as somebody new"
          : "recover with `--revoke-others`"))
  }
}
