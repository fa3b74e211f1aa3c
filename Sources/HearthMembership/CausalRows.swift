/// How many changes of each author each change had seen, one row a change.
///
/// A table with a place for each author as long as it is small; else rows without zeros, so that
/// strangers whom nobody cites cost nothing.
struct CausalRows: Sendable {
  /// The most places of a table.
  private static let maximumPlaces = 1 << 24
  /// How many authors may come before a table is made anew.
  private static let spareAuthors = 8

  /// The mark of one author in a row.
  private struct Mark {
    let column: Int32
    let count: UInt32
  }

  private var count = 0
  /// The places of a row of the table; 0 where rows hold no zeros.
  private var width: Int
  private var table: [UInt32] = []
  /// Where each row begins in the marks, and where the last ends.
  private var offsets: [Int] = [0]
  private var marks: [Mark] = []

  init(changes: Int, authors: Int) {
    let width = authors + CausalRows.spareAuthors
    self.width = changes * width <= CausalRows.maximumPlaces ? width : 0
    table.reserveCapacity(self.width * changes)
  }

  /// A row while it is made.
  func row() -> Row { Row(counts: [UInt32](repeating: 0, count: width), isTable: width > 0) }

  mutating func append(_ row: Row) {
    count += 1
    if width > 0 {
      if row.counts.count > width { widen(to: row.counts.count + CausalRows.spareAuthors) }
      table += row.counts
      for _ in row.counts.count..<width { table.append(0) }
    } else {
      for mark in row.sorted() { marks.append(Mark(column: mark, count: row[Int(mark)])) }
      offsets.append(marks.count)
    }
  }

  private mutating func widen(to wider: Int) {
    var wide = [UInt32](repeating: 0, count: (count - 1) * wider)
    for place in 0..<(count - 1) {
      wide.replaceSubrange(
        (place * wider)..<(place * wider + width),
        with: table[(place * width)..<((place + 1) * width)])
    }
    (table, width) = (wide, wider)
  }

  func join(_ change: Int, into row: inout Row) {
    if width > 0 {
      row.raise(to: table[(change * width)..<((change + 1) * width)])
    } else {
      for place in offsets[change]..<offsets[change + 1] {
        row.raise(Int(marks[place].column), to: marks[place].count)
      }
    }
  }

  func count(of column: Int, in change: Int) -> UInt32 {
    if width > 0 { return column < width ? table[change * width + column] : 0 }
    return marks.withUnsafeBufferPointer { marks in
      var low = offsets[change]
      let end = offsets[change + 1]
      var high = end
      while low < high {
        let middle = (low + high) / 2
        if marks[middle].column < column { low = middle + 1 } else { high = middle }
      }
      return low < end && marks[low].column == column ? marks[low].count : 0
    }
  }

  /// A row while it is made.
  struct Row {
    fileprivate var counts: [UInt32]
    fileprivate let isTable: Bool
    /// The authors that have a mark, in no order; not kept for a table.
    private var columns: [Int32] = []

    fileprivate init(counts: [UInt32], isTable: Bool) {
      self.counts = counts
      self.isTable = isTable
    }

    subscript(column: Int) -> UInt32 { column < counts.count ? counts[column] : 0 }

    mutating func raise(_ column: Int, to count: UInt32) {
      guard count > 0 else { return }
      while counts.count <= column { counts.append(0) }
      if !isTable, counts[column] == 0 { columns.append(Int32(column)) }
      counts[column] = max(counts[column], count)
    }

    fileprivate mutating func raise(to row: ArraySlice<UInt32>) {
      while counts.count < row.count { counts.append(0) }
      counts.withUnsafeMutableBufferPointer { counts in
        row.withUnsafeBufferPointer { row in
          for place in row.indices { counts[place] = max(counts[place], row[place]) }
        }
      }
    }

    /// Whether every mark of another row is here too.
    func covers(_ other: Row) -> Bool {
      if isTable {
        return other.counts.indices.allSatisfy { other.counts[$0] <= self[$0] }
      }
      return other.columns.allSatisfy { self[Int($0)] >= other[Int($0)] }
    }

    fileprivate func sorted() -> [Int32] { columns.sorted() }

    mutating func clear() {
      if isTable {
        counts.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
      } else {
        for column in columns { counts[Int(column)] = 0 }
        columns.removeAll(keepingCapacity: true)
      }
    }
  }
}
