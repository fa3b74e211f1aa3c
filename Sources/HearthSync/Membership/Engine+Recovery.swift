import HearthCRDT
import HearthCrypto

// From recovery words alone back into a group: what lies sealed for the words, and taking it.
extension Engine {
  /// What a person's recovery words need to reach a group again: its zones with the keys held here,
  /// sealed to the words, to be sealed once more and laid where the words find it.
  ///
  /// It need not be new: keys that were made since are found in the log, wrapped to the words.
  ///
  /// - Throws: `notFound` if the person has no words in this group.
  package func recoveryBody(
    for person: PersonID, in group: GroupID, named groupName: String
  ) throws -> [UInt8] {
    let membership = membership(of: group)
    guard let keys = membership.recoveryKeys(of: person), let known = membership.person(person)
    else { throw SyncError(.notFound, "there are no recovery words of this person in the group") }
    let control = try controlZone(of: group)
    let capsule = InvitationCapsule(
      group: group, database: control.database, groupName: groupName, inviterName: known.name,
      role: known.role, expiresMilliseconds: .max,
      zones: try zoneGrants(of: group, to: BoxPublicKey(validating: keys.box)),
      controlFrontier: control.frontier)
    var writer = ByteWriter()
    writer.identifier(person)
    writer.raw(capsule.encoded)
    return writer.bytes
  }

  /// Takes the zones that lie sealed for recovery words, so that their logs can be fetched.
  ///
  /// - Returns: whose words they are, and of which group.
  package mutating func beginRecovery(
    _ body: [UInt8], with pair: BoxKeyPair
  ) throws -> (person: PersonID, capsule: InvitationCapsule) {
    do {
      var reader = ByteReader(body)
      let person = try reader.identifier("person")
      let capsule = try InvitationCapsule(decoding: Array(body.dropFirst(Identifier.byteCount)))
      try take(capsule.zones, of: capsule.group, capsule.database, with: pair)
      return (person, capsule)
    } catch let error as CodecError {
      throw SyncError(.malformed, "what lies for the words is malformed: \(error)", cause: error)
    }
  }

  /// Takes every key that the group's log wraps to a person's words, as long as each opens more of
  /// the log.
  package mutating func learnKeys(
    of group: GroupID, wrappedFor person: PersonID, with pair: BoxKeyPair, nowMilliseconds: UInt64
  ) throws {
    var isNew = true
    while isNew {
      isNew = false
      let membership = membership(of: group)
      for place in zones.indices where zones[place].group == group {
        let zone = zones[place]
        for epoch in membership.epochs(of: zone.id) where zone.epoch(id: epoch.grant.epoch) == nil {
          guard let wrap = epoch.grant.recovery.first(where: { $0.recipient == person }),
            let key = try? EpochKey.openKey(
              wrap.sealed, with: pair, expectingID: epoch.grant.epoch, groupID: group.bytes,
              zoneID: zone.id.bytes)
          else { continue }
          try learn([key], at: place)
          isNew = true
        }
      }
      guard isNew else { return }
      for zone in zones where zone.group == group {
        _ = try receive([], in: zone.id, nowMilliseconds: nowMilliseconds)
      }
      try refreshMembership(of: group)
    }
  }
}
