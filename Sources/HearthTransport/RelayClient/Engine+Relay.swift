import HearthCRDT
import HearthCrypto
import HearthSync

// What a node decides about relays beside exchanging: which mailboxes there are and with which
// keys, how it gets in where it was away, and what it leaves for who is.
extension Engine {
  private static var maximumGrants: Int { 16 }
  /// How many doors are filled where a mailbox is made anew: those of a year.
  private static var maximumDoors: Int { 12 }
  private static var maximumNoticeBytes: Int { 1 << 20 }

  /// The mailboxes of the zones that go over a relay, by tag, with the keys of this moment.
  ///
  /// - Parameters:
  ///   - joining: a group that this device is about to join.
  ///   - carried: which groups go over it.
  package func relayAccesses(
    joining: GroupID? = nil, carrying carried: CarriedGroups = .everything
  ) throws -> [Identifier: MailboxAccess] {
    var accesses: [Identifier: MailboxAccess] = [:]
    var granted: [GroupID: [MailboxKey]] = [:]
    for zone in zones
    where zone.group == joining || isExchanged(zone) && carried.contains(zone.group) {
      if granted[zone.group] == nil { granted[zone.group] = try grantedKeys(of: zone.group) }
      accesses[zone.tag] = try mailboxAccess(of: zone.id, granted: granted[zone.group] ?? [])
    }
    return accesses
  }

  // MARK: Keys from doors

  private static func grantsFact(_ group: GroupID) -> String { "relay.granted.\(group.hex)" }

  /// The keys that were handed to this device at doors.
  private func grantedKeys(of group: GroupID) throws -> [MailboxKey] {
    guard let bytes = try store.fact(Engine.grantsFact(group)) else { return [] }
    var reader = ByteReader(bytes)
    var keys: [MailboxKey] = []
    for _ in 0..<(try reader.count("granted keys", itemBytes: 1, atMost: Engine.maximumGrants)) {
      let sealed = try reader.blob("granted key", atMost: 256)
      let (root, epoch) = try RelayAccessRoot.open(sealed, with: identity.boxPair)
      keys.append(MailboxKey(id: epoch, root: root))
    }
    return keys
  }

  private func keep(granted key: MailboxKey, of group: GroupID) throws {
    let keys = [key] + (try grantedKeys(of: group)).filter { $0 != key }
    var writer = ByteWriter()
    writer.varint(min(keys.count, Engine.maximumGrants))
    for key in keys.prefix(Engine.maximumGrants) {
      writer.blob(try key.root.seal(epoch: key.id, to: identity.publicKeys.boxKey))
    }
    try store.transaction { try store.setFact(Engine.grantsFact(group), writer.bytes) }
  }

  // MARK: Getting in

  /// Sees to it that this device can open the mailboxes of some groups at a relay, where it was
  /// away while their access keys were changed.
  /// - Throws: a transport's error.
  package mutating func admit(
    to groups: [GroupID], over relay: RelayTransport, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws {
    relay.directory.zones = try relayAccesses(carrying: relay.carried)
    try relay.prepare()
    for group in groups {
      try admit(
        to: group, over: relay, as: [(device, identity.boxPair)], anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
    }
  }

  /// The same for one group.
  ///
  /// - Parameter recipients: as whom this node finds what was left for it at doors.
  package mutating func admit(
    to group: GroupID, over relay: RelayTransport,
    as recipients: [(id: Identifier, pair: BoxKeyPair)], anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws {
    let control = try controlZone(of: group)
    var visited: Set<[UInt8]> = []
    while true {
      relay.directory.zones = try relayAccesses(joining: group, carrying: relay.carried)
      do {
        _ = try relay.open(zoneTag: control.tag)
        return
      } catch let error as TransportError where error.code == .relayRefused {
        let keys = relay.directory.zones[control.tag]?.keys ?? []
        guard let key = keys.first(where: { !visited.contains($0.id) }) else { return }
        visited.insert(key.id)
        try visit(
          .door(of: control.tag, behind: key, mayCreate: false), group, relay, recipients,
          anchorFile, nowMilliseconds)
      }
    }
  }

  /// Takes what lies at a door: the group's news of then, and the next key.
  private mutating func visit(
    _ door: MailboxAccess, _ group: GroupID, _ relay: RelayTransport,
    _ recipients: [(id: Identifier, pair: BoxKeyPair)], _ anchorFile: some AnchorFile,
    _ nowMilliseconds: UInt64
  ) throws {
    guard let key = door.keys.first else { return }
    let control = try controlZone(of: group)
    var directory = RelayDirectory()
    directory.zones[control.tag] = door
    let view = relay.view(directory)
    do {
      var report = TransportReport(setting: relay.place)
      try pull(
        control.id, from: view, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds, &report)
      for (id, pair) in recipients {
        guard let sealed = try view.grant(.grant(to: id, behind: key), in: door),
          let (root, epoch) = try? RelayAccessRoot.open(sealed, with: pair)
        else { continue }
        Probe.doorPassed.hit()
        try keep(granted: MailboxKey(id: epoch, root: root), of: group)
      }
    } catch let error as TransportError where error.code == .relayRefused {
      return
    }
  }

  // MARK: Changing the keys

  /// Sets the newest keys at a relay where it still takes older ones.
  ///
  /// Those who were removed are out from then on. The door goes first, so that nobody who stays is
  /// ever without a way in.
  ///
  /// - Returns: what keeps old keys at the relay though newer ones are here, in words.
  /// - Throws: a transport's error.
  package func renewAccess(over relay: RelayTransport) throws -> [TransportProblem] {
    var problems: [TransportProblem] = []
    relay.directory.zones = try relayAccesses(carrying: relay.carried)
    for control in zones where control.kind == .control && isExchanged(control) {
      guard membership(of: control.group).isActive(device) else { continue }
      for zone in [control] + zones.filter({ $0.group == control.group && $0.kind == .data }) {
        if try !renewAccess(of: zone, under: control, over: relay), problems.isEmpty {
          problems.append(Engine.oldKeysProblem(at: relay.place))
        }
      }
    }
    try relay.keep()
    return problems
  }

  private static func oldKeysProblem(at place: String) -> TransportProblem {
    TransportProblem(
      place: place,
      fault: "it still takes the keys of before a removal: who was removed can fetch sealed files "
        + "there, and read nothing new in them. To change the keys a mailbox more is needed, which "
        + "the relay did not let this device make",
      remedy: "sync on a device that may make some, or ask who runs the relay for a token and "
        + "`hearth transport add relay ADDRESS --token TOKEN`", hidesData: true)
  }

  /// - Returns: false where newer keys wait because the relay lets this device make no door.
  private func renewAccess(
    of zone: ZoneState, under control: ZoneState, over relay: RelayTransport
  ) throws -> Bool {
    guard let access = relay.directory.zones[zone.tag] else { return true }
    let opening: RelayOpening
    do {
      opening = try relay.open(access)
    } catch let error as TransportError where error.code == .relayRefused {
      return true
    }
    guard let newest = access.keys.first else { return true }
    var isRenewed = false
    let replaced = Engine.replaced(opening, of: access.keys)
    do {
      if zone.kind == .control, opening.isCreated, !relay.attended.contains(opening.number) {
        // Whoever was away knows earlier keys only, also where a relay lost its doors.
        for old in access.keys.dropFirst().prefix(Engine.maximumDoors) {
          Probe.doorRefilled.hit()
          try fill(behind: old, newest, control, relay)
        }
        relay.attended.insert(opening.number)
        isRenewed = true
      }
      if let old = replaced, !Mutant.neverTurnsKeys.isActive {
        if zone.kind == .control { try fill(behind: old, newest, control, relay) }
        Probe.accessRenewed.hit()
        try relay.rotate(zoneTag: zone.tag)
        isRenewed = true
      }
      if zone.kind == .control {
        try leadOn(
          to: newest, of: access.keys, under: control, over: relay, isRenewed: isRenewed)
      }
    } catch let error as TransportError where [.relayFault, .relayRefused].contains(error.code) {
      // Somebody else was first, or this device has no right to make the door: the next round
      // looks again.
      Probe.renewalLost.hit()
      return isRenewed || replaced == nil || error.code != .relayRefused
    }
    return true
  }

  /// The key that opened a mailbox and is not the newest; nil where nothing needs to change.
  private static func replaced(_ opening: RelayOpening, of keys: [MailboxKey]) -> MailboxKey? {
    switch opening.key {
    case .access(0): return nil
    case .access(let place): return place < keys.count ? keys[place] : keys.last
    // Whoever set a key that no member has is put right; once, however long the session lasts.
    case .manager:
      if opening.wantsNewest { return nil }
      Probe.managerPutRight.hit()
      return keys.count > 1 ? keys[1] : keys.first
    }
  }

  /// Leaves what leads to the newest key also at the doors of those of whom somebody had not heard
  /// who made a key: where that one changed the access key, the door behind the key that they have
  /// holds nothing for them.
  ///
  /// Once for each of them and each such key, and again with every change of the access key: a
  /// relay that was set back to an old copy has lost what was left there.
  private func leadOn(
    to newest: MailboxKey, of keys: [MailboxKey], under control: ZoneState,
    over relay: RelayTransport, isRenewed: Bool
  ) throws {
    if Mutant.forgetsPassedBy.isActive { return }
    let found = try passedBy(in: control.group).filter { $0.behind != newest.id }
      .map { (door: $0.behind, mark: segmentDigest($0.bytes)) }
    guard !found.isEmpty else { return }
    let known = isRenewed ? [] : try relay.marks(of: control.tag)
    let owed = Set(found.filter { !known.contains($0.mark) }.map(\.door))
    let doors = keys.filter { owed.contains($0.id) }.prefix(Engine.maximumDoors)
    guard !doors.isEmpty else { return }
    for old in doors {
      Probe.passedByLed.hit()
      try fill(behind: old, newest, control, relay)
    }
    let filled = Set(doors.map(\.id))
    try relay.mark(
      control.tag,
      with: found.filter { known.contains($0.mark) || filled.contains($0.door) }.map(\.mark))
  }

  /// Leaves at the door behind a key what leads those who stay to the newest one.
  private func fill(
    behind old: MailboxKey, _ newest: MailboxKey, _ control: ZoneState, _ relay: RelayTransport
  ) throws {
    if Mutant.leavesDoorsEmpty.isActive { return }
    let door = MailboxAccess.door(of: control.tag, behind: old, mayCreate: true)
    var directory = RelayDirectory()
    directory.zones[control.tag] = door
    let view = relay.view(directory)
    let told = try controlSegments(
      of: control.group, sealedUnder: old.id, atMostBytes: Engine.maximumNoticeBytes)
    let grants = try doorRecipients(of: control.group).map { recipient in
      (
        name: RelayName.grant(to: recipient.id, behind: old),
        bytes: try newest.root.seal(
          epoch: newest.id, to: BoxPublicKey(validating: recipient.box))
      )
    }
    try view.publish(told)
    try view.give(grants, in: door)
  }
}
