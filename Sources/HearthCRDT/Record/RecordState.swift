/// The replicated state of one mutable record: its existence and its fields.
package struct RecordState: Equatable, Sendable {
  /// The state of one field, of the kind that the field number determines.
  package enum Field: Equatable, Sendable {
    case register(Register)
    case history(History)
    case counter(Counter)
    case set(ElementSet)
    case text(TextSequence)
  }

  /// A field and its state.
  package struct Entry: Equatable, Sendable {
    package let id: FieldID
    package internal(set) var field: Field

    package init(id: FieldID, field: Field) {
      self.id = id
      self.field = field
    }
  }

  /// Whether the record exists.
  package private(set) var life: Life
  private var fields: SortedPieces<Entry>
  /// The part of the record's limits that each author has used up.
  package private(set) var charges: RecordCharges

  /// Makes a record without writes.
  package init() {
    self.init(life: Life(), sortedEntries: [])
  }

  init(life: Life, sortedEntries: [Entry], charges: RecordCharges = RecordCharges()) {
    self.life = life
    fields = SortedPieces(sortedEntries)
    self.charges = charges
  }

  /// All fields that were ever written, in order of number; O(n) if there are many.
  package var entries: [Entry] { fields.items }

  /// The state of a field; nil if it was never written.
  package subscript(id: FieldID) -> Field? {
    guard let entry = fields[place(of: id)], entry.id == id else { return nil }
    return entry.field
  }

  /// The displayed value of a field.
  ///
  /// The value is null if the field was never written, and the sum for a counter. It is nil for a
  /// set, or if it has not been read from the store's column yet. O(n log n) for a text.
  package func shown(_ id: FieldID) -> Value? {
    switch self[id] {
    case nil: .null
    case .register(let register): register.shown.value
    case .history(let history): history.shown?.value ?? .null
    case .counter(let counter): .int(counter.value)
    case .text(let text): .text(TextOrder(text).text)
    case .set: nil
    }
  }

  /// The elements of a set; empty if it was never written.
  package func elements(_ id: FieldID) -> [Value] {
    if case .set(let set) = self[id] { set.values } else { [] }
  }

  /// A text with its history; empty if it was never written.
  package func text(_ id: FieldID) -> TextSequence {
    if case .text(let text) = self[id] { text } else { TextSequence() }
  }

  /// Whether an operation needs a displayed value that has not been read from the store's column.
  ///
  /// This is so if the write is concurrent with the displayed value, which then becomes a sibling.
  package func needsShownValue(for body: Operation.Body, past: Frontier) -> Bool {
    guard case .assign(let id, _) = body, case .register(let register) = self[id] else {
      return false
    }
    return register.isPartial && register.staysConcurrent(to: past)
  }

  /// Supplies the value of a register, read from the store's column.
  package mutating func supply(_ value: Value, to id: FieldID) {
    guard case .register(var register) = self[id], register.isPartial else { return }
    register.supply(value)
    fields.change(at: place(of: id)) { $0.field = .register(register) }
  }

  /// Supplies the values of all registers that lack theirs, read from the store's columns.
  ///
  /// - Parameter value: The value in a field's column; nil if the field has no column.
  package mutating func supplyEach(_ value: (FieldID) throws -> Value?) rethrows {
    try fields.changeEach { entry in
      guard case .register(var register) = entry.field, register.isPartial,
        let value = try value(entry.id)
      else { return }
      register.supply(value)
      entry.field = .register(register)
    }
  }

  /// Applies one operation of a change that ``RecordLimits`` admit.
  ///
  /// - Parameters:
  ///   - body: the action; it must fit the field's kind (``Operation/isWellFormed``).
  ///   - version: the change's dot and time.
  ///   - past: everything the author had seen, its own earlier changes included.
  ///   - limits: the costs that the operation charges to its author.
  package mutating func apply(
    _ body: Operation.Body, version: Version, past: Frontier,
    limits: RecordLimits = .standard
  ) {
    if let cost = limits.cost(of: body) { charges.take(cost, by: version.dot.author) }
    switch body {
    case .event: preconditionFailure("an event is not applied to a record")
    case .delete:
      Probe.recordDeleted.hit()
      life.delete(version.dot, past: past)
      return
    case .insert: break
    case .assign(let id, let value): assign(id, value, version: version, past: past)
    case .count(let id, let delta):
      withField(id, or: .counter(Counter())) { field in
        guard case .counter(var counter) = field else { return }
        field = .counter(Counter())
        counter.add(delta, dot: version.dot)
        field = .counter(counter)
      }
    case .include(let id, let value):
      withElements(id) { $0.include(value, dot: version.dot, past: past) }
    case .exclude(let id, let value):
      // A set without additions contains nothing to remove.
      if self[id] != nil { withElements(id) { $0.exclude(value, dot: version.dot, past: past) } }
    case .edit(let id, let edit):
      withField(id, or: .text(TextSequence())) { field in
        guard case .text(var text) = field else { return }
        field = .text(TextSequence())
        text.apply(edit, dot: version.dot, past: past)
        field = .text(text)
      }
    }
    Probe.recordRevived.hit(if: !life.deletes.isEmpty && life.isDeleted)
    life.write(version.dot)
  }

  private mutating func assign(
    _ id: FieldID, _ value: Value, version: Version, past: Frontier
  ) {
    if id.kind == .history {
      withField(id, or: .history(History())) { field in
        guard case .history(var history) = field else { return }
        field = .history(History())
        history.assign(value, version: version, past: past)
        field = .history(history)
      }
      return
    }
    if case .register(var register) = self[id] {
      register.assign(value, version: version, past: past)
      fields.change(at: place(of: id)) { $0.field = .register(register) }
    } else {
      withField(id, or: .register(Register(Sibling(version: version, value: value)))) { _ in }
    }
  }

  private mutating func withElements(_ id: FieldID, _ body: (inout ElementSet) -> Void) {
    withField(id, or: .set(ElementSet())) { field in
      guard case .set(var set) = field else { return }
      // The set must have a single reference, or every change would copy all of it.
      field = .set(ElementSet())
      body(&set)
      field = .set(set)
    }
  }

  /// Changes a field in place.
  ///
  /// Inserts `new` first if the field is absent.
  private mutating func withField(_ id: FieldID, or new: Field, _ body: (inout Field) -> Void) {
    var place = place(of: id)
    if fields[place]?.id != id {
      place = fields.insert(Entry(id: id, field: new), at: place)
    }
    fields.change(at: place) { body(&$0.field) }
  }

  private func place(of id: FieldID) -> SortedPieces<Entry>.Place {
    fields.place { $0.id >= id }
  }
}

// MARK: - Merging states

extension RecordState {
  /// Merges two copies, given the knowledge of each replica: commutative, associative, idempotent.
  ///
  /// Copies that were cut at a limit merge correctly. Every replica takes each author's log from
  /// its start, so the copy that knows more of an author contains everything that the other copy
  /// has of that author.
  package static func joined(
    _ left: RecordState, knowing leftKnows: Frontier, _ right: RecordState,
    knowing rightKnows: Frontier
  ) -> RecordState {
    let ids = Set(left.entries.map(\.id) + right.entries.map(\.id)).sorted()
    var entries: [Entry] = []
    for id in ids {
      if let field = joinedField(left[id], leftKnows, right[id], rightKnows) {
        entries.append(Entry(id: id, field: field))
      }
    }
    return RecordState(
      life: left.life.joined(with: right.life), sortedEntries: entries,
      charges: left.charges.joined(with: right.charges))
  }

  private static func joinedField(
    _ left: Field?, _ leftKnows: Frontier, _ right: Field?, _ rightKnows: Frontier
  ) -> Field? {
    switch (left, right) {
    case (.history(let a)?, .history(let b)?): .history(a.joined(with: b))
    case (.counter(let a)?, .counter(let b)?): .counter(a.joined(with: b))
    case (.set(let a)?, .set(let b)?):
      .set(ElementSet.joined(a, knowing: leftKnows, b, knowing: rightKnows))
    case (.set(let a)?, nil):
      .set(ElementSet.joined(a, knowing: leftKnows, ElementSet(), knowing: rightKnows))
    case (nil, .set(let b)?):
      .set(ElementSet.joined(ElementSet(), knowing: leftKnows, b, knowing: rightKnows))
    case (.text(let a)?, .text(let b)?): .text(a.joined(with: b))
    case (.history?, _), (.counter?, _), (.text?, _): left
    case (_, .history?), (_, .counter?), (_, .text?): right
    default:
      Register.joined(
        registerOf(left), knowing: leftKnows, registerOf(right), knowing: rightKnows
      ).map(Field.register)
    }
  }

  private static func registerOf(_ field: Field?) -> Register? {
    if case .register(let register) = field { register } else { nil }
  }
}

/// The replicated state of one event: its creation and its permanent fields.
package struct EventState: Equatable, Sendable {
  /// The creating change.
  package let version: Version
  /// The author's past, its own earlier changes included; kept if the type requires it.
  package let cause: Frontier?
  /// The fields in order of number.
  package let fields: [EventField]

  package init(version: Version, cause: Frontier?, fields: [EventField]) {
    self.version = version
    self.cause = cause
    self.fields = fields
  }

  /// The value of a field; null if absent.
  package subscript(id: FieldID) -> Value {
    fields.first { $0.field == id }?.value ?? .null
  }
}
