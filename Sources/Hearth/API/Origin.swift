import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// The device that wrote something, and when.
///
/// The device signed it, so nobody else can have written it. The time is that of the device's
/// clock, which may be wrong. ``HearthZone/authors`` tells whose device it is.
public struct Origin: Hashable, Sendable {
  /// The device.
  public let device: Key<ZoneDevice>
  /// When it wrote, by its own clock.
  public let time: Date

  init(_ version: Version) {
    device = Key(version.dot.author.device)
    time = Date(milliseconds: version.time.milliseconds)
  }
}

/// One of the values that a ``History`` field has had.
public struct FieldVersion<Value: FieldValue>: Sendable {
  /// The value.
  public let value: Value
  /// Who wrote it, and when.
  public let origin: Origin
}

/// Reads from where the content of records comes.
private struct OriginReader<Owner: Record> {
  let reader: ZoneReader

  /// The event with all that it keeps; nil if there is none.
  func event(_ key: Key<Owner>) throws -> EventState? {
    guard case .event(let event) = try stored(key, reading: Owner.schema.columns) else {
      return nil
    }
    return event
  }

  /// A field and its record's state; nil if the record was never written, or was deleted.
  func field(
    _ path: PartialKeyPath<Owner>, _ key: Key<Owner>
  ) throws -> (id: FieldID, name: String, state: RecordState)? {
    guard let field = Owner.schema.field(path) else {
      throw HearthError(.invalid, "the property \(path) is not a field of \(Owner.schema.name)")
    }
    guard case .record(let state) = try stored(key, reading: [field.id]), !state.life.isDeleted
    else { return nil }
    return (field.id, field.name, state)
  }

  /// A history; nil if the record was never written, or was deleted.
  ///
  /// - Throws: `invalid` for a field of another kind.
  func history(
    _ path: PartialKeyPath<Owner>, _ key: Key<Owner>
  ) throws -> HearthCRDT.History? {
    guard let field = Owner.schema.field(path), field.kind == .history else {
      throw HearthError(
        .invalid, "the property \(path) of \(Owner.schema.name) is not declared with History")
    }
    guard let (id, _, state) = try self.field(path, key) else { return nil }
    guard case .history(let history) = state[id] else { return HearthCRDT.History() }
    return history
  }

  private func stored(_ key: Key<Owner>, reading fields: [FieldID]) throws -> StoredRecord? {
    let place = RecordKey(type: Owner.schema.type, id: key.identifier)
    try reader.prepare(toRead: fields, of: place)
    return try reader.queries.record(place, in: reader.zone)
  }
}

extension ZoneReader {
  /// Returns who wrote an event, and when; nil if there is no such event.
  public func origin<Owner: Event>(of key: Key<Owner>) throws(HearthError) -> Origin? {
    try reported { try OriginReader(reader: self).event(key).map { Origin($0.version) } }
  }

  /// Returns who wrote the value that a record shows for a field, and when.
  ///
  /// - Returns: nil if nobody has written the field, or if there is no such record.
  /// - Throws: `invalid` if the property is no ``Field``, ``Reference`` or ``History``: what others
  ///   show has several authors.
  public func origin<Owner: Record, Value>(
    of path: KeyPath<Owner, Value>, in key: Key<Owner>
  ) throws(HearthError) -> Origin? where Owner.Mutability == ChangingRecord {
    try reported {
      guard let (id, name, state) = try OriginReader(reader: self).field(path, key) else {
        return nil
      }
      guard id.kind == .register || id.kind == .history else {
        throw HearthError(
          .invalid, "what \(name) of \(Owner.schema.name) shows has several authors")
      }
      return FieldSiblings.values(of: id, in: state).first.map { Origin($0.version) }
    }
  }

  /// Returns the values that a field has had, the earliest first.
  ///
  /// Values that do not fit the program's type are left out.
  ///
  /// - Returns: nothing if there is no such record. Of values that were written at the same time,
  ///   the one whose device's clock was behind is first.
  /// - Throws: `invalid` if the property is not declared with ``History``.
  /// - Complexity: O(n log n) in the number of values.
  public func versions<Owner: Record, Value: FieldValue>(
    of path: KeyPath<Owner, Value>, in key: Key<Owner>
  ) throws(HearthError) -> [FieldVersion<Value>] {
    try reported {
      let entries = try OriginReader<Owner>(reader: self).history(path, key)?.entries ?? []
      return entries.sorted { $0.version < $1.version }.compactMap {
        entry -> FieldVersion<Value>? in
        guard let value = Value(stored: StoredValue(entry.value)) else { return nil }
        return FieldVersion(value: value, origin: Origin(entry.version))
      }
    }
  }

  /// Returns the value that a field showed to the author of an event, on the author's device.
  ///
  /// It is the same on every device, and does not change when later values arrive: what a chore
  /// paid when somebody did it, even if somebody else had raised its points in the meantime. What
  /// does not fit the program's type counts as never written.
  ///
  /// - Returns: nil if the author's device had received no value of the field.
  /// - Throws: `invalid` if the property is not declared with ``History``, or if the events do not
  ///   keep their past (``Event/keepsPast``); `notFound` if there is no such event.
  public func value<Owner: Record, Value: FieldValue, Witness: Event>(
    of path: KeyPath<Owner, Value>, in key: Key<Owner>, seenBy event: Key<Witness>
  ) throws(HearthError) -> Value? {
    try reported {
      guard Witness.schema.type.keepsCause else {
        throw HearthError(
          .invalid, "events of \(Witness.schema.name) do not keep their past: declare keepsPast")
      }
      guard let past = try OriginReader<Witness>(reader: self).event(event)?.cause else {
        throw HearthError(
          .notFound, "there is no event of \(Witness.schema.name) with the key \(event)")
      }
      let history = try OriginReader<Owner>(reader: self).history(path, key)
      let shown = history?.shown(asOf: past) { Value(stored: StoredValue($0)) != nil }
      return shown.flatMap { Value(stored: StoredValue($0.value)) }
    }
  }
}

/// The people whose devices have written to a zone, including those who have left.
public struct ZoneAuthors: Sendable {
  /// A person who has a device in the zone, or had one.
  public struct Author: Hashable, Sendable {
    /// The person's key, which is the same on every device.
    public let id: Key<ZoneMember>
    /// The person's own name for themselves.
    public let name: String
    /// Whether the person belongs to the zone now.
    public let isMember: Bool
  }

  private let authors: [Key<ZoneDevice>: Author]

  init(_ membership: Membership) {
    let present = Set(membership.people.map(\.id))
    authors = membership.allDevices.reduce(into: [:]) { authors, device in
      guard let person = membership.person(of: device.id) else { return }
      authors[Key(device.id)] = Author(
        id: Key(person.id), name: person.name, isMember: present.contains(person.id))
    }
  }

  /// Returns the person who owns or owned a device; nil for a stranger.
  public subscript(device: Key<ZoneDevice>) -> Author? { authors[device] }

  /// Returns the person whose device wrote something; nil for a stranger.
  public subscript(origin: Origin) -> Author? { authors[origin.device] }
}

extension HearthZone {
  /// The people whose devices have written to the zone, to name the authors of what it holds.
  public var authors: ZoneAuthors {
    get async throws(HearthError) {
      try await Hearth.reported {
        try await node.working { core in
          let people = ZonePeople(core: core, zone: zone)
          return ZoneAuthors(people.membership(of: try people.group()))
        }
      }
    }
  }
}
