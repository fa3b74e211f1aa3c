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

extension Engine {
  /// Creates a group: its control zone, its data zones, and their first keys.
  ///
  /// - Returns: The group and its data zones in the order of their names.
  package mutating func createGroup(
    _ founding: GroupFounding, nowMilliseconds: UInt64
  ) throws -> (group: GroupID, zones: [ZoneID]) {
    let control = try Identifier.random()
    let declared = try founding.zoneNames.map { name in
      ControlOperation.Genesis.ZoneDeclaration(id: try Identifier.random(), name: name)
    }
    let genesis = ControlOperation.Genesis(
      nonce: try Identifier.random(), database: founding.database, controlZone: control,
      zones: declared, founder: founding.person, founderName: founding.personName,
      device: card(named: founding.deviceName), createdMilliseconds: nowMilliseconds)
    let group = Membership.groupID(of: genesis)
    var draft = self
    try store.transaction {
      draft = self
      var operations = [ControlOperation.genesis(genesis)]
      for zone in [ControlOperation.Genesis.ZoneDeclaration(id: control, name: "control")]
        + declared
      {
        let epoch = try EpochKey.random(groupID: group.bytes, zoneID: zone.id.bytes)
        try draft.add(
          zone: zone.id, of: group, kind: zone.id == control ? .control : .data,
          database: founding.database, name: zone.name, secret: try ZoneSecret.random(),
          epochs: [epoch])
        let sealed = try epoch.sealKey(to: identity.publicKeys.boxKey)
        operations.append(
          .epoch(
            ControlOperation.EpochGrant(
              zone: zone.id, epoch: epoch.id, previous: [],
              wraps: [.init(recipient: device, sealed: sealed)])))
      }
      _ = try draft.writeControl(operations, group: group, nowMilliseconds: nowMilliseconds)
      if founding.database == .personal, draft.privateGroup == nil {
        try draft.usePrivateGroup(group)
      }
    }
    self = draft
    return (group, declared.map(\.id))
  }

  /// Writes membership operations of a group as one transaction of its control zone.
  package mutating func writeControl(
    _ operations: [ControlOperation], group: GroupID, nowMilliseconds: UInt64
  ) throws -> Version {
    let zone = try controlZone(of: group)
    for operation in operations where (try? ControlOperation(decoding: operation.encoded)) == nil {
      throw SyncError(
        .tooLarge,
        "a name is longer than the \(ControlOperation.maximumNameBytes) bytes that one may have, "
          + "or there are more than \(ControlOperation.maximumItems) zones or devices: shorten it"
      )
    }
    let dot = try nextDot(in: zone.id)
    let events = operations.enumerated().map { index, operation in
      Operation(
        RecordKey(
          type: ControlOperation.type,
          id: eventID(in: zone.id, type: ControlOperation.type, dot: dot, index: index)),
        .event([EventField(ControlOperation.bodyField, .bytes(operation.encoded))]))
    }
    return try write(events, to: zone.id, nowMilliseconds: nowMilliseconds)
  }

  /// Adds a zone whose keys are known.
  mutating func add(
    zone: ZoneID, of group: GroupID, kind: ZoneKind, database: DatabaseKind, name: String,
    secret: ZoneSecret, epochs: [EpochKey]
  ) throws {
    guard !zones.contains(where: { $0.id == zone }) else {
      throw SyncError(.exists, "this node already has zone \(name)")
    }
    let stored = StoredZone(
      id: zone, group: group, kind: kind, database: database, name: name,
      wrappedSecret: try secret.protected(by: identity, zoneID: zone.bytes),
      wrappedEpochs: try epochs.map { try $0.protected(by: identity) })
    try store.zones.save(stored)
    var state = ZoneState(stored, secret: secret, epochs: epochs, heads: [])
    state.recognise([device] + membership(of: group).cards.keys.sorted())
    zones.append(state)
    zones.sort { $0.id < $1.id }
  }

  /// This device's public keys and name.
  package func card(named name: String) -> DeviceCard {
    DeviceCard(
      signKey: identity.publicKeys.sign, boxKey: identity.publicKeys.box, name: name)
  }
}
