import HearthCRDT
import HearthCrypto
import HearthMembership

/// Changes of this device in the log of a control zone.
package enum ControlWriting {
  /// Writes membership operations of a group as one transaction of its control zone.
  package static func write(
    _ operations: [ControlOperation], group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> Version {
    let zone = try engine.controlZone(of: group)
    for operation in operations where (try? ControlOperation(decoding: operation.encoded)) == nil {
      throw SyncError(
        .tooLarge,
        "a name is longer than the \(ControlLimits.maximumNameBytes) bytes that one may have, "
          + "or there are more than \(ControlLimits.maximumItems) zones or devices: shorten it"
      )
    }
    let dot = try engine.nextDot(in: zone.id)
    let membership = engine.membership(of: group)
    let events = operations.enumerated().map { index, operation in
      var fields = [EventField(ControlOperation.bodyField, .bytes(operation.encoded))]
      if case .recover(let recover) = operation,
        let words = membership.introductions.signKey(of: recover, at: dot)
      {
        fields.append(EventField(ControlOperation.wordsField, .bytes(words)))
      }
      return Operation(
        RecordKey(
          type: ControlOperation.type,
          id: eventID(in: zone.id, type: ControlOperation.type, dot: dot, index: index)),
        .event(fields))
    }
    let before = engine
    let version = try engine.write(events, to: zone.id, nowMilliseconds: nowMilliseconds)
    // What follows from the operations may be more than upkeep.
    if engine.zones[try engine.place(of: zone.id)].head(of: version.dot.author).sequence
      == version.dot.sequence
    {
      try PendingKnowledge.noteUpkeep(operations, of: group, since: before, in: engine)
    }
    return version
  }

  /// Writes membership operations together with their confirmations, and verifies that they have
  /// effect.
  ///
  /// - Returns: The ids of their events.
  /// - Throws: `notAllowed` with the reason in words if one of the operations is void. Nothing is
  ///   then written.
  static func writeEffective(
    _ operations: [ControlOperation], group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> [RecordID] {
    guard !operations.isEmpty else { return [] }
    var draft = engine
    var ids: [RecordID] = []
    try engine.store.transaction {
      draft = engine
      let all = operations + confirmations(beside: operations, in: group, by: draft)
      let control = try draft.controlZone(of: group).id
      let dot = try draft.nextDot(in: control)
      ids = operations.indices.map {
        eventID(in: control, type: ControlOperation.type, dot: dot, index: $0)
      }
      _ = try write(all, group: group, in: &draft, nowMilliseconds: nowMilliseconds)
      let membership = draft.membership(of: group)
      if let void = membership.voided.first(where: { ids.contains($0.id) }) {
        throw SyncError(.notAllowed, membership.words(for: void))
      }
    }
    engine = draft
    return ids
  }

  /// The confirmations that accompany operations of an owner or admin, who has seen the joins by
  /// now.
  private static func confirmations(
    beside operations: [ControlOperation], in group: GroupID, by engine: Engine<some Store>
  ) -> [ControlOperation] {
    let isApart = operations.contains { operation in
      switch operation {
      case .inviteCreate, .inviteClose, .setRole, .transferOwner, .setPolicy, .admit: false
      default: operation.kind != 2
      }
    }
    let rank = engine.membership(of: group).role(of: engine.device)?.rank ?? 0
    guard !isApart, rank >= Role.admin.rank else { return [] }
    return EntranceDuties(engine: engine).confirmations(in: group)
  }
}
