/// A plain table: columns aligned with spaces, the widest column shortened to fit a terminal.
struct Table {
  var headers: [String]
  var rows: [[String]]
  /// Columns aligned to the right, for numbers.
  var rightAligned: Set<Int> = []
  /// The most columns of the text; 0 means no limit (standard output is no terminal).
  var width = StandardStream.width

  init(headers: [String], rows: [[String]], rightAligned: Set<Int> = []) {
    self.headers = headers
    self.rows = rows
    self.rightAligned = rightAligned
  }

  private static let gap = 2
  private static let narrowestColumn = 8

  /// The table without a line end after its last line.
  var text: String {
    let cells = rows.map { row in
      headers.indices.map { $0 < row.count ? Style.safe(row[$0]) : "" }
    }
    var widths = headers.indices.map { column in
      ([headers[column]] + cells.map { $0[column] }).map(Table.columns).max() ?? 0
    }
    let limit = width
    if limit > 0 {
      while widths.reduce(0, +) + Table.gap * (widths.count - 1) > limit,
        let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
        widths[widest] > Table.narrowestColumn
      {
        widths[widest] -= 1
      }
    }
    var lines = [Style.bold(line(headers, widths))]
    lines += cells.map { line($0, widths) }
    return lines.joined(separator: "\n")
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var text = ""
    for (column, cell) in cells.enumerated() {
      let shown = Table.shorten(cell, to: widths[column])
      let fill = String(repeating: " ", count: max(0, widths[column] - Table.columns(shown)))
      text += rightAligned.contains(column) ? fill + shown : shown + fill
      if column < cells.count - 1 { text += String(repeating: " ", count: Table.gap) }
    }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Returns text cut to a number of columns, with an ellipsis if something is omitted.
  static func shorten(_ text: String, to width: Int) -> String {
    guard columns(text) > width else { return text }
    var shown = ""
    var used = 0
    for character in text {
      let next = columns(String(character))
      guard used + next < width else { break }
      shown.append(character)
      used += next
    }
    return shown + "…"
  }

  /// The terminal columns of a text: wide East Asian characters and emoji take two.
  static func columns(_ text: String) -> Int {
    text.reduce(0) { sum, character in
      guard let scalar = character.unicodeScalars.first else { return sum }
      let value = scalar.value
      let isWide =
        (0x1100...0x115F).contains(value) || (0x2E80...0xA4CF).contains(value)
        || (0xAC00...0xD7A3).contains(value) || (0xF900...0xFAFF).contains(value)
        || (0xFE30...0xFE6F).contains(value) || (0xFF00...0xFF60).contains(value)
        || (0xFFE0...0xFFE6).contains(value) || (0x1F300...0x1FAFF).contains(value)
        || (0x20000...0x3FFFD).contains(value)
      return sum + (isWide ? 2 : 1)
    }
  }
}
