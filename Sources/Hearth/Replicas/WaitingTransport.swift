import HearthCRDT
import HearthRelayProtocol
import HearthSockets
import HearthStore
import HearthSync
import HearthTransport

/// A transport whose waits hold up no other work on the node's replicas.
struct WaitingTransport: Transport {
  let base: any Transport
  let replicas: NodeReplicas

  var canDecay: Bool { base.canDecay }

  var keepsAuthorsApart: Bool { base.keepsAuthorsApart }

  func place(of name: SegmentName) -> String { base.place(of: name) }

  func expect(_ names: [SegmentName]) { base.expect(names) }

  func list(zoneTag: Identifier) async throws -> TransportListing {
    try await replicas.whileWaiting { try await base.list(zoneTag: zoneTag) }
  }

  func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing {
    try await replicas.whileWaiting {
      try await base.list(zoneTag: zoneTag, preferring: preference)
    }
  }

  func fetch(_ name: SegmentName) async throws -> [UInt8] {
    try await replicas.whileWaiting { try await base.fetch(name) }
  }

  func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await replicas.whileWaiting { try await base.publish(name, bytes) }
  }

  func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    try await replicas.whileWaiting { try await base.publish(segments) }
  }

  func remove(_ name: SegmentName) async throws {
    try await replicas.whileWaiting { try await base.remove(name) }
  }

  func remove(_ names: [SegmentName]) async throws {
    try await replicas.whileWaiting { try await base.remove(names) }
  }

  func fetch(_ name: BlobName) async throws -> [UInt8]? {
    try await replicas.whileWaiting { try await base.fetch(name) }
  }

  func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    try await replicas.whileWaiting { try await base.publish(name, bytes) }
  }

  func remove(_ name: BlobName) async throws {
    try await replicas.whileWaiting { try await base.remove(name) }
  }
}

/// A connection to a relay whose waits hold up no other work on the node's replicas.
///
/// The transport over it keeps what it knows of the relay in the replicas, and so has to be at work
/// itself while it does not wait.
final class WaitingConnection: RelayClientConnection {
  private let base: RelayLink
  private let replicas: NodeReplicas

  init(_ base: RelayLink, _ replicas: NodeReplicas) {
    self.base = base
    self.replicas = replicas
  }

  var address: RelayAddress { base.address }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) { base.know(access, cursor: cursor) }

  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {
    base.prefetch(accesses)
  }

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) async throws -> RelayOutcome {
    try await replicas.whileWaiting { try await base.ask(mailbox, question) }
  }

  func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome {
    try await replicas.whileWaiting { try await base.ask(mailbox, question, reporting: reporting) }
  }
}

/// What a node's relays remember, in the replicas as they stand.
struct ReplicaMemory: RelayMemory {
  let replicas: NodeReplicas

  func load(_ name: String) throws -> [UInt8]? { try replicas.store.facts.bytes(of: name) }

  func save(_ name: String, _ bytes: [UInt8]) throws {
    try replicas.store.transaction { try replicas.store.facts.setBytes(of: name, to: bytes) }
  }
}
