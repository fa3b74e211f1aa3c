import Foundation
import HearthStore

/// What this node keeps of each transport under one name, by the transport's place.
struct TransportRecords<Content: Codable & Equatable>: NodeWork {
  let core: NodeCore
  /// The name of the fact in the store.
  let fact: String

  /// Reads what is kept.
  func all() throws -> [String: Content] {
    guard let encoded = try store.facts.value(of: fact) else { return [:] }
    return try JSONDecoder().decode([String: Content].self, from: Data(encoded))
  }

  /// Replaces what is kept, if it differs: a sync without news must cost no write.
  func replace(_ before: [String: Content], by records: [String: Content]) throws {
    guard records != before else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let encoded = records.isEmpty ? nil : Array(try encoder.encode(records))
    try store.transaction { try store.facts.set(fact, to: encoded) }
  }
}
