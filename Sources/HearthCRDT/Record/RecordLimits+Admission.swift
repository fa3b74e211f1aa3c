extension RecordLimits {
  /// Whether all operations of one change on a record are within the room of its author.
  ///
  /// The author's earlier writes are already in the record, since one author's changes arrive in
  /// order.
  package func admit(
    _ bodies: some Sequence<Operation.Body>, of dot: Dot, within room: Room,
    to state: RecordState
  ) -> Bool {
    var raised: [FieldID: UInt64] = [:]
    var total: UInt64?
    for body in bodies {
      if case .assign(let id, _) = body, case .history(let history) = state[id],
        !history.accepts(dot, atMost: room.historyValues)
      {
        return false
      }
      guard let cost = cost(of: body) else { continue }
      let before = raised[cost.field] ?? state.charges.units(of: dot.author, in: cost.field)
      let after = cost.isAdded ? before + cost.units : max(before, cost.units)
      raised[cost.field] = after
      let sum =
        (total ?? state.charges.total(of: dot.author)) + RecordCharges.units(after, cost.field)
        - RecordCharges.units(before, cost.field)
      guard sum <= room.units else { return false }
      total = sum
    }
    return true
  }
}
