import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// The mailboxes of a node's groups at one relay.
///
/// Which mailboxes there are, with which keys, and whom they should list.
package struct RelayMailboxes<Turns: ReplicaTurns> {
  let relay: RelayTransport
  let turns: Turns

  /// - Parameter turns: who gives turns with the replicas.
  package init(at relay: RelayTransport, with turns: Turns) {
    self.relay = relay
    self.turns = turns
  }

  /// The engine as it stands: to read from, as a relay is asked in between.
  var engine: Engine<Turns.Replicas> {
    get throws { try turns.turn { $0 } }
  }

  /// The mailboxes of the zones that go over the relay, by tag, with the keys of this moment.
  ///
  /// - Parameter joining: a group that this device is about to join.
  package func accesses(joining: GroupID? = nil) throws -> [Identifier: MailboxAccess] {
    try accesses(joining: joining) { try relay.notes.moves(of: $0).current }
  }

  /// The same of mailboxes that may have been left for others.
  ///
  /// - Parameter moves: how often the mailboxes of a group were.
  func accesses(
    joining: GroupID? = nil, moves: (GroupID) throws -> UInt64
  ) throws -> [Identifier: MailboxAccess] {
    let engine = try engine
    var accesses: [Identifier: MailboxAccess] = [:]
    var granted: [GroupID: [MailboxKey]] = [:]
    for zone in engine.zones
    where zone.group == joining
      || ExchangeScope(engine: engine).isExchanged(zone) && relay.carried.contains(zone.group)
    {
      if granted[zone.group] == nil { granted[zone.group] = try grantedKeys(of: zone.group) }
      accesses[zone.tag] = try mailboxAccess(of: zone.id, granted: granted[zone.group] ?? [])
        .moved(moves(zone.group))
    }
    return accesses
  }

  /// By which keys a zone's mailbox may be opened: those of the control zone's epochs, the one
  /// that is written under first, the others from the latest.
  ///
  /// - Parameter granted: keys that were handed to this device without their epochs.
  func mailboxAccess(of id: ZoneID, granted: [MailboxKey]) throws -> MailboxAccess {
    let engine = try engine
    let zone = try engine.zone(id)
    var keys = try RekeyHandoffs(engine: engine).controlEpochs(
      of: zone.group, atMost: MailboxAccess.maximumKeys
    ).map {
      MailboxKey(id: $0.id, root: try $0.relayAccessRoot())
    }
    keys += granted.filter { !keys.contains($0) }
    var access = MailboxAccess(
      mailbox: zone.tag, keys: keys,
      mayCreate: engine.membership(of: zone.group).isActive(engine.device))
    access.isOver = ExchangedZones(engine: engine).isFormer(of: id)
    return access
  }

  /// The control zones to whose mailboxes meeting places may belong: those of the households, then
  /// that of the private database, as far as they go over a relay.
  package func meetingPlaceParents() throws -> [Identifier] {
    let engine = try engine
    return engine.zones.filter {
      $0.kind == .control && ExchangeScope(engine: engine).isExchanged($0)
        && relay.carried.contains($0.group)
        && engine.membership(of: $0.group).isActive(engine.device)
    }.sorted { left, right in
      let isShared = (left.database == .shared, right.database == .shared)
      return isShared.0 != isShared.1 ? isShared.0 : left.group < right.group
    }.map(\.tag)
  }

  // MARK: Keys from handoffs

  /// The keys that were handed to this device in handoffs.
  func grantedKeys(of group: GroupID) throws -> [MailboxKey] {
    let engine = try engine
    let granted = try engine.store.facts.value(of: RelayGrants.fact(of: group)) ?? []
    return try granted.map { sealed in
      let (root, epoch) = try RelayAccessRoot.open(sealed, with: engine.identity.boxPair)
      return MailboxKey(id: epoch, root: root)
    }
  }

  /// Keeps a key that was handed to this device in a handoff.
  func keep(granted key: MailboxKey, of group: GroupID) throws {
    let keys = [key] + (try grantedKeys(of: group)).filter { $0 != key }
    try turns.turn { engine in
      let sealed = try keys.prefix(RelayGrants.maximumCount).map {
        try $0.root.seal(epoch: $0.id, to: engine.identity.publicKeys.boxKey)
      }
      try engine.store.transaction {
        try engine.store.facts.set(RelayGrants.fact(of: group), to: sealed)
      }
    }
  }

  // MARK: Lists

  /// Whom the mailboxes of a group should list at a relay.
  ///
  /// Every member computes the same from the log, so no device has to announce its key. Where there
  /// are more than a list takes, the highest roles go first.
  package func list(
    of group: GroupID, relayID: [UInt8]
  ) throws -> RelayList {
    let membership = try engine.membership(of: group)
    var list = RelayList()
    var devices: [(role: Role, id: DeviceID, key: [UInt8])] = []
    for device in membership.allDevices {
      guard let key = try? relay.rosters.pseudonym(of: device.card.signKey, relayID: relayID) else {
        continue
      }
      let person = membership.person(device.person)?.name ?? "a former member"
      list.holders[key] = "\(device.card.name) of \(person)"
      if let role = membership.role(of: device.id) { devices.append((role, device.id, key)) }
    }
    devices.sort { ($1.role.rawValue, $0.id) < ($0.role.rawValue, $1.id) }
    var words: [[UInt8]] = []
    for (person, keys) in membership.recovery.recoveryKeys() {
      guard let role = membership.person(person)?.role, role.rawValue >= Role.admin.rawValue,
        let key = try? relay.rosters.pseudonym(of: keys.sign, relayID: relayID)
      else { continue }
      list.holders[key] = "the recovery words of \(membership.person(person)?.name ?? "somebody")"
      words.append(key)
    }
    let managers = devices.filter { $0.role.rawValue >= Role.admin.rawValue }.map(\.key) + words
    list.managers = Set(managers.prefix(RelayLimits.maximumManagers))
    let others = devices.map(\.key).filter { !list.managers.contains($0) }
    list.authors = Set(others.prefix(RelayLimits.maximumAuthors))
    return list
  }
}
