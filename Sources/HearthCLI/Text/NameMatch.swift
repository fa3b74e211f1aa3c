import Foundation

/// The match of a typed name among existing names.
enum NameMatch<Item> {
  case one(Item)
  /// Several match equally well.
  case several([Item])
  /// None matches; these are the nearest ones, at most three.
  case none(nearest: [Item])

  /// Searches for a name.
  ///
  /// The kinds of match are: exact, without regard to case, as a beginning, as beginnings of words,
  /// as a part. The first kind with any match decides.
  init(_ wanted: String, among items: [Item], name: (Item) -> String) {
    let normal = NameFolding.composed(wanted)
    let folded = NameFolding.fold(wanted)
    let names = items.map { (item: $0, name: NameFolding.composed(name($0))) }
    let foldedNames = names.map { NameFolding.fold($0.name) }
    let bytes = Array(folded.utf8)
    let beginnings = NameFolding.words(folded).map { (text: $0, bytes: Array($0.utf8)) }
    let tiers: [(Int) -> Bool] = [
      { names[$0].name == normal },
      { foldedNames[$0] == folded },
      { foldedNames[$0].hasPrefix(folded) },
      { place in
        beginnings.allSatisfy { NameFolding.holds(foldedNames[place], $0.bytes) }
          && NameFolding.wordsBegin(foldedNames[place], with: beginnings.map(\.text))
      },
      { NameFolding.holds(foldedNames[$0], bytes) && foldedNames[$0].contains(folded) },
    ]
    if !folded.isEmpty {
      for fits in tiers {
        let found = names.indices.filter(fits).map { names[$0].item }
        if let first = found.first {
          self = found.count == 1 ? .one(first) : .several(found)
          return
        }
      }
    }
    let allowed = max(2, folded.count / 3)
    let near = names.indices.map {
      (index: $0, distance: NameFolding.distance(folded, foldedNames[$0]))
    }
    .filter { $0.distance <= allowed }
    .sorted {
      ($0.distance, names[$0.index].name, $0.index) < ($1.distance, names[$1.index].name, $1.index)
    }
    self = .none(nearest: near.prefix(3).map { names[$0.index].item })
  }
}

/// The comparison of names without regard to case, and their distance.
enum NameFolding {
  /// The most characters of a name that the distance considers.
  static let maximumCharacters = 200

  /// The name in composed form; most names are plain ASCII and already composed.
  static func composed(_ text: String) -> String {
    isASCII(text) ? text : text.precomposedStringWithCanonicalMapping
  }

  private static func isASCII(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 < 0x80 }
  }

  /// The name in composed form and lower case, without surrounding spaces.
  static func fold(_ text: String) -> String {
    if isASCII(text), let first = text.utf8.first, let last = text.utf8.last, first > 0x20,
      last > 0x20
    {
      return text.lowercased()
    }
    return text.precomposedStringWithCanonicalMapping.lowercased()
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Whether each given word is the beginning of a word of `name`.
  static func wordsBegin(_ name: String, with beginnings: [Substring]) -> Bool {
    let words = words(name)
    return !beginnings.isEmpty
      && beginnings.allSatisfy { beginning in words.contains { $0.hasPrefix(beginning) } }
  }

  /// Whether the text's bytes contain these bytes.
  ///
  /// A character match is also a byte match, and a comparison of bytes is thirty times faster.
  static func holds(_ text: String, _ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    let found = text.utf8.withContiguousStorageIfAvailable { bytes in
      guard bytes.count >= part.count else { return false }
      for start in 0...bytes.count - part.count where bytes[start] == first {
        if bytes[start..<start + part.count].elementsEqual(part) { return true }
      }
      return false
    }
    return found ?? true
  }

  /// The distance to the whole name or to its nearest word, whichever is less.
  static func distance(_ wanted: String, _ name: String) -> Int {
    ([Substring(name)] + words(name)).map { edits(wanted, String($0)) }.min() ?? Int.max
  }

  static func words(_ text: String) -> [Substring] {
    text.split { !$0.isLetter && !$0.isNumber }
  }

  /// The number of typing errors that turn one text into the other.
  ///
  /// Insertions, deletions, replacements and swaps of neighbours count one each: optimal string
  /// alignment (Boytsov 2011). O(length of one times length of the other).
  static func edits(_ left: String, _ right: String) -> Int {
    let from = Array(left.prefix(maximumCharacters))
    let to = Array(right.prefix(maximumCharacters))
    guard !from.isEmpty, !to.isEmpty else { return max(from.count, to.count) }
    var before = [Int](repeating: 0, count: to.count + 1)
    var above = Array(0...to.count)
    for row in 1...from.count {
      var current = [row] + [Int](repeating: 0, count: to.count)
      for column in 1...to.count {
        let same = from[row - 1] == to[column - 1]
        var best = min(
          above[column] + 1, current[column - 1] + 1, above[column - 1] + (same ? 0 : 1))
        if row > 1, column > 1, from[row - 1] == to[column - 2], from[row - 2] == to[column - 1] {
          best = min(best, before[column - 2] + 1)
        }
        current[column] = best
      }
      before = above
      above = current
    }
    return above[to.count]
  }
}
