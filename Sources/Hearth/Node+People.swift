import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

// Actions on a household's people and devices; others learn of them at the next exchange.
extension Node {
  /// Removes a person with all devices, and makes new keys for the remaining members.
  package func remove(_ person: PersonID, from group: GroupID) throws {
    try replicas.working {
      try engine.remove(person, from: group, nowMilliseconds: now())
      announce()
    }
  }

  /// Revokes a device, and makes new keys for the remaining ones.
  ///
  /// A device of this person is also revoked from the private database.
  package func revoke(_ lost: DeviceID, from group: GroupID) throws {
    try replicas.working {
      let moment = now()
      let own = ownPrivateGroup().flatMap { isOwn(lost, in: $0) && $0 != group ? $0 : nil }
      var draft = engine
      try store.transaction {
        draft = engine
        try draft.revoke(lost, from: group, nowMilliseconds: moment)
        if let own { try draft.revoke(lost, from: own, nowMilliseconds: moment) }
      }
      engine = draft
      announce()
    }
  }

  /// Changes a person's role.
  package func setRole(of person: PersonID, to role: Role, in group: GroupID) throws {
    try replicas.working {
      try engine.setRole(of: person, to: role, in: group, nowMilliseconds: now())
      announce()
    }
  }

  /// Sets the history that newcomers may read, with new keys of the record zones.
  ///
  /// - Returns: the open invitations that it closed, because their invitation bundles contain
  ///   earlier keys.
  package func setNewcomers(
    _ newcomers: ControlOperation.Newcomers, of group: GroupID
  ) throws -> [Identifier] {
    try replicas.working {
      func open() -> Set<Identifier> {
        Set(engine.membership(of: group).invites.filter { !$0.isClosed }.map(\.operation.invite))
      }
      let before = open()
      try engine.setNewcomers(newcomers, of: group, nowMilliseconds: now())
      announce()
      return before.subtracting(open()).sorted()
    }
  }

  /// Closes an invitation, with new keys if its bundle contained the old ones.
  package func closeInvitation(_ invite: Identifier, of group: GroupID) throws {
    try replicas.working {
      try engine.closeInvitation(invite, of: group, nowMilliseconds: now())
      announce()
    }
  }

  /// Confirms a contested join.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package func confirm(_ entry: WaitingEntry, in group: GroupID) async throws -> SyncReport {
    try await alone {
      try engine.confirm(entry.id, in: group, nowMilliseconds: now())
      announce()
      return try await sync()
    }
  }

  /// Offers the ownership of the group to another person.
  ///
  /// - Parameter words: the text of the owner's recovery words.
  /// - Throws: `notAllowed`, also if the owner has no words.
  package func transferOwner(
    of group: GroupID, to person: PersonID, words: consuming [UInt8]
  ) throws {
    var text = words
    try replicas.working {
      guard let present = engine.membership(of: group).recoveryKeys(of: self.person) else {
        throw HearthError(
          .notAllowed,
          "transferring the household needs recovery words, so that a stolen device cannot do it: "
            + "run `hearth words show` first")
      }
      let root = try RecoveryWords(consuming: &text).root()
      guard root.publicKeys.sign == present.sign else {
        throw HearthError(
          .notAllowed,
          "these are not the owner's recovery words: nothing was offered; if you replaced the "
            + "words, use the newest sheet (`hearth words check` checks a sheet)")
      }
      _ = try engine.transferOwner(
        of: group, to: person, signing: { root.sign(domain: $0, $1) }, nowMilliseconds: now())
      announce()
    }
  }

  /// Accepts an offer of the group.
  package func acceptOwner(of group: GroupID, offer: RecordID) throws {
    try replicas.working {
      try engine.acceptOwner(of: group, offer: offer, nowMilliseconds: now())
      announce()
    }
  }

  /// Leaves a group with all devices of this person, after publishing changes that only this device
  /// has.
  ///
  /// - Returns: the report of the sync that notifies the others.
  /// - Throws: `offline` if the changes of this device could not be published anywhere.
  package func leave(_ group: GroupID) async throws -> SyncReport {
    try await alone {
      let report = try await sync()
      if let failure = report.transports.first(where: { $0.failure != nil })?.failure {
        throw HearthError(
          .offline,
          "your last changes could not be published, so you have not left: \(failure)")
      }
      guard membership(of: group).isActive(device) else {
        throw HearthError(
          .notAllowed,
          "this device does not belong to the household any more: `hearth status` says why")
      }
      try engine.leave(group, nowMilliseconds: now())
      announce()
      return try await sync()
    }
  }

  /// Publishes the fact that this person has left, which a regular exchange no longer does.
  func sayFarewell(over settings: [TransportSetting]) async throws {
    for group in households() where ending(in: group)?.kind == .left {
      for zone in engine.zones where zone.group == group {
        _ = try engine.seal(zone.id)
        try Anchor.keepUp(anchorFile, with: engine)
        for setting in try core.transports.list(of: group) where settings.contains(setting) {
          try? await publishOwn(zone.id, to: setting)
        }
      }
    }
  }

  private func publishOwn(_ id: ZoneID, to setting: TransportSetting) async throws {
    let transport = try core.connections.transport(setting.path)
    let zone = try engine.zone(id)
    let listing = try await transport.list(of: zone)
    let stored = try store.segments(of: id)
    let plan = SyncPlan(zone: zone, stored: stored, pending: [])
    let trusted = try engine.trustedNames(of: zone, in: listing, stored: stored)
    for (segment, name) in plan.publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: device)
    where segment.author.device == device {
      guard let bytes = try store.bytes(of: segment.digest, in: id) else { continue }
      try await transport.publish(name, bytes)
    }
  }

  /// Returns the sixty digits of this person's keys and another's, in twelve groups of five.
  package func safetyNumber(with other: PersonID, in group: GroupID) throws -> String {
    let membership = membership(of: group)
    func side(_ person: PersonID) throws -> SafetyNumber.Person {
      let keys = try membership.devices.filter { $0.person == person }.map {
        try DevicePublicKeys(validating: $0.card.signKey, box: $0.card.boxKey)
      }
      return try SafetyNumber.Person(id: person.bytes, devices: keys)
    }
    return SafetyNumber(try side(person), try side(other)).description
  }
}
