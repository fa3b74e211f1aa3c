/// The limits on one author's content in one record: part of the merge rule.
///
/// A change with an operation beyond a limit is void as a whole on every replica, so all replicas
/// cut equally. Each limit depends only on what the author itself wrote into the record before. An
/// author's log has a single order, so the arrival of other authors' changes decides nothing. A
/// limit on all authors together could not work that way, since it would have to refuse the last
/// arrival. Only a person's first device has the full limits, in its first incarnation: nobody gets
/// another one alone, whereas further devices and incarnations cost nothing. Source of the rule:
/// `docs/decisions/0060`.
package struct RecordLimits: Equatable, Sendable {
  /// What one author may put into one record.
  package struct Room: Equatable, Sendable {
    /// The most units the author may use up.
    package var units: UInt64
    /// The most values the author may give one history.
    package var historyValues: Int

    package init(units: UInt64, historyValues: Int) {
      self.units = units
      self.historyValues = historyValues
    }
  }

  /// What the first incarnation of a person's first device may put into one record.
  package var first: Room
  /// What the first incarnation of each further device of a person may put into one record.
  package var further: Room
  /// What each later incarnation of a device may put into one record.
  package var later: Room
  /// The number of bytes of a value in one unit.
  ///
  /// A shorter value uses no unit.
  package var unitBytes: Int
  /// Each field with a number above this takes one unit.
  package var freeFieldNumber: UInt16

  package init(
    first: Room, further: Room, later: Room, unitBytes: Int, freeFieldNumber: UInt16
  ) {
    self.first = first
    self.further = further
    self.later = later
    self.unitBytes = unitBytes
    self.freeFieldNumber = freeFieldNumber
  }

  /// The limits of every household.
  package static let standard = RecordLimits(
    first: Room(
      units: Limits.maximumRecordUnits, historyValues: Limits.maximumHistoryValues),
    further: Room(
      units: Limits.maximumFurtherRecordUnits, historyValues: Limits.maximumHistoryValues),
    later: Room(
      units: Limits.maximumLaterRecordUnits,
      historyValues: Limits.maximumLaterHistoryValues),
    unitBytes: Limits.recordUnitBytes, freeFieldNumber: Limits.freeFieldNumber)

  /// What an author may put into one record.
  ///
  /// - Parameter isFurther: whether its person had another device when this one came.
  package func room(of author: Author, isFurther: Bool) -> Room {
    author.isFirst ? (isFurther ? further : first) : later
  }

  /// The cost of an operation, and whether it adds to its field's charge or only raises it.
  ///
  /// A register keeps only the author's last value, so it is charged for its largest value.
  /// Everything added to sets and histories counts forever, since the time of a removal differs
  /// between replicas. So do the edits of a text, by their weight.
  func cost(of body: Operation.Body) -> (field: FieldID, units: UInt64, isAdded: Bool)? {
    switch body {
    case .event, .insert, .delete, .exclude: nil
    case .assign(let id, let value):
      charge(id, of(value) + of(id), isAdded: id.kind == .history)
    case .count(let id, _): charge(id, of(id), isAdded: false)
    case .include(let id, let value): (id, 1 + of(value), true)
    case .edit(let id, let edit): (id, of(edit) + of(id) * Limits.textUnitWeight, true)
    }
  }

  private func of(_ edit: TextEdit) -> UInt64 {
    switch edit {
    case .insert(let text, _): UInt64(Limits.editWeight + text.scalarCount)
    case .erase(let span): UInt64(Limits.editWeight + max(0, span.count) / Limits.editWeight)
    }
  }

  /// Whether an operation can reach a limit.
  package func mayLimit(_ body: Operation.Body) -> Bool {
    switch body {
    case .include, .edit: true
    case .assign(let id, _) where id.kind == .history: true
    default: cost(of: body) != nil
    }
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
  /// The most units of space that the first incarnation of a person's first device may use up in
  /// one record: one mebibyte of long values, or the same number of set elements.
  package static let maximumRecordUnits: UInt64 = 4_096
  /// The most units of space that the first incarnation of each further device of a person may use
  /// up in one record.
  package static let maximumFurtherRecordUnits: UInt64 = 1_024
  /// The most units of space that each later incarnation of a device may use up in one record.
  package static let maximumLaterRecordUnits: UInt64 = 256
  /// The weight of an edit of a text apart from its characters: an inserted one weighs 1, an erased
  /// one a sixteenth.
  package static let editWeight = 16
  /// The weight of edits of a text in one unit of space.
  package static let textUnitWeight: UInt64 = 256
  /// The number of bytes of a value in one unit of space; shorter values are free.
  package static let recordUnitBytes = 256
  /// Fields up to this number are free.
  ///
  /// They are few, so their number is bounded.
  package static let freeFieldNumber: UInt16 = 255
  /// The most values that a device's first incarnation may give one history.
  package static let maximumHistoryValues = 1_024
  /// The most values that each later incarnation of a device may give one history.
  package static let maximumLaterHistoryValues = 64
}
