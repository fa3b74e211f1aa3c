import HearthCRDT

extension ControlOperation {
  /// Tells what a zone of records holds at one point, by somebody who has all changes up to there.
  ///
  /// A snapshot shows who sums up; this shows who has checked it (decision 0065).
  package struct SnapshotAttest: ControlCodable {
    /// How many bytes a digest has.
    package static let digestBytes = 32

    package let zone: ZoneID
    /// Stands for the end of every log in the zone: its number and its chain hash.
    package let mark: Identifier
    /// The digest of the whole state at that point.
    package let digest: [UInt8]

    /// Takes a digest of ``digestBytes`` bytes.
    package init(zone: ZoneID, mark: Identifier, digest: [UInt8]) {
      precondition(digest.count == SnapshotAttest.digestBytes, "a digest of \(digest.count) bytes")
      self.zone = zone
      self.mark = mark
      self.digest = digest
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("attested zone")), (\.mark, .identifier("attested point")),
      (\.digest, .raw(digestBytes, "attested digest")))
  }
}

// MARK: - Whose word counts

/// What somebody says that a zone holds at one point.
package struct SnapshotAttestation: Equatable, Sendable {
  /// Who says so, with a role that writes.
  package let person: PersonID
  /// The point, as in the operation.
  package let mark: Identifier
  package let digest: [UInt8]
}

extension Membership {
  /// The attestations of a zone that count, in the log's order: those of people who are in the
  /// group now with the role of a member or a higher one.
  package func attestations(of zone: ZoneID) -> [SnapshotAttestation] {
    return attestPlaces.compactMap { place in
      guard resolver.isLive[place],
        case .snapshotAttest(let attest) = resolver.log.operation(place),
        attest.zone == zone, let person = resolver.person(place),
        people.contains(where: { $0.id == person && $0.role.rank >= Role.member.rank })
      else { return nil }
      return SnapshotAttestation(person: person, mark: attest.mark, digest: attest.digest)
    }
  }

  /// Whether a device has written an attestation, to effect or not.
  package func hasAttested(
    _ device: DeviceID, _ attest: ControlOperation.SnapshotAttest
  ) -> Bool {
    return attestPlaces.contains { place in
      resolver.log.devices[place] == device
        && resolver.log.operation(place) == .snapshotAttest(attest)
    }
  }

  private var attestPlaces: [Int] {
    resolver.index.kinds[ControlOperation.Kind.snapshotAttest.rawValue] ?? []
  }

  /// Whether one person's word adds to another's.
  ///
  /// Whoever came in by somebody, directly or through others, may have begun from what that one
  /// said, or may have been let in to say it: such a word adds nothing. An owner has nobody above,
  /// so what an owner says is believed when anybody else who has checked it says the same.
  package func isIndependent(_ person: PersonID, of maker: PersonID) -> Bool {
    guard person != maker else { return false }
    guard maker != owner else { return true }
    var seen: Set<PersonID> = [person]
    var rest = [person]
    while let next = rest.popLast() {
      for other in whoLetIn(next) where seen.insert(other).inserted {
        if other == maker { return false }
        rest.append(other)
      }
    }
    return true
  }

  /// Whether somebody in the group waits for a person's word on what was before.
  ///
  /// Those whom the person let in do; an owner speaks for everybody whom nobody else can speak for.
  package func isAskedForWord(_ person: PersonID) -> Bool {
    person == owner || people.contains { $0.id != person && whoLetIn($0.id).contains(person) }
      || openInvites.contains { self.person(of: $0.creator)?.id == person }
  }

  /// Those who invited or approved a person, in order of id; nobody for a founder.
  package func whoLetIn(_ person: PersonID) -> [PersonID] {
    guard let addition = resolver.addition(of: person, .all)
    else { return [] }
    return resolver.whoLetIn(by: addition).sorted()
  }
}

extension ControlResolver {
  /// Those who invited or approved whoever came by an operation.
  func whoLetIn(by place: Int) -> Set<PersonID> {
    var people: Set<PersonID> = []
    let invite: Identifier
    switch log.operation(place) {
    case .join(let join): invite = join.invite
    case .admit(let admit):
      invite = admit.join.invite
      if let approver = person(place) { people.insert(approver) }
    default: return []
    }
    if let made = self.invite(invite, .all)?.place, let inviter = person(made) {
      people.insert(inviter)
    }
    return people
  }
}
