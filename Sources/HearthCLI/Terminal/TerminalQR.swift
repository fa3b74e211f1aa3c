/// A QR code in the characters of a terminal, with the quiet zone that scanners need.
///
/// A terminal shows characters in its foreground on its background, and the program does not know
/// which of them is light. Most terminals are dark, so by default the *light* modules are drawn and
/// the dark ones left empty; on a light terminal it is the other way round.
struct TerminalQR {
  /// The characters of a module.
  enum Style: CaseIterable {
    /// A column for each module and a line for two rows: `█`, `▀`, `▄` and spaces.
    case blocks
    /// Two columns and a line for each module: `##` and spaces.
    case ascii
  }

  /// Whether the terminal shows light letters on a dark background, or dark ones on a light
  /// background.
  enum Ground: CaseIterable {
    case dark
    case light
  }

  /// Light modules around the code (ISO/IEC 18004, section 6.3.8).
  static let quietModules = 4

  let code: QRCode
  var style = Style.blocks
  var ground = Ground.dark

  /// The columns of every line.
  var columns: Int { (code.side + 2 * Self.quietModules) * (style == .ascii ? 2 : 1) }

  /// The number of lines.
  var lineCount: Int {
    let rows = code.side + 2 * Self.quietModules
    return style == .ascii ? rows : (rows + 1) / 2
  }

  /// Returns the lines, each of ``columns`` characters; they are never cut, since half a code is
  /// unreadable.
  ///
  /// - Parameter width: The columns of the terminal; 0 means no limit.
  /// - Throws: `CommandFailure` when the terminal is narrower than the code.
  func lines(width: Int) throws -> [String] {
    guard width == 0 || columns <= width else {
      throw CommandFailure(
        .failed,
        "the QR code needs \(columns) columns, and the terminal has \(width)",
        hint: "Make the window wider or the font smaller, or use the text itself.")
    }
    let rows = -Self.quietModules..<(code.side + Self.quietModules)
    switch style {
    case .ascii: return rows.map { row in line { isDrawn(row, $0) ? "##" : "  " } }
    case .blocks:
      return stride(from: rows.lowerBound, to: rows.upperBound, by: 2).map { row in
        line { column in
          // Below the last row is nothing, which is neither light nor dark.
          let isLowerDrawn = row + 1 < rows.upperBound && isDrawn(row + 1, column)
          switch (isDrawn(row, column), isLowerDrawn) {
          case (true, true): return "█"
          case (true, false): return "▀"
          case (false, true): return "▄"
          case (false, false): return " "
          }
        }
      }
    }
  }

  private func line(_ character: (Int) -> String) -> String {
    (-Self.quietModules..<(code.side + Self.quietModules)).map(character).joined()
  }

  private func isDrawn(_ row: Int, _ column: Int) -> Bool {
    code.isDark(row: row, column: column) == (ground == .light)
  }
}
