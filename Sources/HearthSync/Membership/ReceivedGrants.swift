import HearthCRDT
import HearthCrypto
import HearthMembership

/// Zones and keys that another device hands to this device.
enum ReceivedGrants {
  /// Adds zones whose keys are sealed to a key pair, and learns keys of zones that exist already.
  ///
  /// - Parameter logs: The logs of the control zone that the sender had. No listing omits them,
  ///   however many files of strangers lie beside them.
  static func take(
    _ grants: [InvitationCapsule.ZoneGrant], of group: GroupID, _ database: DatabaseKind,
    with pair: BoxKeyPair, knowing logs: Frontier = Frontier(), in engine: inout Engine<some Store>
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      for zone in grants {
        let epochs = try zone.epochs.map {
          try EpochKey.openKey(
            $0.sealed, with: pair, expectingID: $0.id, groupID: group.bytes,
            zoneID: zone.id.bytes)
        }
        if let place = draft.zones.firstIndex(where: { $0.id == zone.id }) {
          try EpochKeys.learn(epochs, at: place, in: &draft)
          continue
        }
        try draft.add(
          zone: zone.id, of: group, kind: zone.kind, database: database, name: zone.name,
          secret: try ZoneSecret.open(zone.sealedSecret, with: pair, expectingTag: zone.tag),
          epochs: epochs)
      }
      for place in draft.zones.indices
      where draft.zones[place].group == group && draft.zones[place].kind == .control {
        draft.zones[place].expect(logs)
      }
    }
    engine = draft
  }
}
