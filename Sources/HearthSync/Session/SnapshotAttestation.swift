import HearthCRDT
import HearthMembership

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
    said(.snapshotAttest).compactMap { said in
      guard said.counts, case .snapshotAttest(let attest) = said.item.operation,
        attest.zone == zone, let person = said.person,
        people.contains(where: { $0.id == person && $0.role.rank >= Role.member.rank })
      else { return nil }
      return SnapshotAttestation(person: person, mark: attest.mark, digest: attest.digest)
    }
  }

  /// Whether a device has written an attestation, to effect or not.
  package func hasAttested(
    _ device: DeviceID, _ attest: ControlOperation.ZoneDigest
  ) -> Bool {
    said(.snapshotAttest).contains {
      $0.item.device == device && $0.item.operation == .snapshotAttest(attest)
    }
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
      for other in entries.whoLetIn(next) where seen.insert(other).inserted {
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
    person == owner
      || people.contains { $0.id != person && entries.whoLetIn($0.id).contains(person) }
      || openInvites.contains { self.person(of: $0.creator)?.id == person }
  }
}
