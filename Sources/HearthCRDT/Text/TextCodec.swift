// The bytes of texts, in snapshots and in the store, and of their edits.

extension Limits {
  /// The most characters that an edit may count; one change holds fewer.
  ///
  /// A whole text has no such limit: a reader that had one would refuse what the merge rule admits,
  /// as its authors together may write any number.
  package static let maximumTextCharacters = 4 * 1024 * 1024
  /// The most characters of one run of a text.
  package static let maximumRunCharacters = 256
}

extension TextSequence {
  /// What a run says about the characters that are still there.
  private enum Shown: UInt8 {
    case all = 0
    case none = 1
    case some = 2
  }

  /// How a run says where it hangs.
  private enum Hanging: UInt8 {
    case start = 0
    /// Behind the last character of the run before it, as what somebody types on.
    case onward = 1
    case before = 2
    case behind = 3
  }

  /// Appends the text: the runs without their characters, then all shown characters.
  package func encode(into writer: inout ByteWriter, authors: AuthorTable) {
    let runs = runs
    writer.varint(runs.count)
    var last: Run?
    for run in runs {
      authors.encode(run.first.dot, into: &writer)
      TextSequence.encode(run.anchor, after: last, into: &writer, authors: authors)
      writer.varint(run.count)
      TextSequence.encode(run.pieces, of: run.count, into: &writer)
      last = run
    }
    var shown: [UInt8] = []
    for run in runs { for piece in run.pieces { shown.append(utf8Of: piece.scalars[...]) } }
    writer.blob(shown)
  }

  private static func encode(
    _ anchor: TextAnchor, after last: Run?, into writer: inout ByteWriter, authors: AuthorTable
  ) {
    let kind: Hanging
    switch anchor {
    case .start: kind = .start
    case .before: kind = .before
    case .behind(let place): kind = last.map { place == $0.last } ?? false ? .onward : .behind
    }
    writer.byte(kind.rawValue)
    guard kind == .before || kind == .behind, let place = anchor.place else { return }
    authors.encode(place.dot, into: &writer)
    writer.varint(place.offset)
  }

  private static func encode(_ pieces: [Piece], of count: Int, into writer: inout ByteWriter) {
    let shown = pieces.reduce(0) { $0 + $1.scalars.count }
    writer.byte((shown == count ? Shown.all : shown == 0 ? .none : .some).rawValue)
    guard shown > 0, shown < count else { return }
    writer.varint(pieces.count)
    var end = 0
    for piece in pieces {
      writer.varint(piece.start - end)
      writer.varint(piece.scalars.count)
      end = piece.end
    }
  }

  /// Reads a text.
  ///
  /// - Throws: `CodecError` if the bytes differ from the output of the encoder, or exceed a limit.
  package init(from reader: inout ByteReader, authors: AuthorTable) throws(CodecError) {
    var outlines: [(run: Run, ranges: [Range<Int>])] = []
    for _ in 0..<(try reader.count("runs", itemBytes: 5)) {
      let start = reader.offset
      let (dot, last) = (try authors.dot(from: &reader, "run"), outlines.last?.run)
      guard last.map({ $0.first.dot <= dot }) ?? true else {
        throw CodecError(.notCanonical, "runs", offset: start)
      }
      let anchor = try TextSequence.anchor(from: &reader, after: last, authors: authors)
      let count = try reader.varint("characters", atMost: Limits.maximumRunCharacters)
      guard count > 0 else { throw CodecError(.notCanonical, "characters", offset: start) }
      let offset = last.flatMap { $0.first.dot == dot ? $0.end : nil } ?? 0
      // What one change writes on is one run until that is full.
      if let last, offset > 0, anchor == .behind(last.last),
        last.count < Limits.maximumRunCharacters
      {
        throw CodecError(.notCanonical, "anchor", offset: start)
      }
      outlines.append(
        (
          Run(
            first: TextPlace(dot: dot, offset: offset), anchor: anchor, count: count, pieces: []),
          try TextSequence.ranges(from: &reader, of: count)
        ))
    }
    let start = reader.offset
    var scalars = try reader.text("text", atMost: reader.remaining).unicodeScalars.makeIterator()
    for place in outlines.indices {
      for range in outlines[place].ranges {
        let piece = Piece(start: range.lowerBound, scalars: scalars.next(range.count))
        guard piece.scalars.count == range.count else {
          throw CodecError(.notCanonical, "text", offset: start)
        }
        outlines[place].run.pieces.append(piece)
      }
    }
    guard scalars.next() == nil else { throw CodecError(.notCanonical, "text", offset: start) }
    self.init(sortedRuns: outlines.map(\.run))
  }

  private static func anchor(
    from reader: inout ByteReader, after last: Run?, authors: AuthorTable
  ) throws(CodecError) -> TextAnchor {
    let start = reader.offset
    switch try reader.choice("anchor", Hanging.init(rawValue:)) {
    case .start: return .start
    case .onward:
      guard let last else { throw CodecError(.notCanonical, "anchor", offset: start) }
      return .behind(last.last)
    case .before: return .before(try place(from: &reader, authors: authors))
    case .behind:
      let place = try place(from: &reader, authors: authors)
      guard place != last?.last else { throw CodecError(.notCanonical, "anchor", offset: start) }
      return .behind(place)
    }
  }

  private static func place(
    from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> TextPlace {
    TextPlace(
      dot: try authors.dot(from: &reader, "anchor"),
      offset: try reader.varint("anchor", atMost: Limits.maximumTextCharacters))
  }

  /// The numbers of a run's characters that are still there.
  private static func ranges(
    from reader: inout ByteReader, of count: Int
  ) throws(CodecError) -> [Range<Int>] {
    let start = reader.offset
    switch try reader.choice("shown characters", Shown.init(rawValue:)) {
    case .all: return [0..<count]
    case .none: return []
    case .some: break
    }
    var (ranges, end): ([Range<Int>], Int) = ([], 0)
    for number in 0..<(try reader.count("pieces", itemBytes: 2)) {
      let gap = try reader.varint("gap", atMost: count - end)
      let length = try reader.varint("piece", atMost: count - end - gap)
      guard length > 0, gap > 0 || number == 0 else {
        throw CodecError(.notCanonical, "pieces", offset: start)
      }
      ranges.append(end + gap..<end + gap + length)
      end = ranges[number].upperBound
    }
    guard !ranges.isEmpty, ranges != [0..<count] else {
      throw CodecError(.notCanonical, "pieces", offset: start)
    }
    return ranges
  }
}

extension String.UnicodeScalarView.Iterator {
  /// The next characters, or fewer if there are no more.
  fileprivate mutating func next(_ count: Int) -> [Unicode.Scalar] {
    Array(unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count, let scalar = next() {
        buffer.initializeElement(at: initialized, to: scalar)
        initialized += 1
      }
    }
  }
}

// MARK: - Edits

extension TextEdit {
  private enum Kind: UInt8 {
    case start = 0
    case before = 1
    case behind = 2
    case erase = 3
  }

  /// Set in the first byte if the named character is another author's.
  private static let foreign: UInt8 = 4

  /// The edit's bytes in a change, which name its own author's characters shortly.
  package func encoded(in dot: Dot) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    let kind: Kind =
      switch self {
      case .insert(_, .start): .start
      case .insert(_, .before): .before
      case .insert(_, .behind): .behind
      case .erase: .erase
      }
    let isForeign = named.map { $0.dot.author != dot.author } ?? false
    writer.byte(kind.rawValue | (isForeign ? TextEdit.foreign : 0))
    if let named {
      if isForeign {
        writer.author(named.dot.author)
        writer.varint(named.dot.sequence)
      } else {
        writer.varint(dot.sequence &- named.dot.sequence)
      }
      writer.varint(named.offset)
    }
    switch self {
    case .insert(let text, _): writer.raw(Array(text.utf8))
    case .erase(let span): writer.varint(span.count)
    }
    return writer.bytes
  }

  /// Reads the bytes of an edit in a change.
  ///
  /// - Throws: `CodecError` if they differ from those of ``encoded(in:)``.
  package init(decoding bytes: [UInt8], in dot: Dot) throws(CodecError) {
    var reader = ByteReader(bytes)
    let first = try reader.byte("edit")
    guard first < 8, let kind = Kind(rawValue: first & 3), first != TextEdit.foreign else {
      throw CodecError(.unknown, "edit", offset: 0)
    }
    var named: TextPlace?
    if kind != .start {
      named = try TextEdit.place(from: &reader, isForeign: first & TextEdit.foreign != 0, in: dot)
    }
    switch (kind, named) {
    case (.erase, let place?):
      let start = reader.offset
      let count = try reader.varint("characters", atMost: Limits.maximumTextCharacters)
      guard count > 0 else { throw CodecError(.notCanonical, "characters", offset: start) }
      self = .erase(TextSpan(first: place, count: count))
    case (.before, let place?): self = .insert(try TextEdit.rest(of: &reader), .before(place))
    case (.behind, let place?): self = .insert(try TextEdit.rest(of: &reader), .behind(place))
    default: self = .insert(try TextEdit.rest(of: &reader), .start)
    }
    try reader.finish()
  }

  private static func place(
    from reader: inout ByteReader, isForeign: Bool, in dot: Dot
  ) throws(CodecError) -> TextPlace {
    let start = reader.offset
    let author = isForeign ? try reader.author("author") : dot.author
    let number = try reader.varint("sequence")
    guard isForeign ? author != dot.author : number < dot.sequence else {
      throw CodecError(.notCanonical, "sequence", offset: start)
    }
    let sequence = isForeign ? number : dot.sequence - number
    guard sequence > 0, sequence <= Frontier.maximumSequence else {
      throw CodecError(.beyondLimit, "sequence", offset: start)
    }
    return TextPlace(
      dot: Dot(author: author, sequence: sequence),
      offset: try reader.varint("offset", atMost: Limits.maximumTextCharacters))
  }

  private static func rest(of reader: inout ByteReader) throws(CodecError) -> String {
    guard reader.remaining > 0 else { throw CodecError(.truncated, "text", offset: reader.offset) }
    return try reader.utf8(reader.remaining, "text")
  }
}
