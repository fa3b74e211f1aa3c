/// The characters of a text from left to right, erased ones included.
///
/// Computed from the runs in one walk over the tree: O(n log n).
package struct TextOrder: Sendable {
  /// Neighbouring characters of one run that are all shown or all erased.
  private struct Stretch {
    let run: Int
    let start: Int
    var count: Int
    let isShown: Bool
  }

  /// A run that hangs before or behind a character of another one.
  private struct Branch {
    let parent: Int
    let number: Int
    let isBehind: Bool
    let child: Int

    func precedes(_ other: Branch) -> Bool {
      if parent != other.parent { return parent < other.parent }
      if number != other.number { return number < other.number }
      return isBehind != other.isBehind ? !isBehind : child < other.child
    }
  }

  private let runs: [TextSequence.Run]
  /// The branches by parent, then by character, those before it first, then by identity.
  private let branches: [Branch]
  private var stretches: [Stretch] = []
  /// The number of shown characters before each stretch.
  private var shownBefore: [Int] = []
  /// The number of shown characters.
  package private(set) var count = 0

  package init(_ text: TextSequence) {
    let runs = text.runs
    self.runs = runs
    var (first, orphans, branches): ([Int], [Int], [Branch]) = ([], [], [])
    for (child, run) in runs.enumerated() {
      guard let place = run.anchor.place else {
        first.append(child)
        continue
      }
      // A character may be missing because its change has no effect any more: its author was
      // removed. What others wrote beside it must not go with it, so it comes last.
      guard let parent = TextOrder.run(with: place, in: runs) else {
        orphans.append(child)
        continue
      }
      var isBehind = false
      if case .behind = run.anchor { isBehind = true }
      branches.append(
        Branch(
          parent: parent, number: place.offset - runs[parent].first.offset, isBehind: isBehind,
          child: child))
    }
    branches.sort { $0.precedes($1) }
    self.branches = branches
    walk(from: first + orphans)
  }

  /// The run with a character; nil if there is none.
  private static func run(with place: TextPlace, in runs: [TextSequence.Run]) -> Int? {
    let number = runs.partitionPoint { place < $0.first } - 1
    guard number >= 0, runs[number].first.dot == place.dot, place.offset < runs[number].end else {
      return nil
    }
    return number
  }

  // MARK: The walk

  /// A part of the tree that is still to be visited.
  private enum Step {
    /// A run from one of its characters on.
    case run(Int, from: Int)
    /// A character of a run, whose left part was visited.
    case character(run: Int, Int)
  }

  /// Visits the tree with a stack of its own, since other people decide how deep the tree is.
  private mutating func walk(from first: [Int]) {
    var stack = first.reversed().map { Step.run($0, from: 0) }
    while let step = stack.popLast() {
      switch step {
      case .run(let run, let start): visit(run, from: start, &stack)
      case .character(let run, let number): show(run, number..<number + 1)
      }
    }
  }

  /// Visits the characters of a run up to the next one at which something hangs.
  private mutating func visit(_ number: Int, from start: Int, _ stack: inout [Step]) {
    let branch = firstBranch(of: number, from: start)
    guard branch < branches.count, branches[branch].parent == number else {
      return show(number, start..<runs[number].count)
    }
    let place = branches[branch].number
    show(number, start..<place)
    let here = branches[branch...].prefix { $0.parent == number && $0.number == place }
    // What hangs behind a character is in order of identity with the character that follows it.
    let next = runs[number].place(place + 1)
    let later = here.reversed().prefix { $0.isBehind && runs[$0.child].first > next }
    stack += later.map { .run($0.child, from: 0) }
    if place + 1 < runs[number].count { stack.append(.run(number, from: place + 1)) }
    let rest = here.dropLast(later.count).reversed()
    let lesser = rest.prefix(while: \.isBehind)
    stack += lesser.map { .run($0.child, from: 0) }
    stack.append(.character(run: number, place))
    stack += rest.dropFirst(lesser.count).map { .run($0.child, from: 0) }
  }

  /// The first branch at a character of a run or at a later one; of a later run if there is none.
  private func firstBranch(of run: Int, from number: Int) -> Int {
    branches.partitionPoint {
      $0.parent != run ? $0.parent > run : $0.number >= number
    }
  }

  private mutating func show(_ number: Int, _ range: Range<Int>) {
    let pieces = runs[number].pieces
    var (start, piece) = (range.lowerBound, pieces.partitionPoint { $0.end > range.lowerBound })
    while start < range.upperBound {
      let isShown = piece < pieces.count && pieces[piece].start <= start
      let limit = piece < pieces.count ? (isShown ? pieces[piece].end : pieces[piece].start) : .max
      let end = min(limit, range.upperBound)
      append(Stretch(run: number, start: start, count: end - start, isShown: isShown))
      if isShown {
        count += end - start
        if end == pieces[piece].end { piece += 1 }
      }
      start = end
    }
  }

  /// Appends a stretch, or lengthens the last one if nothing lies between them.
  private mutating func append(_ stretch: Stretch) {
    if let last = stretches.last, last.run == stretch.run, last.isShown == stretch.isShown,
      last.start + last.count == stretch.start
    {
      stretches[stretches.count - 1].count += stretch.count
    } else {
      stretches.append(stretch)
      shownBefore.append(count)
    }
  }

  // MARK: The text

  /// The shown text.
  package var text: String {
    var shown: [UInt8] = []
    for stretch in stretches where stretch.isShown {
      let pieces = runs[stretch.run].pieces
      let piece = pieces[pieces.partitionPoint { $0.end > stretch.start }]
      let start = stretch.start - piece.start
      shown.append(utf8Of: piece.scalars[start..<start + stretch.count])
    }
    return String(decoding: shown, as: UTF8.self)
  }

  // MARK: Own edits

  /// The edit that inserts a text before the shown character with a number, or at the end.
  package func insertion(of text: String, at index: Int) -> TextEdit {
    precondition((0...count).contains(index), "the text has \(count) characters")
    guard let left = index > 0 ? position(of: index - 1) : nil else {
      return .insert(text, stretches.first.map { .before(place($0, 0)) } ?? .start)
    }
    let stretch = stretches[left.stretch]
    let number = stretch.start + left.offset
    let isLastOfRun = number + 1 == runs[stretch.run].count
    if isLastOfRun, !hasBehind(stretch.run, number) {
      return .insert(text, .behind(place(stretch, left.offset)))
    }
    // Something hangs behind it already, so nothing hangs before the next character in the order.
    let isInside = left.offset + 1 < stretch.count
    let next =
      isInside ? place(stretch, left.offset + 1) : place(stretches[left.stretch + 1], 0)
    return .insert(text, .before(next))
  }

  private func hasBehind(_ run: Int, _ number: Int) -> Bool {
    branches[firstBranch(of: run, from: number)...]
      .prefix { $0.parent == run && $0.number == number }.contains(where: \.isBehind)
  }

  /// The edits that erase shown characters.
  package func erasure(of range: Range<Int>) -> [TextEdit] {
    precondition(0 <= range.lowerBound && range.upperBound <= count, "\(range) in \(count)")
    guard !range.isEmpty else { return [] }
    var spans: [(run: Int, span: TextSpan)] = []
    var place = position(of: range.lowerBound).stretch
    while place < stretches.count, shownBefore[place] < range.upperBound {
      let (stretch, before) = (stretches[place], shownBefore[place])
      place += 1
      guard stretch.isShown else { continue }
      let start = max(range.lowerBound, before) - before
      let end = min(range.upperBound, before + stretch.count) - before
      let first = self.place(stretch, start)
      // Between two parts of one insertion lies nothing of it that was not erased already.
      if let last = spans.last, isOneInsertion(last.run, stretch.run) {
        let count = first.offset + end - start - last.span.first.offset
        spans[spans.count - 1] = (stretch.run, TextSpan(first: last.span.first, count: count))
      } else {
        spans.append((stretch.run, TextSpan(first: first, count: end - start)))
      }
    }
    return spans.map { .erase($0.span) }
  }

  private func isOneInsertion(_ run: Int, _ later: Int) -> Bool {
    run == later || run + 1 == later && runs[later].continues(runs[run])
  }

  private func place(_ stretch: Stretch, _ offset: Int) -> TextPlace {
    runs[stretch.run].place(stretch.start + offset)
  }

  /// The stretch of a shown character, and its number there.
  private func position(of index: Int) -> (stretch: Int, offset: Int) {
    // The last stretch that begins at or before it is shown: the one after an erased stretch begins
    // where that one does.
    let stretch = shownBefore.partitionPoint { $0 > index } - 1
    return (stretch, index - shownBefore[stretch])
  }
}
