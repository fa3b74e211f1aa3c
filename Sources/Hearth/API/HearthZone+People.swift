import HearthCRDT
import HearthMembership
import HearthSync

// The people of a zone. All zones that one invitation leads to have the same people.
extension HearthZone {
  /// Returns the people who belong to the zone, with their devices, in order of name.
  ///
  /// It shows what has arrived here: after ``leave()`` or a removal it stays as it was last seen.
  public func members() async throws(HearthError) -> [ZoneMember] {
    try await Hearth.reported {
      try await node.working { try ZonePeople(core: $0, zone: zone).members() }
    }
  }

  /// Returns the person of this node as a member; nil if the person does not belong to the zone.
  public func me() async throws(HearthError) -> ZoneMember? {
    try await members().first(where: \.isMe)
  }

  /// Gives a person another role.
  ///
  /// One may give roles below one's own to people below oneself, and lower one's own. What the
  /// person wrote before stays. It exchanges with the others before and after, as far as they can
  /// be reached.
  ///
  /// - Throws: `notFound` if the person does not belong to the zone; `notAllowed`; `invalid` for
  ///   the owner's role, which is offered instead.
  public func setRole(
    of person: Key<ZoneMember>, to role: ZoneRole
  ) async throws(HearthError) {
    try await Hearth.reported {
      guard role != .owner else {
        throw HearthError(
          .invalid,
          "a role cannot make somebody the owner: the owner offers the ownership")
      }
      let group = try await sharedGroup()
      try await exchanging {
        try await node.people.setRole(of: person.identifier, to: role.role, in: group)
      }
    }
  }

  /// Removes a person with all devices.
  ///
  /// The zone gets new keys at once, so the person reads nothing that is written from now on.
  /// What the person has already read stays readable there: nobody can undo that. It exchanges with
  /// the others before and after, as far as they can be reached.
  ///
  /// - Throws: `notFound` if the person does not belong to the zone; `notAllowed`; `invalid` for
  ///   oneself, who leaves instead.
  public func remove(_ person: Key<ZoneMember>) async throws(HearthError) {
    try await Hearth.reported {
      let group = try await sharedGroup { people, _ in
        try people.requireOther(
          person.identifier, instead: "you cannot remove yourself: leave the zone instead")
      }
      try await exchanging { try await node.people.remove(person.identifier, from: group) }
    }
  }

  /// Ends the access of a device that is lost, stolen or sold; its person stays.
  ///
  /// The zone gets new keys at once. A device of one's own loses the private database too. It
  /// exchanges with the others before and after, as far as they can be reached.
  ///
  /// - Throws: `notFound` if the device does not belong to the zone; `notAllowed`; `invalid` for
  ///   this device, which another one revokes.
  public func revoke(_ device: Key<ZoneDevice>) async throws(HearthError) {
    try await Hearth.reported {
      let group = try await sharedGroup()
      try await exchanging { try await node.people.revoke(device.identifier, from: group) }
    }
  }

  /// Leaves the zone with all of this person's devices.
  ///
  /// What only this device has is published first. The data stays here, and nothing new comes.
  ///
  /// - Throws: `offline` if the last changes could not be published, so that nothing has changed;
  ///   `notAllowed` for the owner, who transfers the zone first, and for somebody who does not
  ///   belong to the zone any more.
  public func leave() async throws(HearthError) {
    try await Hearth.reported {
      let group = try await sharedGroup { people, group in try people.requireMayLeave(group) }
      _ = try await node.people.leave(group)
    }
  }

  // MARK: The owner

  /// Offers the ownership to another person, who becomes the owner by accepting it.
  ///
  /// It needs the owner's recovery words, so that somebody with a stolen device cannot do it. An
  /// offer to oneself withdraws an earlier one, for those who have not accepted it yet.
  ///
  /// - Throws: `notAllowed` if this person is not the owner, has no recovery words, or if these are
  ///   others; `notFound` if the person does not belong to the zone.
  public func offerOwnership(
    to person: Key<ZoneMember>, words: RecoveryPhrase
  ) async throws(HearthError) {
    try await Hearth.reported {
      let group = try await sharedGroup()
      try await exchanging {
        try await node.people.transferOwner(
          of: group, to: person.identifier, words: words.text())
      }
    }
  }

  /// Returns the open offers of the ownership that have arrived here.
  public func ownershipTransfers() async throws(HearthError) -> [OwnershipTransfer] {
    try await Hearth.reported {
      try await node.working { try ZonePeople(core: $0, zone: zone).transfers() }
    }
  }

  /// Becomes the owner by an offer; the former owner is an admin then.
  ///
  /// - Throws: `notFound` or `notAllowed` if the offer is not open, or is for somebody else.
  public func accept(_ transfer: OwnershipTransfer) async throws(HearthError) {
    try await Hearth.reported {
      let group = try await sharedGroup()
      try await exchanging {
        try await node.people.acceptOwner(of: group, offer: transfer.id.identifier)
      }
    }
  }

  // MARK: Parts

  /// Returns the group of a shared zone after a check.
  private func sharedGroup(
    _ check: @Sendable (ZonePeople, GroupID) throws -> Void = { _, _ in }
  ) async throws -> GroupID {
    try await node.working { core in
      let people = ZonePeople(core: core, zone: zone)
      let group = try people.sharedGroup()
      try check(people, group)
      return group
    }
  }

  /// Runs a change between two exchanges with the others.
  ///
  /// A removal must not take back what others already have, and they should learn of it at once. A
  /// transport that cannot be reached prevents neither.
  func exchanging(_ change: () async throws -> Void) async throws {
    try await exchangeIfPossible()
    try await change()
    try await exchangeIfPossible()
  }

  /// Syncs if there is a transport.
  private func exchangeIfPossible() async throws {
    guard try await !node.transports.list().isEmpty else { return }
    _ = try await node.sync()
  }
}
