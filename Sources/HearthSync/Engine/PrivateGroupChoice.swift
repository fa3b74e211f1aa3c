import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored choice of the group of the private database.
package enum PrivateGroupChoice {
  private static let fact = Fact(identifier: "private.group").asCache

  /// The group that a fact names; by default the first private database of this device.
  static func stored(in engine: Engine<some Store>) throws -> GroupID? {
    try engine.store.facts.value(of: fact)
      ?? engine.zones.first { $0.database == .personal }?.group
  }

  /// Makes a group the private database in use; the previous one is kept but no longer used.
  package static func use(_ group: GroupID, in engine: inout Engine<some Store>) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      guard try engine.controlZone(of: group).database == .personal else {
        throw SyncError(.invalidOperation, "a household is not a private database")
      }
      try engine.store.facts.set(fact, to: group)
      draft.privateGroup = group
    }
    engine = draft
  }
}
