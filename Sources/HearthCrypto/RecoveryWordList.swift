/// The list of recovery words: 2,048 words that differ in their first four letters.
///
/// The list is public. The selection of words is secret, so a lookup works on the caller's bytes
/// and keeps none of them.
package enum RecoveryWordList {
  /// The number of words: one for each value of 11 bits.
  package static let count = 2048
  /// The number of letters that distinguish a word from all others.
  package static let decisiveLetters = 4
  /// The length of the longest word.
  static let longestWordBytes = 8
  /// The most edits between the typed text and a suggested word.
  static let maximumEdits = 3
  /// The most suggestions for one word.
  static let maximumSuggestions = 3

  /// The words as ranges in the bytes of ``english``.
  private static let ranges: [Range<Int>] = {
    let text = english
    var ranges = [Range<Int>]()
    ranges.reserveCapacity(count)
    var start = 0
    for end in 0...text.utf8CodeUnitCount
    where end == text.utf8CodeUnitCount || text.utf8Start[end] == UInt8(ascii: " ") {
      ranges.append(start..<end)
      start = end + 1
    }
    precondition(ranges.count == count, "the word list has \(ranges.count) words")
    return ranges
  }()

  /// The word at a position, as bytes of the constant list.
  static func bytes(at place: Int) -> UnsafeRawBufferPointer {
    let range = ranges[place]
    return UnsafeRawBufferPointer(start: english.utf8Start + range.lowerBound, count: range.count)
  }

  /// The word at a position as text; at most eight letters, which Swift stores inside the value.
  static func text(at place: Int) -> String { String(decoding: bytes(at: place), as: UTF8.self) }

  /// The position of a word given in lower case, in full or by four or more of its first letters.
  ///
  /// Binary search, eleven comparisons.
  static func place(of typed: UnsafeRawBufferPointer) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if bytes(at: middle).lexicographicallyPrecedes(typed) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low < count, bytes(at: low).starts(with: typed) else { return nil }
    let isWhole = bytes(at: low).count == typed.count
    return isWhole || typed.count >= decisiveLetters ? low : nil
  }

  /// The words nearest to the typed text: all with the fewest edits, or the first three.
  ///
  /// Edits are insertions, omissions, replacements and swaps of neighbours: at most
  /// ``maximumEdits``, and fewer than the letters of either word. Words with a longer common
  /// beginning come first; then the order of the list decides. About 0.1 ms.
  static func nearest(to typed: UnsafeRawBufferPointer) -> [Int] {
    guard typed.count <= longestWordBytes + maximumEdits else { return [] }
    let typedLetters = letters(of: typed)
    var fewest = maximumEdits
    var found: [(place: Int, common: Int)] = []
    for place in 0..<count {
      let word = bytes(at: place)
      // Each letter in only one of the words costs an edit, so most words need no closer
      // comparison.
      let only = (letters(of: word) & ~typedLetters, typedLetters & ~letters(of: word))
      let least = max(only.0.nonzeroBitCount, only.1.nonzeroBitCount)
      guard max(least, abs(word.count - typed.count)) <= fewest else { continue }
      let edits = edits(typed, word)
      guard edits <= fewest, edits < word.count, edits < typed.count else { continue }
      if edits < fewest { found = [] }
      fewest = edits
      found.append((place, zip(typed, word).prefix { $0 == $1 }.count))
    }
    found.sort { ($1.common, $0.place) < ($0.common, $1.place) }
    return found.prefix(maximumSuggestions).map(\.place)
  }

  /// The set of a word's letters, one bit for each, and one bit for everything else.
  private static func letters(of word: UnsafeRawBufferPointer) -> UInt32 {
    word.reduce(0) { set, byte in
      let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
      return set | 1 << (isLetter ? UInt32(byte - UInt8(ascii: "a")) : 26)
    }
  }

  /// The edits between two words: insert, omit, replace, swap neighbours (each letter once).
  static func edits(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let width = right.count + 1
    let cells = (left.count + 1) * width
    return withZeroisedMemory(cells) { table in
      for row in 0...left.count { table[row * width] = UInt8(row) }
      for column in 0...right.count { table[column] = UInt8(column) }
      for row in stride(from: 1, through: left.count, by: 1) {
        for column in stride(from: 1, through: right.count, by: 1) {
          let isEqual = left[row - 1] == right[column - 1]
          var least = min(
            table[(row - 1) * width + column] + 1, table[row * width + column - 1] + 1,
            table[(row - 1) * width + column - 1] + (isEqual ? 0 : 1))
          if row > 1, column > 1, left[row - 1] == right[column - 2],
            left[row - 2] == right[column - 1]
          {
            least = min(least, table[(row - 2) * width + column - 2] + 1)
          }
          table[row * width + column] = least
        }
      }
      return Int(table[cells - 1])
    }
  }
}
