import HearthCRDT
import HearthStore

/// Where a record goes in an ordered list.
public enum ListPlace<Owner: Record>: Sendable {
  /// Before all others.
  case first
  /// After all others.
  case last
  /// Just before another record of the list.
  case before(Key<Owner>)
  /// Just after another record of the list.
  case after(Key<Owner>)
}

extension ZoneTransaction {
  /// Moves a record within an ordered list, or to a place in a list that it is to be in.
  ///
  /// ```swift
  /// try tx.move(rake.id, \.position, to: .first, in: chores)
  /// ```
  ///
  /// It writes the position of that one record; its other fields say in which list it is. All
  /// records of the list get new positions if there is no room: if two of them have the very same
  /// position, or after some thirty moves of two people by turns into one gap.
  ///
  /// - Parameters:
  ///   - key: the record.
  ///   - path: the field with the position.
  ///   - place: where it goes.
  ///   - list: the records of the list; an order or limit of the query does not matter.
  /// - Throws: `notFound` if there is no such record, or if the record beside which it goes is not
  ///   in the list; `invalid` if the property is not a field.
  public func move<Owner: Record>(
    _ key: Key<Owner>, _ path: WritableKeyPath<Owner, Position>, to place: ListPlace<Owner>,
    in list: Query<Owner>
  ) throws(HearthError) where Owner.Mutability == ChangingRecord {
    try reported {
      guard let row = try row(key), row.isAlive else {
        throw HearthError(
          .notFound, "there is no record of \(Owner.schema.name) with the key \(key)")
      }
      let order = try ListOrder(list, by: path, in: self)
      if let position = try order.position(at: place, for: key) {
        try append([order.placing(key, at: position)])
      } else {
        try append(try order.spreading(key, at: place))
      }
    }
  }

  /// Inserts a new record into an ordered list.
  ///
  /// - Parameters:
  ///   - record: the record; its position is set.
  ///   - place: where it goes.
  ///   - path: the field with the position.
  ///   - list: the records of the list; an order or limit of the query does not matter.
  /// - Returns: the record, with its position.
  /// - Throws: `exists` if there is a record with its key; what
  ///   ``move(_:_:to:in:)`` throws.
  @discardableResult
  public func insert<Owner: Record>(
    _ record: Owner, at place: ListPlace<Owner>, of list: Query<Owner>,
    by path: WritableKeyPath<Owner, Position>
  ) throws(HearthError) -> Owner where Owner.Mutability == ChangingRecord {
    try reported {
      var record = record
      let order = try ListOrder(list, by: path, in: self)
      if let position = try order.position(at: place, for: record.id) {
        record[keyPath: path] = position
        return try insert(record)
      }
      let key = RecordKey(type: Owner.schema.type, id: record.id.identifier)
      let moves = try order.spreading(record.id, at: place)
      record[keyPath: path] = order.position(in: moves, of: key)
      let inserted = try insert(record)
      try append(moves.filter { $0.key != key })
      return inserted
    }
  }
}

/// The positions of a list's records, as a transaction sees them.
private struct ListOrder<Owner: Record> {
  private struct Entry {
    let key: Key<Owner>
    let position: Position
  }

  private let list: Query<Owner>
  private let field: FieldID
  private let path: KeyPath<Owner, Position>
  private let reader: ZoneTransaction

  init(_ list: Query<Owner>, by path: KeyPath<Owner, Position>, in reader: ZoneTransaction) throws {
    guard let field = Owner.schema.field(path) else {
      throw HearthError(.invalid, "the property \(path) is not a field of \(Owner.schema.name)")
    }
    self.field = field.id
    self.list = list
    self.path = path
    self.reader = reader
  }

  // MARK: Positions

  /// A position at a place for a record; nil if there is none.
  func position(at place: ListPlace<Owner>, for key: Key<Owner>) throws -> Position? {
    let others = list.ordered(by: path, .ascending).where(!(\.id == key))
    let reversed = list.ordered(by: path, .descending).where(!(\.id == key))
    let (left, right): (Entry?, Entry?)
    switch place {
    case .first: (left, right) = (nil, try first(of: others))
    case .last: (left, right) = (try first(of: reversed), nil)
    case .after(let anchor):
      let entry = try self.entry(of: anchor, besides: key)
      let (position, id) = (entry.position, entry.key)
      (left, right) = (
        entry,
        try first(of: others.where(path > position || (path == position && \.id > id)))
      )
    case .before(let anchor):
      let entry = try self.entry(of: anchor, besides: key)
      let (position, id) = (entry.position, entry.key)
      (left, right) = (
        try first(of: reversed.where(path < position || (path == position && \.id < id))), entry
      )
    }
    return Position.between(left?.position, right?.position, by: reader.writerMark)
  }

  /// The operation that gives a record a position.
  func placing(_ key: Key<Owner>, at position: Position) -> Operation {
    Operation(
      RecordKey(type: Owner.schema.type, id: key.identifier), .assign(field, .bytes(position.bytes))
    )
  }

  /// The operations that put a record at a place and give all others new positions.
  func spreading(_ key: Key<Owner>, at place: ListPlace<Owner>) throws -> [Operation] {
    var keys = try entries(of: list.ordered(by: path, .ascending)).map(\.key).filter { $0 != key }
    switch place {
    case .first: keys.insert(key, at: 0)
    case .last: keys.append(key)
    case .before(let anchor): keys.insert(key, at: try index(of: anchor, in: keys))
    case .after(let anchor): keys.insert(key, at: try index(of: anchor, in: keys) + 1)
    }
    return zip(keys, Position.spread(keys.count, by: reader.writerMark)).map(placing)
  }

  /// The position that operations give a record.
  func position(in operations: [Operation], of key: RecordKey) -> Position {
    for operation in operations where operation.key == key {
      if case .assign(_, .bytes(let bytes)) = operation.body { return Position(bytes: bytes) }
    }
    return Position()
  }

  // MARK: Reading

  private func index(of anchor: Key<Owner>, in keys: [Key<Owner>]) throws -> Int {
    guard let index = keys.firstIndex(of: anchor) else { throw missing(anchor) }
    return index
  }

  private func entry(of anchor: Key<Owner>, besides key: Key<Owner>) throws -> Entry {
    guard anchor != key else {
      throw HearthError(.invalid, "a record cannot go beside itself")
    }
    guard let entry = try first(of: list.ordered(by: path, .ascending).where(\.id == anchor))
    else { throw missing(anchor) }
    return entry
  }

  private func missing(_ anchor: Key<Owner>) -> HearthError {
    HearthError(.notFound, "the list has no record of \(Owner.schema.name) with the key \(anchor)")
  }

  private func first(of query: Query<Owner>) throws -> Entry? {
    try entries(of: query.limit(1)).first
  }

  private func entries(of query: Query<Owner>) throws -> [Entry] {
    try reader.rows(query, showing: [field]).map { row in
      guard case .value(.bytes(let bytes)) = row.fields[0] else {
        return Entry(key: Key(row.id), position: Position())
      }
      return Entry(key: Key(row.id), position: Position(bytes: bytes))
    }
  }
}

extension Query {
  /// The query's records in another order, without a limit.
  fileprivate func ordered(
    by path: KeyPath<Owner, Position>, _ direction: SortDirection
  ) -> Query {
    unordered().order(path, direction)
  }
}
