/// Dots as one column of sequence numbers and one of authors.
struct DotColumn {
  private var authors = RunColumn()
  private var sequences: [Int64] = []

  mutating func append(_ dot: Dot, _ table: AuthorTable) {
    authors.append(UInt32(table.number(of: dot.author)))
    sequences.append(Int64(bitPattern: dot.sequence))
  }

  /// Appends the column's bytes.
  mutating func finish(into writer: inout ByteWriter) {
    NumberColumn.encode(sequences, into: &writer)
    writer.raw(authors.finish())
  }

  /// Reads a column of exactly `count` dots.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int, _ table: AuthorTable
  ) throws(CodecError) -> [Dot] {
    guard count > 0 else { return [] }
    let start = reader.offset
    let sequences = try NumberColumn.decode(from: &reader, item, count: count)
    guard !table.authors.isEmpty else {
      throw CodecError(.unknown, item, offset: reader.offset)
    }
    let authors = try RunColumn.decode(
      from: &reader, item, count: count, atMost: UInt32(table.authors.count - 1))
    var dots: [Dot] = []
    dots.reserveCapacity(count)
    for place in 0..<count {
      guard sequences[place] > 0 else { throw CodecError(.beyondLimit, item, offset: start) }
      dots.append(
        Dot(
          author: table.authors[Int(authors[place])],
          sequence: UInt64(bitPattern: sequences[place])))
    }
    return dots
  }
}

/// The number of items of each owner, and the items' dots.
struct DotListColumn {
  private var counts = RunColumn()
  private var dots = DotColumn()

  mutating func append(_ list: some Collection<Dot>, _ table: AuthorTable) {
    counts.append(UInt32(list.count))
    for dot in list { dots.append(dot, table) }
  }

  mutating func append(_ frontier: Frontier, _ table: AuthorTable) {
    append(frontier.entries.map { Dot(author: $0.author, sequence: $0.sequence) }, table)
  }

  /// Appends the column's bytes.
  mutating func finish(into writer: inout ByteWriter) {
    writer.raw(counts.finish())
    dots.finish(into: &writer)
  }

  /// Reads the number of items of each of `count` owners, and the sum.
  ///
  /// The caller compares the sum with the following bytes before it allocates memory.
  static func decodeCounts(
    from reader: inout ByteReader, _ item: String, count: Int, atMost limit: UInt32 = .max >> 1
  ) throws(CodecError) -> (counts: [Int], sum: Int) {
    let counts = try RunColumn.decode(from: &reader, item, count: count, atMost: limit)
      .map { Int($0) }
    return (counts, counts.reduce(0, +))
  }

  /// Reads the lists of dots of `count` owners, each strictly ascending by author.
  ///
  /// Two dots of one author never remain concurrent, since the author's later change has seen the
  /// earlier one.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int, atMost limit: UInt32 = .max >> 1,
    _ table: AuthorTable
  ) throws(CodecError) -> [ArraySlice<Dot>] {
    let start = reader.offset
    let (counts, sum) = try decodeCounts(from: &reader, item, count: count, atMost: limit)
    let dots = try DotColumn.decode(from: &reader, item, count: sum, table)
    var lists: [ArraySlice<Dot>] = []
    lists.reserveCapacity(count)
    var place = 0
    for count in counts {
      let list = dots[place..<place + count]
      guard zip(list, list.dropFirst()).allSatisfy({ $0.author < $1.author }) else {
        throw CodecError(.notCanonical, item, offset: start)
      }
      lists.append(list)
      place += count
    }
    return lists
  }

  /// Reads the frontiers of `count` owners.
  static func decodeFrontiers(
    from reader: inout ByteReader, _ item: String, count: Int, _ table: AuthorTable
  ) throws(CodecError) -> [Frontier] {
    let lists = try decode(
      from: &reader, item, count: count, atMost: UInt32(Limits.maximumAuthors), table)
    return lists.map { list in
      Frontier(
        sortedEntries: list.map { Frontier.Entry(author: $0.author, sequence: $0.sequence) })
    }
  }
}
