import HearthCRDT
import HearthCrypto
import HearthMembership

/// The data that a person who creates a group provides.
package struct GroupFounding: Sendable {
  package let database: DatabaseKind
  package let zoneNames: [String]
  package let person: PersonID
  package let personName: String
  package let deviceName: String

  package init(
    database: DatabaseKind, zoneNames: [String], person: PersonID, personName: String,
    deviceName: String
  ) {
    self.database = database
    self.zoneNames = zoneNames
    self.person = person
    self.personName = personName
    self.deviceName = deviceName
  }
}

/// Creation of a group.
package enum GroupCreation {
  /// Creates a group of the engine's application: its control zone, its data zones, and their first
  /// keys.
  ///
  /// - Returns: The group and its data zones in the order of their names.
  package static func create(
    _ founding: GroupFounding, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> (group: GroupID, zones: [ZoneID]) {
    let control = try Identifier.random()
    let declared = try founding.zoneNames.map { name in
      ControlOperation.Genesis.ZoneDeclaration(id: try Identifier.random(), name: name)
    }
    let genesis = ControlOperation.Genesis(
      nonce: try Identifier.random(), database: founding.database, controlZone: control,
      zones: declared, founder: founding.person, founderName: founding.personName,
      device: OwnCards(engine: engine).card(named: founding.deviceName),
      createdMilliseconds: nowMilliseconds, application: engine.application)
    let group = ControlIdentity.groupID(of: genesis)
    var draft = engine
    try engine.store.transaction {
      draft = engine
      var operations = [ControlOperation.genesis(genesis)]
      for zone in [ControlOperation.Genesis.ZoneDeclaration(id: control, name: "control")]
        + declared
      {
        let epoch = try EpochKey.random(groupID: group.bytes, zoneID: zone.id.bytes)
        try draft.add(
          zone: zone.id, of: group, kind: zone.id == control ? .control : .data,
          database: founding.database, name: zone.name, secret: try ZoneSecret.random(),
          epochs: [epoch])
        let sealed = try epoch.sealKey(to: engine.identity.publicKeys.boxKey)
        operations.append(
          .epoch(
            ControlOperation.EpochGrant(
              zone: zone.id, epoch: epoch.id, previous: [],
              wraps: [.init(recipient: engine.device, sealed: sealed)])))
      }
      _ = try ControlWriting.write(
        operations, group: group, in: &draft, nowMilliseconds: nowMilliseconds)
      if founding.database == .personal, draft.privateGroup == nil {
        try PrivateGroupChoice.use(group, in: &draft)
      }
    }
    engine = draft
    return (group, declared.map(\.id))
  }
}
