import HearthCRDT

/// An effective operation that uses or changes a person's recovery words.
package struct RecoveryUse: Sendable {
  /// The id of its operation.
  package let id: RecordID
  /// The owner of the recovery words.
  package let person: PersonID
  /// The device that wrote it.
  package let device: DeviceID
  package let operation: ControlOperation
  /// The number of earlier uses of the person's words by this device.
  package let earlierUses: Int
  let place: Int
}

/// The recovery words of a group's people and their uses.
package struct RecoveryRecords: ResolvedPart {
  let resolved: ResolvedControl

  /// The public recovery keys of every current member who has some, by person, and those that a
  /// returning `comer` has from an earlier membership.
  package func recoveryKeys(
    with comer: PersonID? = nil
  ) -> [(person: PersonID, keys: ControlOperation.RecoveryKeys)] {
    var ids = Set(outcome.people.map(\.id))
    if let comer, !Mutant.returnsWithoutWords.isActive { ids.insert(comer) }
    return ids.sorted().compactMap { person in
      LogView.all.recoveryKeys(of: person, in: findings).map { (person, $0.keys) }
    }
  }

  /// The public keys of a person's recovery words; nil if the person has none.
  package func recoveryKeys(of person: PersonID) -> ControlOperation.RecoveryKeys? {
    LogView.all.recoveryKeys(of: person, in: findings)?.keys
  }

  /// Whether a person has only one device and no recovery words, so that the loss of the device
  /// loses everything that no other person keeps.
  package func isAtRisk(_ person: PersonID) -> Bool {
    recoveryKeys(of: person) == nil && outcome.devices.count { $0.person == person } == 1
  }

  /// The uses of recovery words, by person in order of id, then in log order.
  package func recoveryUses() -> [RecoveryUse] {
    let uses = findings.index.recovered.merging(findings.index.words) { $0 + $1 }
    return uses.sorted { $0.key < $1.key }.flatMap { person, places in
      places.sorted().filter { findings.isLive[$0] }.map { place in
        let item = log.items[place]
        let earlier = (findings.index.recovered[person] ?? []).count {
          $0 < place && findings.isLive[$0] && log.devices[$0] == item.device
        }
        return RecoveryUse(
          id: item.id, person: person, device: item.device, operation: item.operation,
          earlierUses: earlier, place: place)
      }
    }
  }

  /// Whether a device joined the group with this use of recovery words in its past.
  package func came(_ device: DeviceID, after use: RecoveryUse) -> Bool {
    findings.live.enrolments[log.deviceNames[device]].contains { log.sees($0, use.place) }
  }
}
