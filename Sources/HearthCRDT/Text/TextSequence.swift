/// A text that several people edit at the same time, character by character.
///
/// The characters form a tree: each insertion hangs before or behind a character that its author
/// saw, and an erased character stays as a place. The text is the tree read from left to right, so
/// it depends only on which edits are known, not on their order of arrival. What two people type at
/// one place does not interleave. Source: Weidner and Kleppmann, "The Art of the Fugue" (2023),
/// algorithm 1.
package struct TextSequence: Equatable, Sendable {
  /// Characters of one change, each behind the one before it.
  ///
  /// What a change writes on is one run, up to ``Limits/maximumRunCharacters``. Then the next run
  /// hangs behind the last character, so that no erasure costs more than a short run.
  package struct Run: Equatable, Sendable {
    /// The first character.
    package let first: TextPlace
    package let anchor: TextAnchor
    /// The number of characters, erased ones included.
    package internal(set) var count: Int
    /// The characters that nobody has erased, in pieces that do not touch.
    package internal(set) var pieces: [Piece]

    init(first: TextPlace, anchor: TextAnchor, count: Int, pieces: [Piece]) {
      self.first = first
      self.anchor = anchor
      self.count = count
      self.pieces = pieces
    }

    /// Makes a run that nobody has erased anything of.
    init(first: TextPlace, anchor: TextAnchor, scalars: [Unicode.Scalar]) {
      self.init(
        first: first, anchor: anchor, count: scalars.count,
        pieces: [Piece(start: 0, scalars: scalars)])
    }

    /// The last character.
    var last: TextPlace { place(count - 1) }

    /// Whether the run's characters follow those of another one in one insertion.
    func continues(_ other: Run) -> Bool {
      first == other.place(other.count) && anchor == .behind(other.last)
    }

    /// The number of the character after the last one.
    var end: Int { first.offset + count }

    func place(_ number: Int) -> TextPlace {
      TextPlace(dot: first.dot, offset: first.offset + number)
    }
  }

  /// Neighbouring characters of a run.
  package struct Piece: Equatable, Sendable {
    /// The number of the first character in its run.
    package let start: Int
    package internal(set) var scalars: [Unicode.Scalar]

    var end: Int { start + scalars.count }
  }

  /// The runs in order of identity.
  private var sorted: SortedPieces<Run>

  /// Makes an empty text.
  package init() { sorted = SortedPieces() }

  /// Takes runs in order of identity.
  init(sortedRuns: [Run]) { sorted = SortedPieces(sortedRuns) }

  /// The runs in order of identity; O(n) if there are many.
  package var runs: [Run] { sorted.items }

  // MARK: Edits

  /// Applies an edit; one that names a character beyond its author's past changes nothing.
  ///
  /// O(log n) amortised, apart from the characters themselves.
  ///
  /// - Parameters:
  ///   - dot: the change; its edits of one text come in order.
  ///   - past: everything that the author had seen, its own earlier changes included.
  package mutating func apply(_ edit: TextEdit, dot: Dot, past: Frontier) {
    if let named = edit.named, named.dot != dot, !past.covers(named.dot) { return }
    switch edit {
    case .insert(let text, let anchor): insert(text.scalars, anchor, dot)
    case .erase(let span): erase(span)
    }
  }

  private mutating func insert(_ scalars: [Unicode.Scalar], _ anchor: TextAnchor, _ dot: Dot) {
    var (rest, anchor) = (scalars[...], anchor)
    let end = sorted.place { $0.first.dot > dot }
    let last = run(before: end).flatMap { $0.first.dot == dot ? $0 : nil }
    var offset = last?.end ?? 0
    if let last, let place = sorted.place(before: end), anchor == .behind(last.last) {
      let more = rest.prefix(Limits.maximumRunCharacters - last.count)
      sorted.change(at: place) { $0.append(more) }
      rest = rest.dropFirst(more.count)
      offset += more.count
      anchor = .behind(TextPlace(dot: dot, offset: offset - 1))
    }
    while !rest.isEmpty {
      let run = Run(
        first: TextPlace(dot: dot, offset: offset), anchor: anchor,
        scalars: Array(rest.prefix(Limits.maximumRunCharacters)))
      sorted.insert(run, at: sorted.place { $0.first.dot > dot })
      rest = rest.dropFirst(run.count)
      offset += run.count
      anchor = .behind(run.last)
    }
  }

  private mutating func erase(_ span: TextSpan) {
    guard span.count > 0, var place = self.place(of: span.first) else { return }
    let end = span.first.offset + min(span.count, Limits.maximumTextCharacters)
    var start = span.first.offset
    while let run = sorted[place] {
      let offset = run.first.offset
      sorted.change(at: place) { $0.erase(start - offset..<min(end - offset, run.count)) }
      start = run.end
      place = sorted.place(after: place)
      guard start < end, let next = sorted[place], next.continues(run) else { return }
    }
  }

  /// Where the run with a character is; nil if there is none.
  private func place(of character: TextPlace) -> SortedPieces<Run>.Place? {
    let next = sorted.place { character < $0.first }
    guard let place = sorted.place(before: next), let run = sorted[place],
      run.first.dot == character.dot, character.offset < run.end
    else { return nil }
    return place
  }

  private func run(before place: SortedPieces<Run>.Place) -> Run? {
    sorted.place(before: place).flatMap { sorted[$0] }
  }

  // MARK: Merging states

  /// Merges two copies: commutative, associative, idempotent.
  ///
  /// Nothing is ever removed from a text but the content of erased characters, so the knowledge of
  /// the replicas does not matter. O(n).
  package func joined(with other: TextSequence) -> TextSequence {
    let (ours, theirs) = (runs, other.runs)
    var result: [Run] = []
    result.reserveCapacity(max(ours.count, theirs.count))
    var place = 0
    for run in ours {
      while place < theirs.count, theirs[place].first < run.first {
        result.append(theirs[place])
        place += 1
      }
      guard place < theirs.count, theirs[place].first == run.first else {
        result.append(run)
        continue
      }
      var both = run
      both.keep(theirs[place].pieces)
      result.append(both)
      place += 1
    }
    result.append(contentsOf: theirs[place...])
    return TextSequence(sortedRuns: result)
  }
}

extension TextSequence.Run {
  /// Adds characters behind the last one.
  mutating func append(_ scalars: ArraySlice<Unicode.Scalar>) {
    guard !scalars.isEmpty else { return }
    if let last = pieces.last, last.end == count {
      pieces[pieces.count - 1].scalars.append(contentsOf: scalars)
    } else {
      pieces.append(TextSequence.Piece(start: count, scalars: Array(scalars)))
    }
    count += scalars.count
  }

  /// Erases characters by their numbers in the run; only what is touched costs.
  mutating func erase(_ range: Range<Int>) {
    let first = pieces.partitionPoint { $0.end > range.lowerBound }
    var end = first
    var rest: [TextSequence.Piece] = []
    while end < pieces.count, pieces[end].start < range.upperBound {
      rest += pieces[end].parts(outside: range)
      end += 1
    }
    guard first < end else { return }
    pieces.replaceSubrange(first..<end, with: rest)
  }

  /// Erases what is in none of these pieces.
  mutating func keep(_ kept: [TextSequence.Piece]) {
    var start = 0
    for piece in kept {
      if start < piece.start { erase(start..<piece.start) }
      start = piece.end
    }
    if start < count { erase(start..<count) }
  }
}

extension TextSequence.Piece {
  /// What is left of the piece without a range.
  fileprivate func parts(outside range: Range<Int>) -> [TextSequence.Piece] {
    var parts: [TextSequence.Piece] = []
    if start < range.lowerBound {
      parts.append(
        TextSequence.Piece(start: start, scalars: Array(scalars[..<(range.lowerBound - start)])))
    }
    if range.upperBound < end {
      parts.append(
        TextSequence.Piece(
          start: range.upperBound, scalars: Array(scalars[(range.upperBound - start)...])))
    }
    return parts
  }
}
