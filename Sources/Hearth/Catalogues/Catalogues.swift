import HearthRelayProtocol
import HearthStore
import HearthSync

/// The public catalogues that a node follows.
package struct Catalogues: Sendable {
  let node: Node
  var reach = CatalogueReach.standard

  /// Returns the followed catalogues, in order of name.
  package func list() async throws -> [KeptCatalogue] {
    try await node.looking { try FollowedCatalogues(core: $0).list() }
  }

  /// Follows a catalogue: trusts the key in its address, and fetches it.
  ///
  /// An unreachable catalogue is followed and fetched later. No exchange waits for its place.
  ///
  /// - Parameter folder: the folder that contains it, if the address names no relay.
  /// - Throws: `invalid`, and the error that rejects its first copy.
  package func follow(_ address: String, folder: String?) async throws -> CatalogueRefresh {
    try await node.workingPatiently {
      try await FollowedCatalogues(core: $0, reach: reach).follow(address, folder: folder)
    }
  }

  /// Stops following a catalogue and deletes its copy.
  ///
  /// - Throws: `notFound`, `invalid` if several match.
  package func unfollow(_ name: String) async throws -> KeptCatalogue {
    try await node.working { try FollowedCatalogues(core: $0).unfollow(name) }
  }

  /// Checks for newer versions of every followed catalogue; failures are reported and harmless.
  ///
  /// One place is asked after the other, as a large catalogue takes much memory. No exchange waits
  /// for them.
  package func refresh() async throws -> [CatalogueRefresh] {
    try await node.workingPatiently {
      try await FollowedCatalogues(core: $0, reach: reach).refresh()
    }
  }

  /// Returns the records of followed catalogues that meet conditions, from the local copies.
  ///
  /// - Parameters:
  ///   - type: their type; nil for all.
  ///   - name: the catalogue; nil for all.
  package func records(
    type: String?, conditions: [PublicCondition] = [], in name: String? = nil
  ) async throws -> [FoundRecord] {
    try await node.looking {
      try FollowedCatalogues(core: $0).records(type: type, conditions: conditions, in: name)
    }
  }

  /// Returns the record of a type and id, from the local copies.
  ///
  /// - Throws: `notFound`, `invalid` if several catalogues have it.
  package func record(_ path: PublicKeyPath, in name: String? = nil) async throws -> FoundRecord {
    try await node.looking { try FollowedCatalogues(core: $0).record(path, in: name) }
  }

  /// Queries the relays of followed catalogues.
  ///
  /// Each record is verified, and records older than the local copy are left out.
  ///
  /// - Returns: the records, and remarks in words.
  /// - Throws: `offline`, `notFound`.
  package func find(
    _ query: PublicQuery, atMost limit: Int, in name: String? = nil
  ) async throws -> (found: [FoundRecord], remarks: [String]) {
    try await node.workingPatiently {
      try await FollowedCatalogues(core: $0, reach: reach).find(query, atMost: limit, in: name)
    }
  }

  /// Returns the value of a feature flag in the followed catalogues; nil if none has it.
  ///
  /// The highest signed version wins; among catalogues of the same version, the first by name.
  package func flag(_ id: String) async throws -> Bool? {
    try await node.looking { try FollowedCatalogues(core: $0).flag(id) }
  }
}

extension Node {
  /// The public catalogues that this node follows.
  package nonisolated var catalogues: Catalogues { Catalogues(node: self) }
}
