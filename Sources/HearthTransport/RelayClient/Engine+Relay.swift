import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

// What a node decides about relays beside exchanging: which mailboxes there are and with which
// keys, how it gets in where it was away, and what it leaves for who is.
extension Engine {
  private static var maximumGrants: Int { 16 }

  /// The mailboxes of the zones that go over a relay, by tag, with the keys of this moment.
  ///
  /// - Parameters:
  ///   - joining: a group that this device is about to join.
  ///   - carried: which groups go over it.
  ///   - moves: how often the mailboxes of a group were left for others there.
  package func relayAccesses(
    joining: GroupID? = nil, carrying carried: CarriedGroups = .everything,
    moves: (GroupID) throws -> UInt64
  ) throws -> [Identifier: MailboxAccess] {
    var accesses: [Identifier: MailboxAccess] = [:]
    var granted: [GroupID: [MailboxKey]] = [:]
    for zone in zones
    where zone.group == joining || isExchanged(zone) && carried.contains(zone.group) {
      if granted[zone.group] == nil { granted[zone.group] = try grantedKeys(of: zone.group) }
      accesses[zone.tag] = try mailboxAccess(of: zone.id, granted: granted[zone.group] ?? [])
        .moved(moves(zone.group))
    }
    return accesses
  }

  /// The same with what is known of a relay.
  package func relayAccesses(
    at relay: RelayTransport, joining: GroupID? = nil
  ) throws -> [Identifier: MailboxAccess] {
    try relayAccesses(joining: joining, carrying: relay.carried) { try relay.moves(of: $0) }
  }

  /// The control zones to whose mailboxes meeting places may belong: those of the households, then
  /// that of the private database, as far as they go over a relay.
  package func meetingPlaceParents(carrying carried: CarriedGroups) -> [Identifier] {
    zones.filter {
      $0.kind == .control && isExchanged($0) && carried.contains($0.group)
        && membership(of: $0.group).isActive(device)
    }.sorted { left, right in
      let isShared = (left.database == .shared, right.database == .shared)
      return isShared.0 != isShared.1 ? isShared.0 : left.group < right.group
    }.map(\.tag)
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
    relay.directory.zones = try relayAccesses(at: relay)
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
    let known = try relay.moves(of: group)
    for moves in known...(known + Engine.maximumMovesAhead) {
      let isIn = try enter(
        group, moves, over: relay, as: recipients, mayCreate: moves == known,
        anchorFile: anchorFile, nowMilliseconds: nowMilliseconds)
      guard isIn else { continue }
      if moves != known { try relay.keepMoves(moves, of: group) }
      break
    }
    relay.directory.zones = try relayAccesses(at: relay, joining: group)
  }

  /// How many mailboxes that were made anew are looked for beyond the one that is known.
  static var maximumMovesAhead: UInt64 { 2 }

  /// Opens the mailbox of a group that was so often made anew, through doors where that is needed.
  ///
  /// - Returns: whether it is open.
  private mutating func enter(
    _ group: GroupID, _ moves: UInt64, over relay: RelayTransport,
    as recipients: [(id: Identifier, pair: BoxKeyPair)], mayCreate: Bool,
    anchorFile: some AnchorFile, nowMilliseconds: UInt64
  ) throws -> Bool {
    let control = try controlZone(of: group)
    let isComing = !membership(of: group).isActive(device)
    var visited: Set<[UInt8]> = []
    while true {
      relay.directory.zones = try relayAccesses(joining: group, carrying: relay.carried) {
        try $0 == group ? moves : relay.moves(of: $0)
      }
      if !mayCreate { relay.directory.zones[control.tag]?.onlyOpens = true }
      guard let access = relay.directory.zones[control.tag] else { return false }
      do {
        let opening = try relay.open(zoneTag: control.tag)
        // Who finds its way in for the first time owes nobody a door.
        if isComing { try relay.attend(access.mailbox, log: opening.opened.head.generation) }
        return true
      } catch let error as TransportError where error.code == .relayRefused {
        let key = access.keys.first { !visited.contains($0.id) }
        guard let key else { return false }
        visited.insert(key.id)
        try visit(
          .door(of: access.mailbox, behind: key, mayCreate: false), group, relay, recipients,
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
}
