extension TextOrder {
  /// The most characters, old and new together, between the first and the last difference that are
  /// compared with each other: the time grows with the square of the differences.
  private static var maximumCompared: Int { 4_000 }

  /// The edits that turn the shown text into another one: as few characters as possible.
  ///
  /// What others write at the same time beside the differences stays. Between differences that are
  /// very far apart, everything is written anew. Source: Myers, "An O(ND) difference algorithm and
  /// its variations" (1986), as in Swift's standard library.
  package func edits(to text: String) -> [TextEdit] {
    let (old, new) = (Array(self.text.unicodeScalars), Array(text.unicodeScalars))
    var start = 0
    while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
    var same = 0
    while same < min(old.count, new.count) - start,
      old[old.count - 1 - same] == new[new.count - 1 - same]
    {
      same += 1
    }
    let (before, after) = (old[start..<old.count - same], new[start..<new.count - same])
    var change = Replacement(at: start)
    var edits: [TextEdit] = []
    guard before.count + after.count <= TextOrder.maximumCompared else {
      change.end = before.endIndex
      change.added.append(contentsOf: after)
      return self.edits(of: change)
    }
    let difference = after.difference(from: before)
    let gone = Set(difference.removals.map { TextOrder.offset(of: $0) + start })
    let added = Set(difference.insertions.map { TextOrder.offset(of: $0) + start })
    var place = start
    while change.end < before.endIndex || place < after.endIndex {
      if gone.contains(change.end) {
        change.end += 1
      } else if added.contains(place) {
        change.added.append(after[place])
        place += 1
      } else {
        edits += self.edits(of: change)
        change = Replacement(at: change.end + 1)
        place += 1
      }
    }
    return edits + self.edits(of: change)
  }

  /// Shown characters that others replace.
  private struct Replacement {
    let start: Int
    var end: Int
    var added = String.UnicodeScalarView()

    init(at start: Int) {
      self.start = start
      end = start
    }
  }

  private func edits(of change: Replacement) -> [TextEdit] {
    let erased = erasure(of: change.start..<change.end)
    guard !change.added.isEmpty else { return erased }
    return [insertion(of: String(change.added), at: change.start)] + erased
  }

  private static func offset(of change: CollectionDifference<Unicode.Scalar>.Change) -> Int {
    switch change {
    case .insert(let offset, _, _), .remove(let offset, _, _): offset
    }
  }
}
