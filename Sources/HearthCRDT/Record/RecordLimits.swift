/// How much one author may put into one record: part of the merge rule.
///
/// A change with an operation beyond a limit is void on every replica, all of it, so all cut
/// alike. Each limit looks only at what the author itself wrote into the record before, and its log
/// has one order: what has arrived from others decides nothing. A limit on all authors together
/// could not be that, as it would have to refuse what came last. Source of the rule:
/// `docs/decisions/0060`.
package struct RecordLimits: Equatable, Sendable {
  /// The most units one author may use up in one record.
  package var units: UInt64
  /// How many bytes of a value make a unit; shorter values take none of their own.
  package var unitBytes: Int
  /// Fields with numbers above this take a unit each.
  package var freeFieldNumber: UInt16
  /// The most values one author may give one history.
  package var historyValues: Int

  package init(units: UInt64, unitBytes: Int, freeFieldNumber: UInt16, historyValues: Int) {
    self.units = units
    self.unitBytes = unitBytes
    self.freeFieldNumber = freeFieldNumber
    self.historyValues = historyValues
  }

  /// The limits of every household.
  package static let standard = RecordLimits(
    units: Limits.maximumRecordUnits, unitBytes: Limits.recordUnitBytes,
    freeFieldNumber: Limits.freeFieldNumber, historyValues: Limits.maximumHistoryValues)

  /// What an operation uses up, and whether it adds to what its field has used or only raises it.
  ///
  /// A register keeps the author's last value only, so it counts with its largest; what sets and
  /// histories were given counts for ever, because who removed it when differs between replicas.
  func cost(of body: Operation.Body) -> (field: FieldID, units: UInt64, isAdded: Bool)? {
    switch body {
    case .event, .insert, .delete, .exclude: nil
    case .assign(let id, let value):
      charge(id, of(value) + of(id), isAdded: id.kind == .history)
    case .count(let id, _): charge(id, of(id), isAdded: false)
    case .include(let id, let value): (id, 1 + of(value), true)
    }
  }

  /// Whether all that one change does to a record is within the limits of its author.
  ///
  /// What it wrote before is in the record, as the changes of one author come in order.
  package func admit(
    _ bodies: some Sequence<Operation.Body>, of dot: Dot, to state: RecordState
  ) -> Bool {
    var raised: [FieldID: UInt64] = [:]
    var total: UInt64?
    for body in bodies {
      if case .assign(let id, _) = body, case .history(let history) = state[id],
        !history.accepts(dot, atMost: historyValues)
      {
        return false
      }
      guard let cost = cost(of: body) else { continue }
      let before = raised[cost.field] ?? state.charges.units(of: dot.author, in: cost.field)
      let after = cost.isAdded ? before + cost.units : max(before, cost.units)
      raised[cost.field] = after
      let sum = (total ?? state.charges.total(of: dot.author)) + (after - before)
      guard sum <= units else { return false }
      total = sum
    }
    return true
  }

  /// Whether an operation may come to a limit.
  package func mayLimit(_ body: Operation.Body) -> Bool {
    if case .assign(let id, _) = body, id.kind == .history { return true }
    return cost(of: body) != nil
  }

  private func charge(
    _ id: FieldID, _ units: UInt64, isAdded: Bool
  ) -> (field: FieldID, units: UInt64, isAdded: Bool)? {
    units > 0 ? (id, units, isAdded) : nil
  }

  private func of(_ id: FieldID) -> UInt64 { id.number > freeFieldNumber ? 1 : 0 }

  private func of(_ value: Value) -> UInt64 {
    switch value {
    case .null, .bool, .int: 0
    case .text(let text): UInt64(text.utf8.count / unitBytes)
    case .bytes(let bytes): UInt64(bytes.count / unitBytes)
    }
  }
}

extension Limits {
  /// The most units of space that one author may use up in one record: a mebibyte of long values,
  /// or as many elements of sets.
  package static let maximumRecordUnits: UInt64 = 4_096
  /// How many bytes of a value make a unit of space; shorter values are free.
  package static let recordUnitBytes = 256
  /// Fields up to this number are free; they are few, so they bound themselves.
  package static let freeFieldNumber: UInt16 = 255
  /// The most values that one author may give one history.
  package static let maximumHistoryValues = 1_024
}
