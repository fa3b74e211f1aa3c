import HearthCRDT
import HearthCrypto
import HearthMembership

/// Operations of this device in the log of a control zone.
package enum GroupOperations {
  /// Writes membership operations and verifies that they have effect.
  ///
  /// - Returns: The ids of their events.
  /// - Throws: `notAllowed` with the reason in words if one of the operations is void. Nothing is
  ///   then written.
  @discardableResult
  static func perform(
    _ operations: [ControlOperation], in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> [RecordID] {
    guard !operations.isEmpty else { return [] }
    // A device that joins by this very change cannot write anything before it.
    let isBeginning = operations.contains { $0.phase == 0 }
    var draft = engine
    var ids: [RecordID] = []
    try engine.store.transaction {
      draft = engine
      if !operations.contains(where: { $0.kind == 2 }) {
        try Rekeying.replaceOverEpochs(of: group, in: &draft, nowMilliseconds: nowMilliseconds)
      }
      let operations =
        isBeginning
        ? operations
        : try InvitationClosings.writeClosings(
          among: operations, in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      ids = try ControlWriting.writeEffective(
        operations, group: group, in: &draft, nowMilliseconds: nowMilliseconds)
    }
    engine = draft
    return ids
  }
}
