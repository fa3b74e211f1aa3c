/// The number of each author's changes that each change had seen, with one row for each change.
///
/// A row is divided into blocks of 64 authors, and rows share equal blocks: usually a change had
/// seen little more than the change before it. Blocks of zeros cost nothing, so authors that nobody
/// cites cost nothing either. A change whose author had seen nothing new shares the whole row of
/// that author's last change. A row need not contain the latest changes of its own author.
@usableFromInline package struct CausalRows: Sendable {
  @usableFromInline static let shift = 6
  @usableFromInline static let size = 1 << shift
  /// The block of zeros.
  private static let empty: Int32 = 0

  /// Where the blocks of each row start and end.
  @usableFromInline private(set) var starts: [Int] = []
  @usableFromInline private(set) var ends: [Int] = []
  /// The block numbers of all rows; each row begins with its first authors.
  @usableFromInline private(set) var blocks: [Int32] = []
  /// The content of the blocks, one after the other.
  @usableFromInline private(set) var counts = [UInt32](repeating: 0, count: size)
  /// The newest block for each position in a row.
  private var latest: [Int32] = []

  init(changes: Int) {
    starts.reserveCapacity(changes)
    ends.reserveCapacity(changes)
    // Most rows have a block of their own if each change had seen a change of another author.
    counts.reserveCapacity(min(changes, 1 << 14) << CausalRows.shift)
  }

  /// Makes an empty row.
  func row() -> Row { Row() }

  /// The number of an author's changes that a change had seen.
  @inlinable package func count(of column: Int, in change: Int) -> UInt32 {
    let place = starts[change] + column >> CausalRows.shift
    guard place < ends[change] else { return 0 }
    return counts[Int(blocks[place]) << CausalRows.shift | column & (CausalRows.size - 1)]
  }

  /// The number of an author's changes in a row.
  @inlinable package func count(of column: Int, in row: Row) -> UInt32 {
    let place = column >> CausalRows.shift
    guard place < row.blocks.count else { return 0 }
    let block = row.blocks[place]
    let offset = column & (CausalRows.size - 1)
    return block < 0
      ? row.counts[Int(~block) << CausalRows.shift | offset]
      : counts[Int(block) << CausalRows.shift | offset]
  }

  mutating func append(_ row: Row) {
    var end = row.blocks.count
    while end > 0, row.blocks[end - 1] == CausalRows.empty { end -= 1 }
    starts.append(blocks.count)
    for place in 0..<end {
      let block = row.blocks[place]
      blocks.append(block < 0 ? keep(place, of: row) : block)
    }
    ends.append(blocks.count)
  }

  /// Appends a row that is the same as that of an earlier change.
  mutating func append(rowOf change: Int) {
    starts.append(starts[change])
    ends.append(ends[change])
  }

  /// The number of a block with the content of a row's block.
  ///
  /// Makes a new block unless the newest is equal.
  private mutating func keep(_ place: Int, of row: Row) -> Int32 {
    while latest.count <= place { latest.append(CausalRows.empty) }
    let known = latest[place]
    let (hasMore, hasLess) = compared(place, of: row, to: known)
    guard hasMore || hasLess else { return known }
    latest[place] = Int32(counts.count >> CausalRows.shift)
    let start = Int(~row.blocks[place]) << CausalRows.shift
    counts += row.counts[start..<start + CausalRows.size]
    return latest[place]
  }

  /// Adds a change's knowledge to a row.
  func join(_ change: Int, into row: inout Row) {
    let range = starts[change]..<ends[change]
    guard !row.blocks.isEmpty else {
      row.blocks += blocks[range]
      return
    }
    row.widen(to: range.count)
    for place in 0..<range.count { join(blocks[range.lowerBound + place], at: place, into: &row) }
  }

  /// Adds the content of one row to another.
  func join(_ other: Row, into row: inout Row) {
    row.widen(to: other.blocks.count)
    for place in other.blocks.indices {
      let block = other.blocks[place]
      guard block < 0 else {
        join(block, at: place, into: &row)
        continue
      }
      let start = Int(~block) << CausalRows.shift
      row.raise(at: own(place, of: &row), to: other.counts[start..<start + CausalRows.size])
    }
  }

  private func join(_ block: Int32, at place: Int, into row: inout Row) {
    let current = row.blocks[place]
    guard block != CausalRows.empty, block != current else { return }
    guard current != CausalRows.empty else {
      row.blocks[place] = block
      return
    }
    let (hasLess, hasMore) = compared(place, of: row, to: block)
    guard hasMore else { return }
    guard hasLess else {
      row.blocks[place] = block
      return
    }
    let base = Int(block) << CausalRows.shift
    row.raise(at: own(place, of: &row), to: counts[base..<base + CausalRows.size])
  }

  /// Whether a row contains more at a position than a block, and whether it contains less.
  private func compared(_ place: Int, of row: Row, to block: Int32) -> (more: Bool, less: Bool) {
    withCounts(row.blocks[place], of: row) { held in
      withCounts(block, of: row) { other in
        var (more, less): (UInt32, UInt32) = (0, 0)
        for column in 0..<CausalRows.size {
          more |= held[column] > other[column] ? 1 : 0
          less |= held[column] < other[column] ? 1 : 0
        }
        return (more > 0, less > 0)
      }
    }
  }

  /// Provides the content of a shared block, or of a block that the row owns.
  @inline(__always)
  private func withCounts<Result>(
    _ block: Int32, of row: Row, _ body: (UnsafeBufferPointer<UInt32>) -> Result
  ) -> Result {
    let start = Int(block < 0 ? ~block : block) << CausalRows.shift
    return (block < 0 ? row.counts : counts).withUnsafeBufferPointer {
      body(UnsafeBufferPointer(rebasing: $0[start..<start + CausalRows.size]))
    }
  }

  /// Records that `count` changes of an author had been seen.
  func raise(_ column: Int, to count: UInt32, in row: inout Row) {
    guard count > self.count(of: column, in: row) else { return }
    let place = column >> CausalRows.shift
    row.widen(to: place + 1)
    row.counts[own(place, of: &row) | column & (CausalRows.size - 1)] = count
  }

  /// Gives a row its own copy of a block and returns the start of the copy.
  private func own(_ place: Int, of row: inout Row) -> Int {
    let block = row.blocks[place]
    guard block >= 0 else { return Int(~block) << CausalRows.shift }
    let (start, base) = (row.counts.count, Int(block) << CausalRows.shift)
    row.counts += counts[base..<base + CausalRows.size]
    row.blocks[place] = ~Int32(start >> CausalRows.shift)
    return start
  }

  /// Whether a row contains every mark of another row.
  func covers(_ row: Row, _ other: Row) -> Bool {
    for place in other.blocks.indices where other.blocks[place] != CausalRows.empty {
      let block = other.blocks[place]
      let held = place < row.blocks.count ? row.blocks[place] : CausalRows.empty
      if block >= 0, held == block { continue }
      let isCovered = withCounts(block, of: other) { other in
        withCounts(held, of: row) { held in
          var lacks: UInt32 = 0
          for column in 0..<CausalRows.size { lacks |= other[column] > held[column] ? 1 : 0 }
          return lacks == 0
        }
      }
      guard isCovered else { return false }
    }
    return true
  }

  /// A row under construction.
  @usableFromInline package struct Row: Sendable {
    /// The shared blocks by number; own blocks by the complement of their number.
    @usableFromInline var blocks: [Int32] = []
    /// The content of its own blocks.
    @usableFromInline var counts: [UInt32] = []

    fileprivate init() {}

    /// Clears the row and keeps its capacity.
    mutating func clear() {
      blocks.removeAll(keepingCapacity: true)
      counts.removeAll(keepingCapacity: true)
    }

    fileprivate mutating func widen(to places: Int) {
      guard blocks.count < places else { return }
      blocks += repeatElement(CausalRows.empty, count: places - blocks.count)
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
