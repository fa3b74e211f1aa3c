import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

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
  ///
  /// What it moves is told to whoever listens, counted from now on.
  /// - Throws: `invalid` for an address that cannot be.
  func transport(_ place: String) throws -> any Transport {
    guard Node.isRelay(place) else {
      let folder = folderTransport(place)
      return transferListener.map { MeteredTransport(folder, place: place, listener: $0) }
        ?? folder
    }
    let relay = try relay(Node.relayAddress(place).description)
    relay.report(to: transferListener)
    return relay
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
    relay.carried = try groups(over: text)
    let mailboxes = RelayMailboxes(at: relay, with: OwnTurns(engine))
    relay.directory.zones = try mailboxes.accesses(joining: joiningGroup)
    relay.directory.parents = try mailboxes.meetingPlaceParents()
      .map { relay.directory.zones[$0]?.mailbox ?? $0 }
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

  /// Adds a relay; of one that is there already its token changes, and what it carries may grow.
  ///
  /// - Parameter cargo: what goes over it; nil for everything.
  /// - Throws: `invalid` for what is no address, `offline` if it cannot be reached or is another.
  package func addRelay(
    _ text: String, token: String? = nil, carrying cargo: TransportCargo? = nil
  ) throws -> TransportSetting {
    let address = try Node.relayAddress(text)
    if let token, (try? Base32.decode(token)) == nil {
      throw HearthError(.invalid, "this is not a relay's token: copy the whole of it")
    }
    let present = try transports()
    if var known = present.first(where: { $0.path == address.description }) {
      if let token, token != known.token {
        known.token = token
        relays[known.path] = nil
        try save(present.filter { $0.number != known.number } + [known])
      }
      return try widen(known, to: cargo)
    }
    let setting = TransportSetting(
      number: Node.nextNumber(after: present), kind: "relay", path: address.description,
      token: token, cargo: cargo)
    try greet(address)
    try save(present + [setting])
    return setting
  }

  /// Reads a relay's address as people copy it.
  ///
  /// - Throws: `invalid`, saying which part is wrong.
  static func relayAddress(_ text: String) throws -> RelayAddress {
    do {
      return try RelayAddress(text.filter { !$0.isWhitespace })
    } catch let error as SyncError {
      throw HearthError(.invalid, "\(error.message)", cause: error)
    }
  }

  /// Sees whether a relay answers, by asking for a mailbox that nobody has.
  private func greet(_ address: RelayAddress) throws {
    do {
      try greet(relay(address.description))
    } catch let error as TransportError {
      throw HearthError(.offline, "\(error)", cause: error)
    }
  }

  /// Sees whether a relay answers.
  func greet(_ transport: RelayTransport) throws {
    let nobody = try Engine<ReplicaStore>.randomIdentifier()
    do {
      _ = try transport.open(MailboxAccess(mailbox: nobody, keys: [], mayCreate: false))
    } catch let error as TransportError where error.code == .relayRefused {
      return
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

  /// Sees to it that this device can open the groups' mailboxes at a relay, where it was away
  /// while their access keys were changed; nothing for a folder.
  func admit(over transport: any Transport) throws {
    guard let relay = transport as? RelayTransport else { return }
    let groups = engine.exchangedGroups.filter {
      ending(in: $0) == nil && relay.carried.contains($0)
    }
    try engine.withTurns { turns in
      try RelayMailboxes(at: relay, with: turns).admit(
        to: groups, anchorFile: anchorFile, nowMilliseconds: now())
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
    try engine.withTurns { turns in
      try RelayMailboxes(at: relay, with: turns).admit(
        to: group, as: recipients, anchorFile: anchorFile, nowMilliseconds: now())
    }
  }

  /// Sets the newest keys at a relay where it still takes older ones; nothing for a folder.
  ///
  /// - Returns: what keeps old keys there, in words.
  func renewAccess(over transport: any Transport) throws -> [TransportProblem] {
    guard let relay = transport as? RelayTransport else { return [] }
    return try engine.withTurns { try RelayMailboxes(at: relay, with: $0).renewAccess() }
  }
}
