import HearthCRDT
import TestSupport

// What each type means, written over the causal graph and not over its state: slow, and plain
// enough to be seen right. The law checker compares every state with these.

/// One operation of a run, with its change and its place in it.
struct Written {
  let change: RunChange<Operation.Body>
  let place: Int
  let body: Operation.Body

  /// Whether this was in the past of `other`: its author had seen it, or did it before in one go.
  func isBefore(_ other: Written) -> Bool {
    change.version.dot == other.change.version.dot
      ? place < other.place : other.change.past.covers(change.version.dot)
  }
}

extension CausalRun<Operation.Body> {
  /// All operations in some knowledge.
  func written(in knowledge: Frontier) -> [Written] {
    changes(in: knowledge).flatMap { change in
      change.actions.enumerated().map {
        Written(change: change, place: $0.offset, body: $0.element)
      }
    }
  }
}

/// Encodes a record and reads it again: what was read, and the bytes of both.
func recoded(
  _ state: RecordState, _ authors: [Author]
) throws -> (RecordState, [UInt8], [UInt8]) {
  let table = AuthorTable(authors)
  var writer = ByteWriter()
  state.encode(into: &writer, authors: table, values: .all)
  var reader = ByteReader(writer.bytes)
  let again = try RecordState(from: &reader, authors: table, values: .all)
  try reader.finish()
  var second = ByteWriter()
  again.encode(into: &second, authors: table, values: .all)
  return (again, writer.bytes, second.bytes)
}

/// Compares a record's state with the definitions; says what differs.
func recordFault(
  _ state: RecordState, _ run: CausalRun<Operation.Body>, _ knowledge: Frontier
) -> String? {
  let written = run.written(in: knowledge)
  if let fault = lifeFault(state, written) { return fault }
  for entry in state.entries {
    let fault: String? =
      switch entry.field {
      case .register(let register): registerFault(register, entry.id, written)
      case .history(let history): historyFault(history, entry.id, run, knowledge)
      case .counter(let counter): counterFault(counter, entry.id, written)
      case .set(let set): setFault(set, entry.id, written)
      case .text(let text): textFault(text, entry.id, written)
      }
    if let fault { return "\(entry.id): \(fault)" }
  }
  let fields = Set(written.compactMap { fieldWritten(by: $0.body) })
  return fields.isSuperset(of: state.entries.map(\.id)) ? nil : "a field that nobody wrote"
}

private func fieldWritten(by body: Operation.Body) -> FieldID? {
  switch body {
  case .assign(let id, _), .include(let id, _), .exclude(let id, _), .count(let id, _),
    .edit(let id, _):
    id
  case .insert, .delete, .event: nil
  }
}

/// A text shows what the naive model shows after the same edits.
private func textFault(_ text: TextSequence, _ id: FieldID, _ written: [Written]) -> String? {
  var model = NaiveText()
  for one in written {
    if case .edit(id, let edit) = one.body {
      model.apply(edit, dot: one.change.version.dot, past: one.change.past)
    }
  }
  let shown = Array(TextOrder(text).text.unicodeScalars)
  return shown == model.shown ? nil : "\(shown) is shown, not \(model.shown)"
}

/// A record exists while some write is in the past of no deletion.
private func lifeFault(_ state: RecordState, _ written: [Written]) -> String? {
  let deletions = written.filter { $0.body == .delete }
  let survivors = written.filter { write in
    write.body != .delete && !deletions.contains { write.isBefore($0) }
  }
  return state.life.isDeleted == survivors.isEmpty ? nil : "life: \(survivors.count) survivors"
}

/// The assignments of a field that none of the others has seen.
private func survivors(_ id: FieldID, _ written: [Written]) -> [(Version, Value)] {
  let assignments = written.filter {
    if case .assign(id, _) = $0.body { true } else { false }
  }
  return assignments.compactMap { write in
    guard case .assign(_, let value) = write.body,
      !assignments.contains(where: { write.isBefore($0) })
    else { return nil }
    return (write.change.version, value)
  }
}

private func registerFault(
  _ register: Register, _ id: FieldID, _ written: [Written]
) -> String? {
  let expected = survivors(id, written).sorted { $0.0 < $1.0 }
  let actual = register.siblings.sorted { $0.version < $1.version }
  guard actual.map(\.version) == expected.map(\.0), actual.map(\.value) == expected.map(\.1) else {
    return "siblings \(actual), expected \(expected)"
  }
  return register.shown.version == expected.last?.0 ? nil : "shown"
}

/// Everybody's view of a history is the register of what they had seen.
private func historyFault(
  _ history: History, _ id: FieldID, _ run: CausalRun<Operation.Body>, _ knowledge: Frontier
) -> String? {
  let views = run.changes(in: knowledge).map(\.past) + [knowledge]
  for view in views {
    let expected = survivors(id, run.written(in: view)).max { $0.0 < $1.0 }
    let actual = history.shown(asOf: view)
    guard actual?.version == expected?.0, actual?.value == expected?.1 else {
      return "shown as of \(view): \(String(describing: actual)), \(String(describing: expected))"
    }
  }
  let current = survivors(id, run.written(in: knowledge)).map(\.0).sorted()
  return history.current.map(\.version).sorted() == current ? nil : "current"
}

private func counterFault(_ counter: Counter, _ id: FieldID, _ written: [Written]) -> String? {
  let sum = written.reduce(Int64(0)) {
    if case .count(id, let delta) = $1.body { $0 &+ delta } else { $0 }
  }
  return counter.value == sum ? nil : "sum \(sum)"
}

/// An element is in while some addition is in the past of no removal of it.
private func setFault(_ set: ElementSet, _ id: FieldID, _ written: [Written]) -> String? {
  let additions = written.filter { if case .include(id, _) = $0.body { true } else { false } }
  let present = additions.compactMap { addition -> [UInt8]? in
    guard case .include(_, let value) = addition.body else { return nil }
    let isRemoved = written.contains { $0.body == .exclude(id, value) && addition.isBefore($0) }
    return isRemoved ? nil : encoded(value)
  }
  let expected = Set(present).sorted { $0.lexicographicallyPrecedes($1) }
  return set.values.map(encoded) == expected ? nil : "elements, expected \(expected)"
}

/// The canonical bytes of a value.
func encoded(_ value: Value) -> [UInt8] {
  var writer = ByteWriter()
  writer.value(value)
  return writer.bytes
}
