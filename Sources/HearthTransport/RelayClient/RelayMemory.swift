import HearthSync

/// Where a relay's client keeps what it knows of mailboxes, durably.
package protocol RelayMemory {
  /// What was kept under a name; nil if nothing.
  func load(_ name: String) throws -> [UInt8]?
  /// Keeps something.
  func save(_ name: String, _ bytes: [UInt8]) throws
}

/// What a relay's client remembers, among the facts of a node's store.
package struct FactMemory<S: Store>: RelayMemory {
  private let store: S

  package init(store: S) { self.store = store }

  package func load(_ name: String) throws -> [UInt8]? { try store.fact(name) }

  package func save(_ name: String, _ bytes: [UInt8]) throws {
    try store.transaction { try store.setFact(name, bytes) }
  }
}
