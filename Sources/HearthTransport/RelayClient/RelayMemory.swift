import HearthCRDT
import HearthSync

/// A durable store for what a relay's client knows about mailboxes.
package protocol RelayMemory {
  /// Loads the value stored under a name; nil if there is none.
  func load(_ name: String) throws -> [UInt8]?
  /// Stores a value.
  func save(_ name: String, _ bytes: [UInt8]) throws
}

/// A relay client's memory among the facts of a node's store.
package struct FactMemory<S: Store>: RelayMemory {
  private let store: S

  package init(store: S) { self.store = store }

  package func load(_ name: String) throws -> [UInt8]? { try store.facts.bytes(of: name) }

  package func save(_ name: String, _ bytes: [UInt8]) throws {
    try store.transaction { try store.facts.setBytes(of: name, to: bytes) }
  }
}
