/// The places where one text differs from another, from left to right.
package struct TextDifference: Sendable {
  /// Characters of the old text that others replace.
  struct Replacement {
    let start: Int
    var end: Int
    var added = String.UnicodeScalarView()

    init(at place: Int) {
      start = place
      end = place
    }

    var isEmpty: Bool { start == end && added.isEmpty }
  }

  /// The most characters, old and new together, between the first and the last difference that are
  /// compared with each other: the time grows with the square of the differences.
  private static var maximumCompared: Int { 4_000 }

  private let old: [Unicode.Scalar]
  private(set) var replacements: [Replacement] = []

  /// Compares two texts.
  ///
  /// Between differences that are very far apart, everything counts as replaced. Source: Myers, "An
  /// O(ND) difference algorithm and its variations" (1986), as in Swift's standard library.
  package init(from before: String, to after: String) {
    let (old, new) = (Array(before.unicodeScalars), Array(after.unicodeScalars))
    self.old = old
    var start = 0
    while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
    var same = 0
    while same < min(old.count, new.count) - start,
      old[old.count - 1 - same] == new[new.count - 1 - same]
    {
      same += 1
    }
    compare(old[start..<old.count - same], new[start..<new.count - same])
  }

  private mutating func compare(
    _ before: ArraySlice<Unicode.Scalar>, _ after: ArraySlice<Unicode.Scalar>
  ) {
    let start = before.startIndex
    var change = Replacement(at: start)
    guard before.count + after.count <= TextDifference.maximumCompared else {
      change.end = before.endIndex
      change.added.append(contentsOf: after)
      return add(change)
    }
    let difference = after.difference(from: before)
    var (gone, added): (Set<Int>, Set<Int>) = ([], [])
    for step in difference {
      switch step {
      case .remove(let offset, _, _): gone.insert(start + offset)
      case .insert(let offset, _, _): added.insert(start + offset)
      }
    }
    var place = start
    while change.end < before.endIndex || place < after.endIndex {
      if gone.contains(change.end) {
        change.end += 1
      } else if added.contains(place) {
        change.added.append(after[place])
        place += 1
      } else {
        add(change)
        change = Replacement(at: change.end + 1)
        place += 1
      }
    }
    add(change)
  }

  private mutating func add(_ change: Replacement) {
    if !change.isEmpty { replacements.append(change) }
  }

  /// The old text with these differences and those to a third text.
  ///
  /// What either text lacks is gone, and what both insert at one place stands there twice, that of
  /// the other text first.
  package func text(with other: TextDifference) -> String {
    var result = String.UnicodeScalarView()
    var (mine, theirs) = (replacements[...], other.replacements[...])
    var (mineEnd, theirsEnd) = (0, 0)
    for place in 0...old.count {
      if let next = theirs.first, next.start == place {
        result.append(contentsOf: next.added)
        theirsEnd = next.end
        theirs = theirs.dropFirst()
      }
      if let next = mine.first, next.start == place {
        result.append(contentsOf: next.added)
        mineEnd = next.end
        mine = mine.dropFirst()
      }
      if place < old.count, place >= mineEnd, place >= theirsEnd { result.append(old[place]) }
    }
    return String(result)
  }
}

extension TextOrder {
  /// The edits that turn the shown text into another one: as few characters as possible.
  ///
  /// What others write at the same time beside the differences stays.
  package func edits(to text: String) -> [TextEdit] {
    TextDifference(from: self.text, to: text).replacements.flatMap { change in
      let erased = erasure(of: change.start..<change.end)
      guard !change.added.isEmpty else { return erased }
      return [insertion(of: String(change.added), at: change.start)] + erased
    }
  }
}
