import Foundation
import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthSync

/// A folder or relay over which a node reaches others, with how it last went.
public struct NodeTransport: Identifiable, Hashable, Sendable {
  /// Where a transport is, without the token that it may need.
  public enum Address: Hashable, Sendable {
    /// The path of a folder.
    case folder(String)
    /// The host and port of a relay.
    case relay(String)
  }

  /// What a transport carries.
  public enum Scope: Hashable, Sendable {
    /// Everything, also zones that are still to come.
    case everything
    /// Some shared zones with their people, and perhaps the private database.
    case zones([Key<HearthZone>], personal: Bool)
  }

  /// A failure of a transport, and since when it fails.
  public struct Failure: Hashable, Sendable {
    /// The failure in words.
    public let message: String
    /// When it began.
    public let since: Date
  }

  /// The transport's number on this node.
  public let id: Int
  /// Where it is.
  public let address: Address
  /// What it carries.
  public let scope: Scope
  /// When a sync with it last succeeded; nil if none ever did.
  public let lastSuccess: Date?
  /// The failure of the last sync with it; nil if there was none.
  public let failure: Failure?
}

extension NodeTransport.Address: CustomStringConvertible {
  /// The folder's path, or the relay's host and port.
  public var description: String {
    switch self {
    case .folder(let path): path
    case .relay(let place): place
    }
  }

  init(place: String) {
    guard TransportAddress.isRelay(place) else {
      self = .folder(place)
      return
    }
    self = .relay((try? RelayAddress(place))?.place ?? "an unreadable address")
  }
}

/// The transports of a node as programs see them.
private struct TransportView: NodeWork {
  let core: NodeCore

  func all() throws -> [NodeTransport] {
    try transports.list().map { setting in
      NodeTransport(
        id: setting.number, address: NodeTransport.Address(place: setting.path),
        scope: scope(of: setting),
        lastSuccess: try transportSuccesses.last(of: setting).map { Date(milliseconds: $0) },
        failure: try transportFailures.last(of: setting).map {
          NodeTransport.Failure(
            message: ProgramWords.text($0.text, .offline),
            since: Date(milliseconds: $0.milliseconds))
        })
    }
  }

  private func scope(of setting: TransportSetting) -> NodeTransport.Scope {
    guard let scope = setting.scope else { return .everything }
    let zones = dataZones().filter {
      $0.database == .shared && scope.households.contains($0.group.hex)
    }
    return .zones(zones.map { Key($0.id) }, personal: scope.privateDatabase)
  }
}

extension HearthNode {
  /// Adds a folder as a transport: one that a file synchroniser, a network share or a USB stick
  /// carries between devices.
  ///
  /// - Throws: `invalid` for a folder that would expose the node's key.
  public func addFolder(_ path: String) async throws(HearthError) {
    try await reported { _ = try await node.transports.add(folder: path) }
  }

  /// Adds a relay as a transport.
  ///
  /// - Parameters:
  ///   - address: the line that the relay printed when it was started.
  ///   - token: the token from the relay's operator, if the relay requires one.
  /// - Throws: `invalid` for other text; `offline` if the relay cannot be reached.
  public func addRelay(_ address: String, token: String? = nil) async throws(HearthError) {
    try await reported { _ = try await node.transports.add(relay: address, token: token) }
  }

  /// Returns the transports in the order in which they were added.
  ///
  /// It asks no transport: success and failure are those of the last sync.
  public func transports() async throws(HearthError) -> [NodeTransport] {
    try await reported { try await node.working { try TransportView(core: $0).all() } }
  }

  /// Removes a transport; what lies there stays, and others may still use it.
  ///
  /// - Throws: `notFound` if there is none with this number.
  public func removeTransport(_ id: NodeTransport.ID) async throws(HearthError) {
    try await reported { try await node.transports.remove(String(id)) }
  }
}
