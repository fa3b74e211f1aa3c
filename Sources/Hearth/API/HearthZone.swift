import HearthCRDT
import HearthMembership
import HearthSync

/// The role of an invited person.
public enum InvitedRole: String, Sendable {
  /// Reads, writes and invites.
  case admin
  /// Reads and writes.
  case member
  /// Completes and proposes.
  case child
  /// Reads.
  case reader

  var role: Role {
    switch self {
    case .admin: .admin
    case .member: .member
    case .child: .child
    case .reader: .reader
    }
  }
}

/// The lifetime of an invitation.
public struct InvitationLifetime: Sendable {
  let milliseconds: UInt64

  /// A number of days.
  public static func days(_ days: UInt64) -> InvitationLifetime {
    InvitationLifetime(milliseconds: days * 86_400_000)
  }

  /// A number of hours.
  public static func hours(_ hours: UInt64) -> InvitationLifetime {
    InvitationLifetime(milliseconds: hours * 3_600_000)
  }
}

/// One zone: the unit of atomicity, sharing and encryption.
public struct HearthZone: Sendable {
  let node: Node
  /// The zone's id.
  public let id: Identifier

  /// Writes one transaction: every device shows all of it or nothing.
  public func write(
    _ body: @escaping @Sendable (inout ZoneTransaction) throws -> Void
  ) async throws {
    try await node.write(to: id) { _, _ in
      var transaction = ZoneTransaction()
      try body(&transaction)
      return (transaction.operations, ())
    }
  }

  /// Returns all records of a type that are not deleted, in order of id.
  public func fetch<Record: SyncedRecord>(_ type: Record.Type) async throws -> [Record] {
    try await node.read(id) { source in
      try source.ids(of: type.schema.id).compactMap {
        try HearthZone.record(type, $0, in: source)
      }
    }
  }

  /// Returns the records of a type whose field shows a value, in order of id.
  ///
  /// It is fast if the field is indexed.
  public func fetch<Record: SyncedRecord>(
    _ type: Record.Type, where field: FieldID, is value: Value
  ) async throws -> [Record] {
    try await node.read(id) { source in
      try source.ids(of: type.schema.id, where: field, is: value).compactMap {
        try HearthZone.record(type, $0, in: source)
      }
    }
  }

  /// Returns one record; nil if it does not exist.
  public func fetch<Record: SyncedRecord>(
    _ type: Record.Type, id record: Identifier
  ) async throws -> Record? {
    try await node.read(id) { try HearthZone.record(type, record, in: $0) }
  }

  /// Returns the records of a type now, and again after every change.
  ///
  /// Changes in quick succession arrive as one; equal results are not repeated.
  public func observe<Record: SyncedRecord & Equatable>(
    _ type: Record.Type
  ) -> AsyncThrowingStream<[Record], any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: [Record].self, throwing: (any Error).self)
    let task = Task {
      do {
        var last: [Record]?
        for await _ in await node.news() {
          let records = try await fetch(type)
          if records != last { continuation.yield(records) }
          last = records
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  private static func record<Record: SyncedRecord>(
    _ type: Record.Type, _ id: Identifier, in source: any ProjectionSource
  ) throws -> Record? {
    let state = try source.record(RecordKey(type: type.schema.id, id: id))
    guard let state, !state.life.isDeleted else { return nil }
    return try Record(id: id, fields: RecordFields(state))
  }

  /// Returns the zone's digest, which is equal on every replica with the same changes.
  public func digest() async throws -> [UInt8] {
    try await node.digest(of: id)
  }

  /// Creates an invitation and returns its link; anybody with the link can join.
  public func invite(
    role: InvitedRole = .member, uses: Int = 1, expires: InvitationLifetime = .days(7)
  ) async throws -> String {
    try await node.invitations.create(
      to: id, role: role.role, maximumUses: uses, expiresInMilliseconds: expires.milliseconds
    ).text
  }

  /// Creates an invitation for one further device of this node's person, to a shared zone and to
  /// the person's private database.
  ///
  /// The new device's own private database is merged into this one's. Zones that a program has from
  /// that database are replaced: read ``HearthNode/personal`` again.
  public func inviteOwnDevice(expires: InvitationLifetime = .hours(1)) async throws -> String {
    try await node.invitations.create(
      to: id,
      InvitationTerms(
        role: .member, isToOneself: true, maximumUses: 1,
        expiresInMilliseconds: expires.milliseconds)
    ).text
  }
}

/// The steps of one transaction.
public struct ZoneTransaction {
  var operations: [Operation] = []

  /// Inserts a record, or overwrites the fields of the one with its id.
  public mutating func insert(_ record: some SyncedRecord) throws {
    let key = RecordKey(type: type(of: record).schema.id, id: record.id)
    operations.append(Operation(key, .insert))
    for (field, value) in record.values {
      operations.append(Operation(key, .assign(field, value)))
    }
  }

  /// Sets one field of a record.
  public mutating func set<Record: SyncedRecord>(
    _ field: FieldID, _ value: Value, of record: Identifier, _ type: Record.Type
  ) throws {
    operations.append(
      Operation(RecordKey(type: type.schema.id, id: record), .assign(field, value)))
  }

  /// Adds to a counter; every addition counts exactly once.
  public mutating func add<Record: SyncedRecord>(
    _ amount: Int64, to field: FieldID, of record: Identifier, _ type: Record.Type
  ) throws {
    operations.append(
      Operation(RecordKey(type: type.schema.id, id: record), .count(field, amount)))
  }

  /// Adds an element to a set; it wins over a concurrent removal.
  public mutating func include<Record: SyncedRecord>(
    _ element: Value, in field: FieldID, of record: Identifier, _ type: Record.Type
  ) throws {
    operations.append(
      Operation(RecordKey(type: type.schema.id, id: record), .include(field, element)))
  }

  /// Removes the additions of an element that this device has seen.
  public mutating func exclude<Record: SyncedRecord>(
    _ element: Value, from field: FieldID, of record: Identifier, _ type: Record.Type
  ) throws {
    operations.append(
      Operation(RecordKey(type: type.schema.id, id: record), .exclude(field, element)))
  }

  /// Deletes a record; a concurrent edit by others restores it completely.
  public mutating func delete<Record: SyncedRecord>(
    _ record: Identifier, _ type: Record.Type
  ) throws {
    operations.append(Operation(RecordKey(type: type.schema.id, id: record), .delete))
  }
}
