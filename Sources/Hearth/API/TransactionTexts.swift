import HearthCRDT
import HearthSync

/// The texts that a transaction edits, as they will be once it is written.
///
/// An edit names characters by their change, so that edits of one transaction are made on a copy
/// that already has the transaction's own name.
struct TransactionTexts {
  private struct Place: Hashable {
    let record: RecordKey
    let field: FieldID
  }

  /// The change that the transaction will be.
  let dot: Dot
  /// Everything that this device has seen.
  let past: Frontier
  private var texts: [Place: TextSequence] = [:]

  init(dot: Dot, past: Frontier) {
    self.dot = dot
    self.past = past
  }

  /// The edits that turn one version of a text into another.
  ///
  /// What others wrote into the text since the first version was read stays.
  ///
  /// - Parameter stored: The record as it is, of which the transaction has not edited the text yet.
  mutating func edits(
    of field: FieldID, _ record: RecordKey, from before: String, to after: String,
    stored: () throws -> RecordState?
  ) throws -> [TextEdit] {
    let place = Place(record: record, field: field)
    var text = try texts[place] ?? stored()?.text(field) ?? TextSequence()
    let order = TextOrder(text)
    let now = order.text
    let merged =
      now == before
      ? after
      : TextDifference(from: before, to: after).text(with: TextDifference(from: before, to: now))
    let edits = order.edits(to: merged)
    for edit in edits { text.apply(edit, dot: dot, past: past) }
    texts[place] = text
    return edits
  }

  /// Operations that show in another change what the transaction's own ones will show in theirs.
  ///
  /// - Parameter stored: A record as that change finds it.
  func shown(
    _ operations: some Sequence<Operation>, stored: (RecordKey) throws -> RecordState?
  ) throws -> [Operation] {
    var done: Set<Place> = []
    return try operations.flatMap { operation -> [Operation] in
      guard case .edit(let field, _) = operation.body else { return [operation] }
      let place = Place(record: operation.key, field: field)
      guard done.insert(place).inserted, let text = texts[place] else { return [] }
      let present = try stored(operation.key)?.text(field) ?? TextSequence()
      return TextOrder(present).edits(to: TextOrder(text).text).map {
        Operation(operation.key, .edit(field, $0))
      }
    }
  }
}
