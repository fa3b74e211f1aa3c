/// A numbering of authors, so that encoded states name an author in one byte instead of
/// twenty-four.
///
/// Snapshots and digests number the authors of their frontier in order, so that equal states have
/// equal bytes. A store numbers authors in the order in which it encounters them.
package struct AuthorTable: Sendable {
  /// The authors by number.
  package private(set) var authors: [Author]
  private var numbers: [Author: Int]

  /// Numbers authors in the given order, from 0.
  package init(_ authors: [Author] = []) {
    self.authors = authors
    numbers = Dictionary(
      authors.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  /// The number of an author, which must be in the table.
  package func number(of author: Author) -> Int {
    // A linear search of a short table is faster than a hash.
    if authors.count <= 8, let place = authors.firstIndex(of: author) { return place }
    guard let number = numbers[author] else {
      preconditionFailure("author \(author) is not in the table of \(authors.count)")
    }
    return number
  }

  /// Whether the table has the author.
  package func contains(_ author: Author) -> Bool {
    numbers[author] != nil
  }

  /// Adds an author at the end; an existing author keeps its number.
  package mutating func add(_ author: Author) {
    guard numbers[author] == nil else { return }
    numbers[author] = authors.count
    authors.append(author)
  }
}

// MARK: - Dots and frontiers by number

extension AuthorTable {
  /// Writes a dot: the author's number, then the sequence number.
  func encode(_ dot: Dot, into writer: inout ByteWriter) {
    writer.varint(number(of: dot.author))
    writer.varint(dot.sequence)
  }

  /// Writes a frontier with authors by number, in order of author.
  package func encode(_ frontier: Frontier, into writer: inout ByteWriter) {
    writer.varint(frontier.entries.count)
    for entry in frontier.entries {
      writer.varint(number(of: entry.author))
      writer.varint(entry.sequence)
    }
  }

  /// Reads a dot: the author's number in the table, then the sequence number.
  package func dot(
    from reader: inout ByteReader, _ item: String
  ) throws(CodecError) -> Dot {
    let start = reader.offset
    let number = try reader.varint(item, atMost: Int(UInt32.max))
    guard number < authors.count else { throw CodecError(.unknown, item, offset: start) }
    let sequence = try reader.varint(item)
    guard sequence > 0, sequence <= Frontier.maximumSequence else {
      throw CodecError(.beyondLimit, item, offset: start)
    }
    return Dot(author: authors[number], sequence: sequence)
  }

  /// Reads a frontier with authors by number, in order of author.
  package func frontier(
    from reader: inout ByteReader, _ item: String
  ) throws(CodecError) -> Frontier {
    let number = try reader.count(item, itemBytes: 2, atMost: Limits.maximumAuthors)
    var entries: [Frontier.Entry] = []
    entries.reserveCapacity(min(number, Limits.maximumReservation))
    for _ in 0..<number {
      let start = reader.offset
      let dot = try dot(from: &reader, item)
      guard entries.last.map({ $0.author < dot.author }) ?? true else {
        throw CodecError(.notCanonical, item, offset: start)
      }
      entries.append(Frontier.Entry(author: dot.author, sequence: dot.sequence))
    }
    return Frontier(sortedEntries: entries)
  }
}
