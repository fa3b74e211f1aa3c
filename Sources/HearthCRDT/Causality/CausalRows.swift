/// How many changes of each author each change had seen, one row a change.
///
/// A row is cut into blocks of 64 authors, and rows share the blocks that are the same in them: as
/// a rule a change had seen what the one before it had seen, and little more. Blocks of zeros cost
/// nothing, so strangers whom nobody cites do not either.
@usableFromInline package struct CausalRows: Sendable {
  @usableFromInline static let shift = 6
  @usableFromInline static let size = 1 << shift
  /// The block of zeros.
  private static let empty: Int32 = 0
  /// What stands for a block that a row under construction has for itself.
  @usableFromInline static let own: Int32 = -1

  /// Where the blocks of each row begin, and where those of the last end.
  @usableFromInline private(set) var starts: [Int] = [0]
  /// The blocks of all rows, each row's from the first authors on.
  @usableFromInline private(set) var blocks: [Int32] = []
  /// What the blocks hold, one after the other.
  @usableFromInline private(set) var counts = [UInt32](repeating: 0, count: size)
  /// The block that was made last for each place of a row.
  private var latest: [Int32] = []

  init(changes: Int) {
    starts.reserveCapacity(changes + 1)
    // Where each change heard of another author, most rows have a block of their own.
    counts.reserveCapacity(min(changes, 1 << 14) << CausalRows.shift)
  }

  /// A row while it is made.
  func row() -> Row { Row() }

  /// How many changes of an author a change had seen.
  @inlinable package func count(of column: Int, in change: Int) -> UInt32 {
    let place = starts[change] + column >> CausalRows.shift
    guard place < starts[change + 1] else { return 0 }
    return counts[Int(blocks[place]) << CausalRows.shift | column & (CausalRows.size - 1)]
  }

  /// How many changes of an author a row holds.
  @inlinable package func count(of column: Int, in row: Row) -> UInt32 {
    let place = column >> CausalRows.shift
    guard place < row.blocks.count else { return 0 }
    let block = row.blocks[place]
    return block == CausalRows.own
      ? row.counts[column]
      : counts[Int(block) << CausalRows.shift | column & (CausalRows.size - 1)]
  }

  mutating func append(_ row: Row) {
    var end = row.blocks.count
    while end > 0, row.blocks[end - 1] == CausalRows.empty { end -= 1 }
    for place in 0..<end {
      let block = row.blocks[place]
      blocks.append(block == CausalRows.own ? keep(place, of: row) : block)
    }
    starts.append(blocks.count)
  }

  /// The number of a block like one of a row, made anew unless the last one is the same.
  private mutating func keep(_ place: Int, of row: Row) -> Int32 {
    while latest.count <= place { latest.append(CausalRows.empty) }
    let range = place << CausalRows.shift..<(place + 1) << CausalRows.shift
    let known = Int(latest[place]) << CausalRows.shift
    if counts[known..<known + CausalRows.size].elementsEqual(row.counts[range]) {
      return latest[place]
    }
    latest[place] = Int32(counts.count >> CausalRows.shift)
    counts += row.counts[range]
    return latest[place]
  }

  /// Adds what a change had seen to a row.
  func join(_ change: Int, into row: inout Row) {
    let start = starts[change]
    row.widen(to: starts[change + 1] - start)
    for place in 0..<(starts[change + 1] - start) {
      join(blocks[start + place], at: place, into: &row)
    }
  }

  /// Adds what one row holds to another.
  func join(_ other: Row, into row: inout Row) {
    row.widen(to: other.blocks.count)
    for place in other.blocks.indices {
      guard other.blocks[place] == CausalRows.own else {
        join(other.blocks[place], at: place, into: &row)
        continue
      }
      own(place, of: &row)
      for column in place << CausalRows.shift..<(place + 1) << CausalRows.shift {
        row.counts[column] = max(row.counts[column], other.counts[column])
      }
    }
  }

  private func join(_ block: Int32, at place: Int, into row: inout Row) {
    let current = row.blocks[place]
    guard block != CausalRows.empty, block != current else { return }
    guard current != CausalRows.empty else {
      row.blocks[place] = block
      return
    }
    let base = Int(block) << CausalRows.shift
    let (hasMore, hasLess) = compared(base, to: place, of: row)
    guard hasMore else { return }
    guard hasLess else {
      row.blocks[place] = block
      return
    }
    own(place, of: &row)
    row.raise(at: place << CausalRows.shift, to: counts[base..<base + CausalRows.size])
  }

  /// Whether a block holds more than a row has at a place, and whether it holds less.
  private func compared(_ base: Int, to place: Int, of row: Row) -> (more: Bool, less: Bool) {
    let isOwn = row.blocks[place] == CausalRows.own
    let other = isOwn ? place << CausalRows.shift : Int(row.blocks[place]) << CausalRows.shift
    return counts.withUnsafeBufferPointer { counts in
      func compare(_ held: UnsafeBufferPointer<UInt32>) -> (Bool, Bool) {
        var (more, less): (UInt32, UInt32) = (0, 0)
        for column in 0..<CausalRows.size {
          more |= counts[base + column] > held[other + column] ? 1 : 0
          less |= counts[base + column] < held[other + column] ? 1 : 0
        }
        return (more > 0, less > 0)
      }
      return isOwn ? row.counts.withUnsafeBufferPointer(compare) : compare(counts)
    }
  }

  /// Marks that so many changes of an author had been seen.
  func raise(_ column: Int, to count: UInt32, in row: inout Row) {
    guard count > self.count(of: column, in: row) else { return }
    let place = column >> CausalRows.shift
    row.widen(to: place + 1)
    own(place, of: &row)
    row.counts[column] = count
  }

  /// Gives a row a block of its own.
  private func own(_ place: Int, of row: inout Row) {
    guard row.blocks[place] != CausalRows.own else { return }
    let base = Int(row.blocks[place]) << CausalRows.shift
    let start = place << CausalRows.shift
    row.own(start, counts[base..<base + CausalRows.size])
    row.blocks[place] = CausalRows.own
  }

  /// Whether every mark of one row is in another too.
  func covers(_ row: Row, _ other: Row) -> Bool {
    for place in other.blocks.indices where other.blocks[place] != CausalRows.empty {
      let block = other.blocks[place]
      if block != CausalRows.own, place < row.blocks.count, row.blocks[place] == block { continue }
      for column in place << CausalRows.shift..<(place + 1) << CausalRows.shift
      where count(of: column, in: other) > count(of: column, in: row) {
        return false
      }
    }
    return true
  }

  /// A row while it is made.
  @usableFromInline package struct Row: Sendable {
    /// The blocks that it shares with rows, or has for itself.
    @usableFromInline var blocks: [Int32] = []
    /// What is in its own blocks.
    @usableFromInline var counts: [UInt32] = []

    fileprivate init() {}

    fileprivate mutating func widen(to places: Int) {
      while blocks.count < places { blocks.append(CausalRows.empty) }
    }

    fileprivate mutating func own(_ start: Int, _ block: ArraySlice<UInt32>) {
      if counts.count < start + block.count {
        counts += repeatElement(0, count: start + block.count - counts.count)
      }
      counts.withUnsafeMutableBufferPointer { counts in
        block.withUnsafeBufferPointer { block in
          for column in block.indices { counts[start + column] = block[column] }
        }
      }
    }

    fileprivate mutating func raise(at start: Int, to block: ArraySlice<UInt32>) {
      counts.withUnsafeMutableBufferPointer { counts in
        block.withUnsafeBufferPointer { block in
          for column in block.indices {
            counts[start + column] = max(counts[start + column], block[column])
          }
        }
      }
    }
  }
}
