import HearthRelayProtocol
import HearthStore
import HearthSync

/// The public catalogues that a node publishes, and the key that signs them.
package struct Publishing: Sendable {
  let node: Node
  var reach = CatalogueReach.standard

  /// Returns the fingerprint of this node's publishing key; nil if there is none yet.
  package func fingerprint() async throws -> String? {
    try await node.looking { try Publisher(core: $0).fingerprint() }
  }

  /// Creates a publisher's key for this node, and returns its fingerprint.
  ///
  /// - Throws: `exists`.
  package func makeKey() async throws -> String {
    try await node.working { try Publisher(core: $0).makeKey() }
  }

  /// Saves the publisher's secret in a key file, which must be kept in a safe place.
  ///
  /// - Throws: `notFound`; the errors of sealing.
  package func exportKey(passphrase: [UInt8], to path: String) async throws {
    try await node.looking { try Publisher(core: $0).exportKey(passphrase: passphrase, to: path) }
  }

  /// Makes this node a publisher with the secret of a key file, and returns its fingerprint.
  ///
  /// - Throws: `exists`, `passphrase`, `corrupt`, `notFound`.
  package func importKey(passphrase: [UInt8], from path: String) async throws -> String {
    try await node.working {
      try Publisher(core: $0).importKey(passphrase: passphrase, from: path)
    }
  }

  /// Returns the catalogues that this node publishes, with the places of each.
  package func catalogues() async throws -> [(catalogue: KeptCatalogue, places: [String])] {
    try await node.looking { try Publisher(core: $0).published() }
  }

  /// Signs a catalogue's records and sends the changes to every place of the catalogue.
  ///
  /// Publishing the same records again sends nothing. The signed version is stored before anything
  /// is sent, so that no version number ever has two contents.
  ///
  /// - Parameters:
  ///   - drafts: all records of the catalogue; missing ones are retired.
  ///   - name: the catalogue's name.
  ///   - leastVersion: the lowest acceptable version.
  ///   - more: further places to publish to from now on: relays' addresses and folders.
  ///   - token: the relay's registration token, if it requires one.
  /// - Throws: `notFound` without a publisher's key, `invalid`.
  package func publish(
    _ drafts: [PublicRecord], named name: String, leastVersion: UInt64, to more: [String],
    token: String? = nil
  ) async throws -> PublishReport {
    try await node.workingPatiently { core in
      // No exchange waits for the places. One call follows the other: a version must not overtake
      // a later one.
      var isTaken = false
      defer { if isTaken { core.publishingGate.giveBack() } }
      try await core.replicas.whileWaiting {
        try await core.publishingGate.takeUnlessCancelled()
        isTaken = true
      }
      return try await Publisher(core: core, reach: reach).publish(
        drafts, named: name, leastVersion: leastVersion, to: more, token: token)
    }
  }
}

extension Node {
  /// The public catalogues that this node publishes.
  package nonisolated var publishing: Publishing { Publishing(node: self) }
}
