import HearthCRDT
import HearthStore
import HearthSync

/// Writes what one zone holds into another, as ordinary changes.
struct ZoneCopy: NodeWork {
  let core: NodeCore

  /// The most bytes of values in one transaction, far below what one may have.
  private static let maximumBytes = 128 * 1024
  private static let maximumOperations = 1_000

  /// Copies fields into a zone from another zone, unless somebody has written them there.
  ///
  /// Of a record, each field that was never written there is added with the value that it shows;
  /// counters are added up, sets united. Where an id follows from a field's text, the record takes
  /// the id of the new zone. Deleted records stay behind, and so do types that the schema of this
  /// program does not know. Events are written again as this device's.
  func copy(
    from old: ZoneID, to new: ZoneID, with engine: inout Engine<ReplicaStore>
  ) throws {
    let moment = now()
    var batch: [HearthCRDT.Operation] = []
    var byteCount = 0
    func flush() throws {
      guard !batch.isEmpty else { return }
      _ = try engine.write(batch, to: new, nowMilliseconds: moment)
      (batch, byteCount) = ([], 0)
    }
    let (source, target) = (
      try store.projections.source(of: old), try store.projections.source(of: new)
    )
    for type in schema.records.map(\.id).sorted() where !type.isEvent {
      for id in try source.ids(of: type) {
        let record = try missing(RecordKey(type: type, id: id), from: source, to: target)
        let size = record.reduce(0) { $0 + ZoneCopy.valueBytes(of: $1.body) }
        // What was written together stays so, if one transaction can hold it.
        if byteCount + size > ZoneCopy.maximumBytes
          || batch.count + record.count > ZoneCopy.maximumOperations
        {
          try flush()
        }
        for operation in record {
          batch.append(operation)
          byteCount += ZoneCopy.valueBytes(of: operation.body)
          if byteCount >= ZoneCopy.maximumBytes || batch.count >= ZoneCopy.maximumOperations {
            try flush()
          }
        }
      }
    }
    try flush()
    for type in schema.records.map(\.id).sorted() where type.isEvent {
      for id in try source.ids(of: type) {
        guard let event = try source.event(RecordKey(type: type, id: id)) else { continue }
        let dot = try engine.nextDot(in: new)
        let key = RecordKey(type: type, id: eventID(in: new, type: type, dot: dot, index: 0))
        batch = [HearthCRDT.Operation(key, .event(event.fields))]
        try flush()
      }
    }
  }

  /// What a record lacks in the new zone.
  private func missing(
    _ key: RecordKey, from source: any ProjectionSource, to target: any ProjectionSource
  ) throws -> [HearthCRDT.Operation] {
    guard let state = try source.record(key), !state.life.isDeleted else { return [] }
    let text = schema.naturalKeys[key.type].flatMap { state.shown($0)?.text }
    let copied = RecordKey(
      type: key.type,
      id: text.map { naturalID(in: target.zone, type: key.type, key: Array($0.utf8)) } ?? key.id)
    let present = try target.record(copied)
    guard present?.life.isDeleted != true else { return [] }
    var bodies: [HearthCRDT.Operation.Body] = present == nil ? [.insert] : []
    for entry in state.entries {
      switch entry.field {
      case .register, .history:
        guard present?[entry.id] == nil, let value = state.shown(entry.id) else { continue }
        bodies.append(.assign(entry.id, value))
      case .counter(let counter): bodies.append(.count(entry.id, counter.value))
      case .set(let set): bodies += set.values.map { .include(entry.id, $0) }
      case .text(let text):
        guard present?[entry.id] == nil else { continue }
        bodies += ZoneCopy.parts(of: TextOrder(text).text).map {
          .edit(entry.id, .insert($0, .start))
        }
      }
    }
    return bodies.map { HearthCRDT.Operation(copied, $0) }
  }

  /// A text in parts that one transaction can hold: what is inserted at the beginning of an empty
  /// text comes in the order in which it was written.
  private static func parts(of text: String) -> [String] {
    let (scalars, length) = (Array(text.unicodeScalars), maximumBytes / 8)
    return stride(from: 0, to: scalars.count, by: length).map { start in
      var part = String.UnicodeScalarView()
      part.append(contentsOf: scalars[start..<min(start + length, scalars.count)])
      return String(part)
    }
  }

  private static func valueBytes(of body: HearthCRDT.Operation.Body) -> Int {
    let overhead = 32
    switch body {
    case .assign(_, .text(let text)), .include(_, .text(let text)):
      return text.utf8.count + overhead
    case .edit(_, .insert(let text, _)): return text.utf8.count + overhead
    case .assign(_, .bytes(let bytes)), .include(_, .bytes(let bytes)):
      return bytes.count + overhead
    default: return overhead
    }
  }
}
