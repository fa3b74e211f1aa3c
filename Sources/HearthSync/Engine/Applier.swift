import HearthCRDT
import HearthCrypto

/// Applies changes of one zone to its records, within one transaction of the store.
///
/// Records are read once in order of key, changed in memory, and written back in order of key: a
/// B-tree visited in order costs a fraction of one visited at random.
struct Applier<S: Store> {
  private struct Slot {
    var state: RecordState
    let isNew: Bool
  }

  private let zone: ZoneID
  private let store: S
  private var slots: [RecordKey: Slot] = [:]
  private var events: [(RecordKey, EventState)] = []

  init(zone: ZoneID, store: S) {
    self.zone = zone
    self.store = store
  }

  /// Reads the records that the changes will touch.
  mutating func prepare(for changes: some Sequence<Change>) throws {
    var keys: Set<RecordKey> = []
    for change in changes {
      try store.learn([change.dot.author])
      for operation in change.operations where !operation.key.type.isEvent {
        keys.insert(operation.key)
      }
    }
    let sorted = keys.sorted()
    let present = try store.records(sorted, in: zone)
    slots.reserveCapacity(sorted.count)
    for key in sorted {
      if let state = present[key] {
        slots[key] = Slot(state: state, isNew: false)
      } else {
        slots[key] = Slot(state: RecordState(), isNew: true)
      }
    }
  }

  /// Applies a change whose records were prepared.
  ///
  /// An operation that does not fit its type is void, as is an event whose id is not that of its
  /// place in its author's log: nobody can create, or change, somebody else's event.
  ///
  /// - Parameter past: everything the author had seen, its own earlier changes included.
  mutating func apply(_ change: Change, past: Frontier) throws {
    let version = Version(dot: change.dot, time: change.time)
    for (index, operation) in change.operations.enumerated() where operation.isWellFormed {
      let key = operation.key
      if case .event(let fields) = operation.body {
        guard key.id == eventID(in: zone, type: key.type, dot: change.dot, index: index) else {
          continue
        }
        let cause = key.type.keepsCause ? past : nil
        events.append((key, EventState(version: version, cause: cause, fields: fields)))
        continue
      }
      guard var slot = slots.removeValue(forKey: key) else {
        preconditionFailure("record \(key) was not prepared")
      }
      if slot.state.needsShownValue(for: operation.body, past: past) {
        try store.supplyShownValues(to: &slot.state, of: key, in: zone)
      }
      slot.state.apply(operation.body, version: version, past: past)
      slots[key] = slot
    }
  }

  /// Writes everything back and brings the projections up to date.
  mutating func flush() throws {
    let changes = slots.keys.sorted().compactMap { key in
      slots[key].map { RecordChange(key: key, state: $0.state, isNew: $0.isNew) }
    }
    // A prepared record whose only operations were void stays unwritten.
    try store.save(changes.filter { !$0.isNew || !$0.state.isUntouched }, in: zone)
    events.sort { $0.0 < $1.0 }
    try store.insert(events, in: zone)
    try store.updateProjections(
      for: changes.map(\.key) + events.map(\.0), in: zone)
    slots.removeAll()
    events.removeAll()
  }
}

extension RecordState {
  /// Whether nothing was ever applied to it.
  var isUntouched: Bool { life.writes.isEmpty && life.deletes.isEmpty }
}

/// The id of an event: it follows from its place in its author's log, so nobody else can make it.
package func eventID(in zone: ZoneID, type: TypeID, dot: Dot, index: Int) -> RecordID {
  var writer = ByteWriter(capacity: 64)
  writer.identifier(zone)
  writer.varint(UInt64(type.rawValue))
  writer.author(dot.author)
  writer.varint(dot.sequence)
  writer.varint(index)
  return derivedIdentifier("HRTH/event/v1", writer.bytes)
}

/// The id of a record that several devices may create as the same thing.
package func naturalID(in zone: ZoneID, type: TypeID, key: [UInt8]) -> RecordID {
  var writer = ByteWriter(capacity: 64)
  writer.identifier(zone)
  writer.varint(UInt64(type.rawValue))
  writer.blob(key)
  return derivedIdentifier("HRTH/natural/v1", writer.bytes)
}
