import HearthCRDT

/// The numbers read from one name, at most sixteen hexadecimal digits to a word.
struct FolderFields: Comparable {
  /// The longest name, that of a snapshot's chunk, needs six words.
  private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
  private var used = 0

  mutating func append(_ word: UInt64) {
    switch used {
    case 0: words.0 = word
    case 1: words.1 = word
    case 2: words.2 = word
    case 3: words.3 = word
    case 4: words.4 = word
    case 5: words.5 = word
    default: preconditionFailure("a name has at most six words, this one has \(used + 1)")
    }
    used += 1
  }

  /// The word at a position; zero beyond the last.
  func number(_ place: Int) -> UInt64 {
    switch place {
    case 0: words.0
    case 1: words.1
    case 2: words.2
    case 3: words.3
    case 4: words.4
    case 5: words.5
    default: 0
    }
  }

  /// The two words from a position on, as an identifier.
  func identifier(_ place: Int) -> Identifier {
    Identifier(high: number(place), low: number(place + 1))
  }

  static func == (left: FolderFields, right: FolderFields) -> Bool {
    left.used == right.used && left.words == right.words
  }

  static func < (left: FolderFields, right: FolderFields) -> Bool { left.words < right.words }
}
