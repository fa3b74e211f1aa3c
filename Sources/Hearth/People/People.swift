import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// The people and devices of a node's groups; others learn of changes at the next exchange.
package struct People: Sendable {
  let node: Node

  /// Removes a person with all devices, and makes new keys for the remaining members.
  package func remove(_ person: PersonID, from group: GroupID) async throws {
    try await node.working { core in
      try MemberChanges.remove(person, from: group, in: &core.engine, nowMilliseconds: core.now())
      core.announce()
    }
  }

  /// Revokes a device, and makes new keys for the remaining ones.
  ///
  /// A device of this person is also revoked from the private database.
  package func revoke(_ lost: DeviceID, from group: GroupID) async throws {
    try await node.working { core in
      let moment = core.now()
      let privateDatabase = core.privateDatabase
      let own = privateDatabase.ownGroup().flatMap {
        privateDatabase.isOwn(lost, in: $0) && $0 != group ? $0 : nil
      }
      var draft = core.engine
      try core.store.transaction {
        draft = core.engine
        try MemberChanges.revoke(lost, from: group, in: &draft, nowMilliseconds: moment)
        if let own {
          try MemberChanges.revoke(lost, from: own, in: &draft, nowMilliseconds: moment)
        }
      }
      core.engine = draft
      core.announce()
    }
  }

  /// Changes a person's role.
  package func setRole(of person: PersonID, to role: Role, in group: GroupID) async throws {
    try await node.working { core in
      try MemberChanges.setRole(
        of: person, to: role, in: group, by: &core.engine, nowMilliseconds: core.now())
      core.announce()
    }
  }

  /// Sets the history that newcomers may read, with new keys of the record zones.
  ///
  /// - Returns: the open invitations that it closed, because their invitation bundles contain
  ///   earlier keys.
  package func setNewcomers(
    _ newcomers: ControlOperation.Newcomers, of group: GroupID
  ) async throws -> [Identifier] {
    try await node.working { core in
      func open() -> Set<Identifier> {
        Set(core.membership(of: group).invites.filter { !$0.isClosed }.map(\.operation.invite))
      }
      let before = open()
      try GroupPolicy.setNewcomers(
        newcomers, of: group, in: &core.engine, nowMilliseconds: core.now())
      core.announce()
      return before.subtracting(open()).sorted()
    }
  }

  // MARK: The owner

  /// Offers the ownership of the group to another person.
  ///
  /// - Parameter words: the text of the owner's recovery words.
  /// - Throws: `notAllowed`, also if the owner has no words.
  package func transferOwner(
    of group: GroupID, to person: PersonID, words: consuming [UInt8]
  ) async throws {
    var text = words
    let read = Result { try RecoveryWords(consuming: &text) }
    try await node.working { core in
      guard let present = core.membership(of: group).recovery.recoveryKeys(of: core.person) else {
        throw HearthError(
          .notAllowed,
          "transferring the household needs recovery words, so that a stolen device cannot do it: "
            + "run `hearth words show` first")
      }
      let root = try read.get().root()
      guard root.publicKeys.sign == present.sign else {
        throw HearthError(
          .notAllowed,
          "these are not the owner's recovery words: nothing was offered; if you replaced the "
            + "words, use the newest sheet (`hearth words check` checks a sheet)")
      }
      _ = try OwnerTransfer.offer(
        of: group, to: person, signing: { root.sign(domain: $0, $1) },
        in: &core.engine, nowMilliseconds: core.now())
      core.announce()
    }
  }

  /// Accepts an offer of the group.
  package func acceptOwner(of group: GroupID, offer: RecordID) async throws {
    try await node.working { core in
      try OwnerTransfer.accept(
        of: group, offer: offer, in: &core.engine, nowMilliseconds: core.now())
      core.announce()
    }
  }

  // MARK: This person and device

  /// Leaves a group with all devices of this person, after publishing changes that only this device
  /// has.
  ///
  /// - Returns: the report of the sync that notifies the others.
  /// - Throws: `offline` if the changes of this device could not be published anywhere.
  package func leave(_ group: GroupID) async throws -> SyncReport {
    try await node.alone { core in
      let report = try await node.sync()
      let places = Set(try core.transports.list(of: group).map(\.path))
      let own = report.transports.filter { places.contains($0.setting) }
      // One that carries other groups, or is away while another one took the changes, does not
      // matter.
      if own.allSatisfy({ $0.failure != nil }), let failure = own.first?.failure {
        throw HearthError(
          .offline,
          "your last changes could not be published, so you have not left: \(failure)")
      }
      guard core.membership(of: group).isActive(core.device) else {
        throw HearthError(
          .notAllowed,
          "this device does not belong to the household any more: `hearth status` says why")
      }
      try MemberChanges.leave(group, in: &core.engine, nowMilliseconds: core.now())
      core.announce()
      return try await node.sync()
    }
  }

  /// Renames this device on this node; groups keep the name with which it joined.
  package func renameDevice(_ name: String) async throws {
    try await node.working { core in
      var changed = core.profile
      changed.deviceName = name
      try core.keep(changed)
    }
  }

  /// Returns why the other devices of a group reject this one although it joined; nil if they do
  /// not.
  package func entryRefusal(to group: GroupID) async throws -> String? {
    try await node.looking { ClosedInvitations(engine: $0.engine).entryRefusal(to: group) }
  }

  /// Returns a warning if the owner could lose the group with one device, or if this device joined
  /// by an invitation that was closed meanwhile; nil otherwise.
  package func riskWarning(of group: GroupID) async throws -> String? {
    try await node.looking { core in
      if let reason = ClosedInvitations(engine: core.engine).entryRefusal(to: group) {
        return "this device joined, but the other devices do not accept it: \(reason); ask for a "
          + "new invitation"
      }
      let membership = core.membership(of: group)
      guard core.ending(in: group) == nil, membership.owner == core.person,
        membership.recovery.isAtRisk(core.person)
      else { return nil }
      guard (try? core.recovery.state()) == .set else {
        return "this is your only device and you have no recovery words: if it is lost, nobody can "
          + "manage the household any more; run `hearth words show`"
      }
      return "this is your only device, and your recovery words do not cover this household yet: "
        + "run `hearth sync`"
    }
  }

  /// Returns the sixty digits of this person's keys and another's, in twelve groups of five.
  package func safetyNumber(with other: PersonID, in group: GroupID) async throws -> String {
    try await node.looking { core in
      let membership = core.membership(of: group)
      func side(_ person: PersonID) throws -> SafetyNumber.Person {
        let keys = try membership.devices.filter { $0.person == person }.map {
          try DevicePublicKeys(validating: $0.card.signKey, box: $0.card.boxKey)
        }
        return try SafetyNumber.Person(id: person.bytes, devices: keys)
      }
      return SafetyNumber(try side(core.person), try side(other)).description
    }
  }
}

extension Node {
  /// The people and devices of this node's groups.
  package nonisolated var people: People { People(node: self) }
}
