/// Blocks of records or events of one type, column by column, for snapshots and digests.
///
/// A block has the same content as the states' own encoding, sorted so that neighbours are similar:
/// ids, the changes that wrote the records with each time once, then each field's presence,
/// versions and values. docs/reference/snapshot-format.md describes it byte by byte.
///
/// A block has exactly one encoding. The decoder verifies this without encoding again. Each column
/// is a one-to-one mapping between its bytes and its values, the length of each follows from the
/// columns before it, and tables contain nothing unused. The few choices (a column's width and
/// step, numbered texts, writes that follow from the fields) are compared with the encoder's
/// choice.
package enum StateBlock {
  /// Whether a block with this content is full and ends here.
  package static func isFull(records: Int, weight: Int) -> Bool {
    records >= Limits.maximumBlockRecords || weight >= Limits.fullBlockWeight
  }

  /// The weight of a dot, a version or a value apart from its text.
  static let itemWeight = 8

  static func weight(of value: Value) -> Int {
    switch value {
    case .text(let text): itemWeight + text.utf8.count
    case .bytes(let bytes): itemWeight + bytes.count
    case .null, .bool, .int: itemWeight
    }
  }
}

extension RecordState {
  /// The record's weight towards a full block: about its bytes without compression.
  package var blockWeight: Int {
    var items = 2 + life.deletes.entries.count + 2 * charges.entries.count
    var values = 0
    for entry in entries {
      switch entry.field {
      case .register(let register):
        values += StateBlock.weight(of: register.shown.value ?? .null)
        for sibling in register.others {
          values += StateBlock.weight(of: sibling.value ?? .null)
        }
        items += 1 + register.others.count
      case .history(let history):
        for item in history.entries {
          values += StateBlock.weight(of: item.value)
          items += 1 + item.replaced.count
        }
      case .counter(let counter): items += 2 * counter.shares.count
      case .set(let set):
        for element in set.elements {
          values += StateBlock.weight(of: element.value)
          items += element.additions.count
        }
      case .text(let text):
        for run in text.runs {
          items += 2 + run.pieces.count
          values += run.pieces.reduce(0) { $0 + $1.scalars.count }
        }
      }
    }
    return values + items * StateBlock.itemWeight
  }

  /// The writes that follow from the fields alone, which suffice for most records.
  var writesTold: Frontier {
    var told = Frontier()
    var last: Dot?
    forEachWrite { dot in
      // Fields are often written together, so the same change occurs many times in a row.
      if dot != last { told.advance(dot.author, to: dot.sequence) }
      last = dot
    }
    return told
  }

  /// Whether the writes follow from the fields alone.
  var areWritesTold: Bool {
    guard life.writes.entries.count == 1, let only = life.writes.entries.first else {
      return life.writes == writesTold
    }
    // The common case of one author needs no frontier.
    var greatest: UInt64 = 0
    var isAlone = true
    forEachWrite { dot in
      greatest = max(greatest, dot.sequence)
      if dot.author != only.author { isAlone = false }
    }
    return isAlone && greatest == only.sequence
  }

  private func forEachWrite(_ body: (Dot) -> Void) {
    for entry in entries {
      switch entry.field {
      case .register(let register):
        body(register.shown.version.dot)
        for sibling in register.others { body(sibling.version.dot) }
      case .history(let history): for item in history.entries { body(item.version.dot) }
      case .counter(let counter):
        for share in counter.shares { body(Dot(author: share.author, sequence: share.sequence)) }
      case .set(let set):
        for element in set.elements { for dot in element.additions { body(dot) } }
      case .text(let text): for run in text.runs { body(run.first.dot) }
      }
    }
  }
}

extension EventState {
  /// The event's weight towards a full block: about its bytes without compression.
  package var blockWeight: Int {
    let items = 3 + (cause?.entries.count ?? 0)
    return fields.reduce(items * StateBlock.itemWeight) { $0 + StateBlock.weight(of: $1.value) }
  }
}

/// A change that wrote something, with its author by number: an entry in a block's table.
struct ChangeKey: Hashable, Comparable {
  let author: UInt32
  let sequence: UInt64
  let time: UInt64

  init(author: UInt32, sequence: UInt64, time: UInt64) {
    self.author = author
    self.sequence = sequence
    self.time = time
  }

  init(_ version: Version, _ table: AuthorTable) {
    author = UInt32(table.number(of: version.dot.author))
    sequence = version.dot.sequence
    time = version.time.rawValue
  }

  static func < (left: ChangeKey, right: ChangeKey) -> Bool {
    if left.author != right.author { return left.author < right.author }
    if left.sequence != right.sequence { return left.sequence < right.sequence }
    return left.time < right.time
  }

  /// Sorts keys and removes duplicates.
  static func sortUniquely(_ keys: inout [ChangeKey]) {
    guard keys.count > 1 else { return }
    keys.sort()
    var count = 1
    for key in keys.dropFirst() where key != keys[count - 1] {
      keys[count] = key
      count += 1
    }
    keys.removeSubrange(count...)
  }

  /// The position of a key, which must be in the sorted list.
  static func place(of key: ChangeKey, in keys: some RandomAccessCollection<ChangeKey>) -> Int {
    let place = keys.partitionPoint { $0 >= key }
    precondition(place < keys.endIndex, "change \(key) was not collected")
    return keys.distance(from: keys.startIndex, to: place)
  }
}
