/// The soundness of a node's stored data.
package struct Integrity: Sendable {
  let node: Node

  /// Checks all data of this node against its signatures, hash chains and rules.
  ///
  /// It opens every stored segment again, follows each author's chain to its head, compares the
  /// records with the log's result and the projections with a rebuild, and has SQLite check its
  /// file. It changes nothing; linear in the size of the data.
  package func verify() async throws -> Verification {
    try await node.working { try Verifier(core: $0).verify() }
  }

  /// Rebuilds damaged data that follows from intact data: indexes, records, derived tables.
  ///
  /// The log decides. A zone with a damaged log stays as it is. So does every zone of a group with
  /// a damaged control log, because that log decides what counts in the others.
  ///
  /// - Returns: the result of a verification afterwards.
  package func repair() async throws -> Verification {
    try await node.working { try Verifier(core: $0).repair() }
  }
}

extension Node {
  /// The soundness of this node's stored data.
  package nonisolated var integrity: Integrity { Integrity(node: self) }
}
