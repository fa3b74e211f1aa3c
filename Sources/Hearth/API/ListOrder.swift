import HearthCRDT
import HearthStore

/// The positions of a list's records, as a transaction sees them.
struct ListOrder<Owner: Record> {
  /// The position of a record at a place, and what makes room for it.
  struct Placement {
    let position: Position
    /// What gives other records new positions, in an order in which none overtakes another one that
    /// moves.
    let room: [Operation]
  }

  private struct Entry {
    let key: Key<Owner>
    let position: Position
  }

  /// The queries for what is before a place and after it, the nearest first; nil for nothing.
  private typealias Sides = (before: Query<Owner>?, after: Query<Owner>?)

  private let list: Query<Owner>
  private let field: FieldID
  private let path: KeyPath<Owner, Position>
  private let reader: ZoneTransaction

  init(_ list: Query<Owner>, by path: KeyPath<Owner, Position>, in reader: ZoneTransaction) throws {
    guard let field = Owner.schema.field(path) else {
      throw HearthError(.invalid, "the property \(path) is not a field of \(Owner.schema.name)")
    }
    self.field = field.id
    self.list = list.unordered()
    self.path = path
    self.reader = reader
  }

  // MARK: Positions

  /// Finds a position for a record at a place.
  ///
  /// Where there is none, the records around the place get new positions, as few as will do. It
  /// reads some of them and not the list.
  func placement(of key: Key<Owner>, at place: ListPlace<Owner>) throws -> Placement {
    let sides = try sides(of: place, besides: key)
    var count = 1
    while true {
      let (before, after) = (
        try entries(sides.before, atMost: count), try entries(sides.after, atMost: count)
      )
      let gap = ListGap(
        ListGap.Side(before.map(\.position), isWhole: before.count < count),
        ListGap.Side(after.map(\.position), isWhole: after.count < count), by: reader.writerMark)
      if let gap { return placement(in: gap, before, after) }
      count *= 8
    }
  }

  /// The outermost records get their positions first, so that none overtakes another one.
  ///
  /// That holds among the new positions. New ones are not ordered against the old ones of records
  /// that are still to move: while a move that takes several changes arrives in parts, another
  /// device may show these records in another order. It is right when the last part has arrived.
  private func placement(in gap: ListGap, _ before: [Entry], _ after: [Entry]) -> Placement {
    let left = zip(before.prefix(gap.before).reversed(), gap.positions)
    let right = zip(after.prefix(gap.after), gap.positions.dropFirst(gap.before + 1))
    let moved = Array(left) + Array(right).reversed()
    return Placement(
      position: gap.positions[gap.before], room: moved.map { placing($0.0.key, at: $0.1) })
  }

  /// The operation that gives a record a position.
  func placing(_ key: Key<Owner>, at position: Position) -> Operation {
    Operation(
      RecordKey(type: Owner.schema.type, id: key.identifier), .assign(field, .bytes(position.bytes))
    )
  }

  // MARK: Reading

  private func sides(of place: ListPlace<Owner>, besides key: Key<Owner>) throws -> Sides {
    // A value of another kind comes before all positions, and nobody sees its record.
    let others = list.where(!(\.id == key)).where(path >= Position())
    let (upwards, downwards) = (others.order(path, .ascending), others.order(path, .descending))
    let anchor: Key<Owner>
    switch place {
    case .first: return (nil, upwards)
    case .last: return (downwards, nil)
    case .before(let other), .after(let other): anchor = other
    }
    let position = try position(of: anchor, besides: key)
    let (left, right) = (
      downwards.where(path <= position), upwards.where(path >= position)
    )
    if case .after = place {
      return (
        left.where(path < position || \.id <= anchor), right.where(path > position || \.id > anchor)
      )
    }
    return (
      left.where(path < position || \.id < anchor), right.where(path > position || \.id >= anchor)
    )
  }

  /// The position of the record beside which another one goes.
  private func position(of anchor: Key<Owner>, besides key: Key<Owner>) throws -> Position {
    guard anchor != key else {
      throw HearthError(.invalid, "a record cannot go beside itself")
    }
    guard let row = try reader.rows(list.where(\.id == anchor), showing: [field]).first else {
      throw HearthError(
        .notFound, "the list has no record of \(Owner.schema.name) with the key \(anchor)")
    }
    guard let position = position(in: row) else {
      throw HearthError(
        unreadable: UnreadableRecord(
          id: row.id.hex, type: Owner.schema.name, field: Owner.schema.field(path)?.name ?? ""))
    }
    return position
  }

  private func entries(_ query: Query<Owner>?, atMost count: Int) throws -> [Entry] {
    guard let query else { return [] }
    return try reader.rows(query.limit(count), showing: [field]).compactMap { row in
      position(in: row).map { Entry(key: Key(row.id), position: $0) }
    }
  }

  /// The position in a row; nil for a value of another kind.
  private func position(in row: RecordRow) -> Position? {
    switch row.fields.first {
    case .value(.bytes(let bytes)): Position(bytes: bytes)
    case .value(.null): Position()
    default: nil
    }
  }
}
