import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSockets
import HearthStore
import HearthSync
import HearthTransport

/// Relay state that lives only as long as the process.
final class NoMemory: RelayMemory {
  private var kept: [String: [UInt8]] = [:]

  func load(_ name: String) -> [UInt8]? { kept[name] }

  func save(_ name: String, _ bytes: [UInt8]) { kept[name] = bytes }
}

/// A node's connections to folders and relays: the mailboxes there, the keys of each, and the
/// devices that have access.
struct Connections: NodeWork {
  let core: NodeCore

  /// Returns the transport at a place: a folder's path or a relay's address.
  ///
  /// The transfer listener gets the transport's progress, counted from now on.
  ///
  /// - Throws: `invalid` for an invalid address.
  func transport(_ place: String) throws -> any Transport {
    guard TransportAddress.isRelay(place) else {
      if let given = core.folders?(place) {
        return WaitingTransport(base: given, replicas: replicas)
      }
      let folder = WaitingTransport(
        base: BackgroundFolder(Connections.folder(place), on: .shared(for: place)),
        replicas: replicas)
      return core.transferListener.map { MeteredTransport(folder, place: place, listener: $0) }
        ?? folder
    }
    let relay = try relay(TransportAddress.relay(place).description)
    relay.report(to: core.transferListener)
    return relay
  }

  /// Returns the relay at an address, with the present keys.
  func relay(_ text: String) throws -> RelayTransport {
    let relay: RelayTransport
    if let known = core.relays[text] {
      relay = known
    } else {
      let token = try transports.list().first { $0.path == text }?.token
      let link = try Connections.link(
        text, token: token, device: device.hex, identity: engine.identity)
      relay = RelayTransport(
        over: WaitingConnection(link, replicas), memory: ReplicaMemory(replicas: replicas),
        digest: { segmentDigest($0) })
      core.relays[text] = relay
    }
    relay.carried = try transports.groups(over: text)
    let mailboxes = RelayMailboxes(at: relay, with: replicas)
    relay.client.directory.zones = try mailboxes.accesses(joining: core.joiningGroup)
    relay.client.directory.parents = try mailboxes.meetingPlaceParents()
      .map { relay.client.directory.zones[$0]?.mailbox ?? $0 }
    return relay
  }

  /// Returns the transport of a folder.
  static func folder(_ path: String) -> FolderTransport {
    FolderTransport(path: path, digest: { segmentDigest($0) })
  }

  /// Returns a node's connection to a relay.
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

  /// Checks that a relay answers, by requesting a mailbox that nobody has.
  func greet(_ address: RelayAddress) async throws {
    do {
      try await greet(relay(address.description))
    } catch let error as TransportError {
      throw HearthError(.offline, "\(error)", cause: error)
    }
  }

  /// Checks that a relay answers.
  func greet(_ transport: RelayTransport) async throws {
    let nobody = try Identifier.random()
    do {
      _ = try await transport.client.open(
        MailboxAccess(mailbox: nobody, keys: [], mayCreate: false))
    } catch let error as TransportError where error.code == .relayRefused {
      return
    }
  }

  // MARK: Bundles

  /// Sets the relay mailbox of a bundle; a folder has none.
  func setMailbox(
    of scope: Identifier, to access: MailboxAccess, on transport: any Transport
  ) {
    (transport as? RelayTransport)?.client.directory.capsules[scope] = access
  }

  /// Returns the mailbox for requests by an invitation in the log, and for their answers.
  func requestAccess(of invite: ControlOperation.InviteCreate) throws -> MailboxAccess {
    try .joinRequests(by: invite.invite, sign: invite.signKey, box: invite.boxKey)
  }

  /// The same for a holder of the invitation.
  func requestAccess(of secret: InviteSecret) throws -> MailboxAccess {
    let keys = secret.publicKeys
    return try .joinRequests(
      by: identifier(keys.inviteID), sign: keys.signingKey.bytes, box: keys.boxKey.bytes)
  }

  // MARK: Rekey handoffs

  /// Gives this device access to the groups' mailboxes at a relay, if their access keys changed
  /// while it was away; a folder has none.
  func admit(over transport: any Transport) async throws {
    guard let relay = transport as? RelayTransport else { return }
    let groups = ExchangeScope(engine: engine).exchangedGroups.filter {
      ending(in: $0) == nil && relay.carried.contains($0)
    }
    try await RelayReadmission(to: RelayMailboxes(at: relay, with: replicas)).admit(
      to: groups, anchorFile: anchorFile, nowMilliseconds: now())
  }

  /// The same for one group.
  ///
  /// - Parameter recipients: the identities under which this node finds its rekey handoffs.
  func admit(
    to group: GroupID, over transport: any Transport,
    as recipients: [(id: Identifier, pair: BoxKeyPair)]
  ) async throws {
    guard let relay = transport as? RelayTransport else { return }
    try await RelayReadmission(to: RelayMailboxes(at: relay, with: replicas)).admit(
      to: group, as: recipients, anchorFile: anchorFile, nowMilliseconds: now())
  }

  /// Sets the newest keys at a relay that still accepts older ones; a folder has none.
  ///
  /// - Returns: the problems that keep old keys valid there, in words.
  func renewAccess(over transport: any Transport) async throws -> [TransportProblem] {
    guard let relay = transport as? RelayTransport else { return [] }
    return try await RelayKeyRenewal(of: RelayMailboxes(at: relay, with: replicas)).renewAccess(
      nowMilliseconds: now())
  }
}

extension NodeWork {
  /// The node's connections to its transports.
  var connections: Connections { Connections(core: core) }
}
