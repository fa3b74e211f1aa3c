import HearthCRDT
import HearthStore

extension ZoneTransaction {
  /// Moves a record within an ordered list, or to a place in a list that it is to be in.
  ///
  /// ```swift
  /// try tx.move(rake.id, \.position, to: .first, in: chores)
  /// ```
  ///
  /// It writes the position of that one record; its other fields say in which list it is. Records
  /// around the place get new positions too if there is no room: if two of them have the very same
  /// position, or after some thirty moves of two people by turns into one gap. All others stay.
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
      let placement = try order.placement(of: key, at: place)
      let move = order.placing(key, at: placement.position)
      guard !placement.room.isEmpty else { return try append([move]) }
      try appendLater(placement.room + [move])
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
      let placement = try order.placement(of: record.id, at: place)
      record[keyPath: path] = placement.position
      let inserted = try insert(record)
      try appendLater(placement.room)
      return inserted
    }
  }
}
