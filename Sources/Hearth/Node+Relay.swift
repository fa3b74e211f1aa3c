import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync
import HearthTransport

/// What a relay's client remembers, among the node's facts.
private struct FactMemory: RelayMemory {
  let store: ReplicaStore

  func load(_ name: String) throws -> [UInt8]? { try store.fact(name) }

  func save(_ name: String, _ bytes: [UInt8]) throws {
    try store.transaction { try store.setFact(name, bytes) }
  }
}

/// Remembers nothing beyond the process.
final class NoMemory: RelayMemory {
  private var kept: [String: [UInt8]] = [:]

  func load(_ name: String) -> [UInt8]? { kept[name] }

  func save(_ name: String, _ bytes: [UInt8]) { kept[name] = bytes }
}

// Relays beside folders: which mailboxes there are, with which keys, and who is let in.
extension Node {
  /// Whether a transport's place is a relay's address.
  static func isRelay(_ place: String) -> Bool { place.hasPrefix(RelayAddress.scheme) }

  /// The transport at a place: a folder's path or a relay's address.
  /// - Throws: `SyncError.malformed` for an address that cannot be.
  func transport(_ place: String) throws -> any Transport {
    Node.isRelay(place) ? try relay(place) : folderTransport(place)
  }

  /// The relay at an address, with the keys of this moment.
  func relay(_ text: String) throws -> RelayTransport {
    let relay: RelayTransport
    if let known = relays[text] {
      relay = known
    } else {
      let token = try transports().first { $0.path == text }?.token
      relay = RelayTransport(
        link: try Node.link(text, token: token, device: device.hex, identity: engine.identity),
        memory: FactMemory(store: store), digest: { segmentDigest($0) })
      relays[text] = relay
    }
    relay.directory.zones = try zoneAccesses()
    return relay
  }

  /// A node's connection to a relay.
  static func link(
    _ text: String, token: String?, device: String, identity: DeviceIdentity
  ) throws -> RelayLink {
    let credential = try token.map { try Base32.decode($0) } ?? []
    return RelayLink.shared(
      try RelayAddress(text),
      RelayLink.Owner(
        name: device, credential: credential,
        managerPair: { try identity.relayPair(relayID: $0) }))
  }

  /// The mailboxes of all zones that go over transports, and of those that this node is about to
  /// join.
  private func zoneAccesses() throws -> [Identifier: MailboxAccess] {
    var accesses: [Identifier: MailboxAccess] = [:]
    var granted: [GroupID: [MailboxKey]] = [:]
    for zone in engine.zones where engine.isExchanged(zone) || zone.group == joiningGroup {
      if granted[zone.group] == nil { granted[zone.group] = try grantedKeys(of: zone.group) }
      accesses[zone.tag] = try engine.mailboxAccess(
        of: zone.id, granted: granted[zone.group] ?? [])
    }
    return accesses
  }

  /// Adds a relay; adding one that is there already changes its token only.
  ///
  /// - Throws: `invalid` for what is no address, `offline` if it cannot be reached or is another.
  package func addRelay(_ text: String, token: String? = nil) throws -> TransportSetting {
    let address = try relayAddress(text)
    if let token, (try? Base32.decode(token)) == nil {
      throw HearthError(.invalid, "this is not a relay's token: copy the whole of it")
    }
    var present = try transports().filter { $0.path != address.description }
    let known = try transports().first { $0.path == address.description }
    let setting = TransportSetting(
      number: known?.number ?? (present.map(\.number).max() ?? 0) + 1, kind: "relay",
      path: address.description, token: token ?? known?.token)
    if known == nil { try greet(address) }
    if known?.token != setting.token { relays[setting.path] = nil }
    present.append(setting)
    try save(present.sorted { $0.number < $1.number })
    return setting
  }

  private func relayAddress(_ text: String) throws -> RelayAddress {
    do {
      return try RelayAddress(text.filter { !$0.isWhitespace })
    } catch let error as SyncError {
      throw HearthError(.invalid, "\(error.message)", cause: error)
    }
  }

  /// Sees whether a relay answers, by asking for a mailbox that nobody has.
  private func greet(_ address: RelayAddress) throws {
    let transport = try relay(address.description)
    let nobody = try Engine<ReplicaStore>.randomIdentifier()
    do {
      _ = try transport.open(MailboxAccess(mailbox: nobody, keys: [], mayCreate: false))
    } catch let error as TransportError where error.code == .relayRefused {
      return
    } catch let error as TransportError {
      throw HearthError(.offline, "\(error)", cause: error)
    }
  }

  // MARK: Capsules

  /// Says in which mailbox of a relay a capsule lies; nothing for a folder.
  func lay(_ scope: Identifier, in access: MailboxAccess, on transport: any Transport) {
    (transport as? RelayTransport)?.directory.capsules[scope] = access
  }

  /// Where requests by an invitation and their answers lie, of an invitation in the log.
  func requestAccess(of invite: ControlOperation.InviteCreate) throws -> MailboxAccess {
    try .joinRequests(by: invite.invite, sign: invite.signKey, box: invite.boxKey)
  }

  /// The same for who holds the invitation.
  func requestAccess(of secret: InviteSecret) throws -> MailboxAccess {
    let keys = secret.publicKeys
    return try .joinRequests(
      by: identifier(keys.inviteID), sign: keys.signingKey.bytes, box: keys.boxKey.bytes)
  }

  // MARK: Doors

  private static let maximumGrants = 16
  /// How many doors are filled where a mailbox is made anew: those of a year.
  private static let maximumDoors = 12
  private static let maximumNoticeBytes = 1 << 20

  private static func grantsFact(_ group: GroupID) -> String { "relay.granted.\(group.hex)" }

  /// The keys that were handed to this device at doors.
  private func grantedKeys(of group: GroupID) throws -> [MailboxKey] {
    guard let bytes = try store.fact(Node.grantsFact(group)) else { return [] }
    var reader = ByteReader(bytes)
    var keys: [MailboxKey] = []
    for _ in 0..<(try reader.count("granted keys", itemBytes: 1, atMost: Node.maximumGrants)) {
      let sealed = try reader.blob("granted key", atMost: 256)
      let (root, epoch) = try RelayAccessRoot.open(sealed, with: engine.identity.boxPair)
      keys.append(MailboxKey(id: epoch, root: root))
    }
    return keys
  }

  private func keep(granted key: MailboxKey, of group: GroupID) throws {
    let keys = [key] + (try grantedKeys(of: group)).filter { $0 != key }
    var writer = ByteWriter()
    writer.varint(min(keys.count, Node.maximumGrants))
    for key in keys.prefix(Node.maximumGrants) {
      writer.blob(try key.root.seal(epoch: key.id, to: engine.identity.publicKeys.boxKey))
    }
    try store.transaction { try store.setFact(Node.grantsFact(group), writer.bytes) }
  }

  /// Sees to it that this device can open the groups' mailboxes at a relay, where it was away
  /// while their access keys were changed.
  func admit(over transport: any Transport) throws {
    guard let relay = transport as? RelayTransport else { return }
    try relay.prepare()
    for group in engine.exchangedGroups where ending(in: group) == nil {
      try admit(to: group, over: transport, as: [(device, engine.identity.boxPair)])
    }
  }

  /// The same for one group.
  ///
  /// - Parameter recipients: as whom this node finds what was left for it at doors.
  func admit(
    to group: GroupID, over transport: any Transport,
    as recipients: [(id: Identifier, pair: BoxKeyPair)]
  ) throws {
    guard let relay = transport as? RelayTransport else { return }
    let control = try engine.controlZone(of: group)
    var visited: Set<[UInt8]> = []
    while true {
      relay.directory.zones = try zoneAccesses()
      do {
        _ = try relay.open(zoneTag: control.tag)
        return
      } catch let error as TransportError where error.code == .relayRefused {
        let keys = relay.directory.zones[control.tag]?.keys ?? []
        guard let key = keys.first(where: { !visited.contains($0.id) }) else { return }
        visited.insert(key.id)
        try visit(.door(of: control.tag, behind: key, mayCreate: false), group, relay, recipients)
      }
    }
  }

  /// Takes what lies at a door: the group's news of then, and the next key.
  private func visit(
    _ door: MailboxAccess, _ group: GroupID, _ relay: RelayTransport,
    _ recipients: [(id: Identifier, pair: BoxKeyPair)]
  ) throws {
    guard let key = door.keys.first else { return }
    let control = try engine.controlZone(of: group)
    var directory = RelayDirectory()
    directory.zones[control.tag] = door
    let view = relay.view(directory)
    do {
      var report = TransportReport(setting: relay.place)
      try engine.pull(
        control.id, from: view, anchorFile: anchorFile, nowMilliseconds: now(), &report)
      for (id, pair) in recipients {
        guard let sealed = try view.grant(.grant(to: id, behind: key), in: door),
          let (root, epoch) = try? RelayAccessRoot.open(sealed, with: pair)
        else { continue }
        try keep(granted: MailboxKey(id: epoch, root: root), of: group)
      }
    } catch let error as TransportError where error.code == .relayRefused {
      return
    }
  }

  /// Sets the newest keys at a relay where it still takes older ones.
  ///
  /// Those who were removed are out from then on. The door goes first, so that nobody who stays is
  /// ever without a way in.
  func renewAccess(over transport: any Transport) throws {
    guard let relay = transport as? RelayTransport else { return }
    relay.directory.zones = try zoneAccesses()
    for control in allZones() where control.kind == .control && engine.isExchanged(control) {
      guard engine.membership(of: control.group).isActive(device) else { continue }
      let zones = [control] + allZones().filter { $0.group == control.group && $0.kind == .data }
      for zone in zones {
        guard let access = relay.directory.zones[zone.tag] else { continue }
        let opening: RelayOpening
        do {
          opening = try relay.open(access)
        } catch let error as TransportError where error.code == .relayRefused {
          continue
        }
        guard let newest = access.keys.first else { continue }
        do {
          if zone.kind == .control, opening.isCreated, !relay.attended.contains(opening.number) {
            // Whoever was away knows earlier keys only, also where a relay lost its doors.
            for old in access.keys.dropFirst().prefix(Node.maximumDoors) {
              try fill(behind: old, newest, control, relay)
            }
            relay.attended.insert(opening.number)
          }
          guard let old = Node.replaced(opening, of: access.keys) else { continue }
          if zone.kind == .control { try fill(behind: old, newest, control, relay) }
          try relay.rotate(zoneTag: zone.tag)
        } catch let error as TransportError
          where [.relayFault, .relayRefused].contains(error.code)
        {
          // Somebody else was first, or this device has no right to make the door: the next round
          // looks again.
          continue
        }
      }
    }
    try relay.keep()
  }

  /// The key that opened a mailbox and is not the newest; nil where nothing needs to change.
  private static func replaced(_ opening: RelayOpening, of keys: [MailboxKey]) -> MailboxKey? {
    switch opening.key {
    case .access(0): nil
    case .access(let place): place < keys.count ? keys[place] : keys.last
    // Whoever set a key that no member has is put right.
    case .manager: keys.count > 1 ? keys[1] : keys.first
    }
  }

  /// Leaves at the door behind a key what leads those who stay to the newest one.
  private func fill(
    behind old: MailboxKey, _ newest: MailboxKey, _ control: ZoneState, _ relay: RelayTransport
  ) throws {
    let door = MailboxAccess.door(of: control.tag, behind: old, mayCreate: true)
    var directory = RelayDirectory()
    directory.zones[control.tag] = door
    let view = relay.view(directory)
    let told = try engine.controlSegments(
      of: control.group, sealedUnder: old.id, atMostBytes: Node.maximumNoticeBytes)
    let grants = try engine.doorRecipients(of: control.group).map { recipient in
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
