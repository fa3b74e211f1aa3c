import HearthStore
import HearthSync

/// What this node keeps of each transport under one name, by the transport's place.
struct TransportRecords<Content: Codable & Equatable & SendableMetatype>: NodeWork {
  let core: NodeCore
  /// The fact in the store.
  let fact: Fact<[String: Content]>

  /// Reads what is kept.
  func all() throws -> [String: Content] {
    try store.facts.value(of: fact) ?? [:]
  }

  /// Replaces what is kept, if it differs: a sync without news must cost no write.
  func replace(_ before: [String: Content], by records: [String: Content]) throws {
    guard records != before else { return }
    try store.transaction { try store.facts.set(fact, to: records.isEmpty ? nil : records) }
  }
}
