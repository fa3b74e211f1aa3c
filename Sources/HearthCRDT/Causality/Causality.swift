/// The causal order of a log of changes by several authors, transitively closed.
///
/// Each change has one row: the number of changes that it had seen, for each author. A row covers
/// the rows of everything that it cites. An author can therefore not cite an operation and deny
/// that operation's past.
///
/// Construction takes O(c·r) for c changes and rows of r blocks, plus the newly seen changes; a
/// query takes O(1).
@usableFromInline package struct Causality: Sendable {
  /// A change with the causes that its author states.
  package struct Statement {
    let position: Dot
    /// The author as whom other authors' causes name its log; nil for a log that only ``more``
    /// names.
    let name: Author?
    /// The causes that the author states, by name.
    let stated: Frontier
    /// Further known causes, by the authors of positions.
    let more: Frontier

    package init(position: Dot, name: Author?, stated: Frontier, more: Frontier) {
      self.position = position
      self.name = name
      self.stated = stated
      self.more = more
    }

    /// Whether the author is known to have seen more than they state, if positions name all logs.
    package var hasMore: Bool { !stated.covers(more) }

    /// The same statement without what is known beyond it.
    package var asStated: Statement {
      Statement(position: position, name: name, stated: stated, more: Frontier())
    }

    /// Whether another author had the same knowledge.
    fileprivate func hasKnowledge(of other: Statement) -> Bool {
      stated == other.stated && more == other.more
    }

    /// Whether the author states to have seen the change itself or one after it.
    fileprivate var isAhead: Bool {
      name.map { stated[$0] } ?? 0 >= position.sequence
        || more[position.author] >= position.sequence
    }
  }

  /// The changes in causal order; ties by author and sequence number.
  package private(set) var order: [Dot] = []
  /// The Lamport number of each change: one more than the greatest number among the changes that it
  /// had seen.
  package private(set) var lamport: [Int] = []
  /// Whether the author stated to have seen a change without that change's own causes.
  package private(set) var isOpen: [Bool] = []
  /// The author of each change, numbered in order of the authors' first changes.
  @usableFromInline package private(set) var column: [Int] = []
  /// The author's first change with the same knowledge of other authors.
  package private(set) var sight: [Int] = []
  /// The position of each change in its author's log, from 0.
  @usableFromInline private(set) var ordinal: [UInt32] = []
  /// The last change of each author.
  private var last: [Int] = []
  /// The cited changes that are missing.
  private var missing = Frontier()
  /// The number of each author.
  private var columns: [Author: Int] = [:]
  @usableFromInline private(set) var rows: CausalRows

  /// Orders the statements of all changes, with each position once.
  ///
  /// - Parameters:
  ///   - isChecked: whether to detect statements that are not causally closed.
  ///   - placed: receives the number of each statement, in the order of the changes.
  package init(
    _ statements: [Statement], isChecked: Bool, placed: (_ statement: Int) -> Void = { _ in }
  ) {
    var builder = CausalityBuilder(statements)
    rows = CausalRows(changes: statements.count)
    var crowd = Crowd(row: rows.row())
    var (row, seen, stated) = (rows.row(), rows.row(), rows.row())
    while let next = builder.next() {
      placed(next.statement)
      defer { builder.note(order.count - 1, for: next) }
      let last = builder.last(of: next.author, before: next.ordinal)
      if let last, next.hasNoNews, !isChecked || !isOpen[last] {
        note(statements[next.statement].position, withoutNewsSince: last)
        continue
      }
      let statement = statements[next.statement]
      let own = last.map { column[$0] } ?? self.last.count
      var greatest = begin(&row, after: last, of: own, at: next.ordinal)
      let isClean = !isChecked || (last.map { !isOpen[$0] } ?? true)
      var isLie = false
      if isClean, !next.isForced, !next.isNews, crowd.statement?.hasKnowledge(of: statement) == true
      {
        rows.join(crowd.row, into: &row)
        greatest = max(greatest, crowd.lamport)
      } else {
        let cited = isClean ? builder.cited(by: next) : builder.changes(of: statement)
        seen.clear()
        var highest = 0
        join(cited, into: &seen, &highest)
        rows.join(seen, into: &row)
        greatest = max(greatest, highest)
        var isCrowd = !next.isForced && !next.isNews && !statement.isAhead
        if isChecked {
          stated.clear()
          for change in cited { rows.raise(column[change], to: ordinal[change] + 1, in: &stated) }
          isCrowd = isCrowd && rows.covers(stated, seen)
          // An author need not restate what an earlier operation had already shown.
          if let last, isClean { rows.join(last, into: &stated) }
          rows.raise(own, to: .max, in: &stated)
          isLie = next.isForced || !rows.covers(stated, row)
        }
        if isCrowd { crowd = Crowd(row: seen, statement: statement, lamport: highest) }
      }
      note(statement.position, own, next.ordinal, lamport: greatest + 1, isOpen: isLie)
      if next.hasNoNews, let last { sight[order.count - 1] = sight[last] }
      rows.append(row)
    }
    missing = builder.missing
  }

  /// The shared knowledge of authors who had seen the same changes, without any omission.
  private struct Crowd {
    var row: CausalRows.Row
    var statement: Statement?
    var lamport = 0
  }

  /// Fills a row with an author's log before a change, and returns the Lamport number of the last
  /// change in it.
  private func begin(
    _ row: inout CausalRows.Row, after last: Int?, of own: Int, at ordinal: UInt32
  ) -> Int {
    row.clear()
    guard let last else { return 0 }
    rows.join(last, into: &row)
    rows.raise(own, to: ordinal, in: &row)
    return lamport[last]
  }

  /// Adds changes with their pasts, and returns the greatest of their Lamport numbers.
  private func join(_ cited: [Int], into row: inout CausalRows.Row, _ greatest: inout Int) {
    guard let latest = cited.max() else { return }
    // The latest change has usually seen most others. A change that is already in the row was
    // joined with its whole past.
    for change in [latest] + cited where rows.count(of: column[change], in: row) <= ordinal[change]
    {
      rows.raise(column[change], to: ordinal[change] + 1, in: &row)
      rows.join(change, into: &row)
      greatest = max(greatest, lamport[change])
    }
  }

  private mutating func note(
    _ position: Dot, _ own: Int, _ ordinal: UInt32, lamport number: Int, isOpen isLie: Bool
  ) {
    isOpen.append(isLie)
    sight.append(order.count)
    order.append(position)
    lamport.append(number)
    column.append(own)
    self.ordinal.append(ordinal)
    if own == last.count {
      last.append(order.count - 1)
      columns[position.author] = own
    } else {
      last[own] = order.count - 1
    }
  }

  /// Adds a change whose author had seen nothing of others since the last own change.
  private mutating func note(_ position: Dot, withoutNewsSince last: Int) {
    note(position, column[last], ordinal[last] + 1, lamport: lamport[last] + 1, isOpen: false)
    sight[order.count - 1] = sight[last]
    rows.append(rowOf: last)
  }

  /// The number of authors.
  package var authorCount: Int { last.count }

  /// Whether one change had seen another.
  @inlinable package func sees(_ later: Int, _ earlier: Int) -> Bool {
    column[later] == column[earlier]
      ? ordinal[later] > ordinal[earlier]
      : rows.count(of: column[earlier], in: later) > ordinal[earlier]
  }

  /// An empty row, to join rows into.
  package func row() -> CausalRows.Row { rows.row() }

  /// Adds a change's knowledge to a row.
  package func join(_ change: Int, into row: inout CausalRows.Row) {
    rows.join(change, into: &row)
    rows.raise(column[change], to: ordinal[change], in: &row)
  }

  /// Whether a row contains a change.
  @inlinable package func isSeen(_ change: Int, in row: CausalRows.Row) -> Bool {
    rows.count(of: column[change], in: row) > ordinal[change]
  }

  /// Whether a row contains all of an author's changes before one, and not that one.
  package func isNext(_ change: Int, in row: CausalRows.Row) -> Bool {
    rows.count(of: column[change], in: row) == ordinal[change]
  }

  /// Whether a frontier covers every change of all other authors.
  package func isAll(_ seen: Frontier, except author: Author) -> Bool {
    last.allSatisfy { order[$0].author == author || seen.covers(order[$0]) }
  }

  /// Adds a change whose author had seen every other change.
  ///
  /// O(a) for a authors, except for copies.
  package mutating func append(_ position: Dot, citing cause: Frontier) {
    var row = rows.row()
    for change in last { rows.raise(column[change], to: ordinal[change] + 1, in: &row) }
    let own = columns[position.author] ?? last.count
    let number = (last.map { lamport[$0] }.max() ?? 0) + 1
    note(position, own, rows.count(of: own, in: row), lamport: number, isOpen: false)
    rows.append(row)
    for entry in cause.entries {
      let known = columns[entry.author].map { order[last[$0]].sequence } ?? 0
      if entry.sequence > known { missing.advance(entry.author, to: entry.sequence) }
    }
  }

  /// Whether a change may come after all others.
  ///
  /// Nobody has cited it, its device has no other incarnation, and this incarnation has no later
  /// change.
  package func mayFollow(_ position: Dot) -> Bool {
    !missing.covers(position)
      && last.allSatisfy { change in
        let dot = order[change]
        return dot.author.device != position.author.device
          || dot.author == position.author && dot.sequence < position.sequence
      }
  }
}

/// Puts changes into causal order.
///
/// A change comes after everything that its author states to have seen. Cyclic statements are lies.
/// To break a cycle, the first of them in order of author proceeds without its missing causes.
struct CausalityBuilder {
  /// The next change in the order.
  struct Next {
    let statement: Int
    let author: Int
    let ordinal: UInt32
    /// Whether it comes before a change that it states to have seen.
    let isForced: Bool
    /// Whether its citations contain only what its author's last change had not seen.
    let isNews: Bool
    /// Whether its author had seen nothing of other authors since the last change.
    let hasNoNews: Bool
  }

  /// A number of changes of one author.
  private struct Citation {
    let author: Int
    let count: Int
  }

  /// The changes of one author, one after the other among those of all authors.
  private struct Chain {
    let start: Int
    var count = 0
    /// The number of changes that already have a place in the order.
    var done = 0
    /// The citations of the next change, if they were already resolved.
    var cited: [Citation]?
    /// Whether the citations contain only what the last change had not seen.
    var isNews = false
    /// The number of citations that may not have a place yet.
    ///
    /// No citation is checked twice while the change is pending.
    var left = 0
    /// The citations of earlier changes that came before what they cite.
    var missed: [Citation] = []
  }

  /// Some chains by an author each, in order of author.
  private struct Names {
    var authors: [Author] = []
    var chains: [Int] = []

    mutating func append(_ author: Author, _ chain: Int) {
      authors.append(author)
      chains.append(chain)
    }
  }

  private let statements: [Causality.Statement]
  /// The statements and their sequence numbers, by author.
  private let sorted: [Int]
  private let sequences: [UInt64]
  /// The places of these changes in the order, as far as they have one.
  private var places: [Int]
  private var chains: [Chain] = []
  /// The chains by the authors of their positions, and by the authors as whom causes name them.
  private var positions = Names()
  private var names = Names()
  /// Authors whose next change is ready, the least last.
  private var ready: [Int] = []
  /// Authors that wait for a number of another author's changes.
  private var waiting: [[(author: Int, count: Int)]] = []
  private var remaining: Int
  /// The cited changes that are missing.
  private(set) var missing = Frontier()
  /// The last resolved citations, since many changes cite the same.
  private var known: (statement: Causality.Statement, cited: [Citation])?

  init(_ statements: [Causality.Statement]) {
    self.statements = statements
    remaining = statements.count
    sorted = statements.indices.sorted { statements[$0].position < statements[$1].position }
    sequences = sorted.map { statements[$0].position.sequence }
    places = Array(repeating: 0, count: sorted.count)
    for (place, statement) in sorted.enumerated() {
      let author = statements[statement].position.author
      if positions.authors.last != author {
        positions.append(author, chains.count)
        if let name = statements[statement].name { names.append(name, chains.count) }
        chains.append(Chain(start: place))
      }
      chains[chains.count - 1].count += 1
    }
    waiting = Array(repeating: [], count: chains.count)
    for author in chains.indices.reversed() { schedule(author) }
  }

  /// The change of an author before a given ordinal, in the order.
  func last(of author: Int, before ordinal: UInt32) -> Int? {
    ordinal > 0 ? places[chains[author].start + Int(ordinal) - 1] : nil
  }

  mutating func next() -> Next? {
    guard remaining > 0 else { return nil }
    let isForced = ready.isEmpty
    let author: Int
    if let first = ready.popLast() {
      author = first
    } else {
      author = chains.firstIndex { $0.done < $0.count } ?? 0
      if let cause = chains[author].cited?[chains[author].left - 1] {
        waiting[cause.author].removeAll { $0.author == author }
      }
    }
    remaining -= 1
    let ordinal = chains[author].done
    return Next(
      statement: sorted[chains[author].start + ordinal], author: author, ordinal: UInt32(ordinal),
      isForced: isForced, isNews: chains[author].isNews,
      hasNoNews: !isForced && hasNoNews(author))
  }

  /// Records the place of a change and continues the changes that were waiting for it.
  mutating func note(_ change: Int, for next: Next) {
    let cited = next.isForced ? chains[next.author].cited ?? [] : []
    chains[next.author].missed = cited.filter {
      $0.author != next.author && $0.count > chains[$0.author].done
    }
    places[chains[next.author].start + chains[next.author].done] = change
    chains[next.author].done += 1
    chains[next.author].cited = nil
    let count = chains[next.author].done
    guard !waiting[next.author].isEmpty else { return schedule(next.author) }
    var woken: [Int] = []
    waiting[next.author].removeAll { waiter in
      guard waiter.count <= count else { return false }
      woken.append(waiter.author)
      return true
    }
    schedule(next.author)
    for author in woken { schedule(author) }
  }

  /// The last changes that an author's next change cites, as far as they have a place.
  func cited(by next: Next) -> [Int] { changes(chains[next.author].cited ?? []) }

  /// Whether an author's next change cites nothing new of other authors.
  private func hasNoNews(_ author: Int) -> Bool {
    chains[author].isNews && (chains[author].cited ?? []).allSatisfy { $0.author == author }
  }

  /// The last changes that an author knew, as far as they have a place.
  func changes(of statement: Causality.Statement) -> [Int] {
    changes(citations(statement.stated, statement.more))
  }

  private func changes(_ cited: [Citation]) -> [Int] {
    cited.compactMap { cited in
      let placed = min(cited.count, chains[cited.author].done)
      return placed > 0 ? places[chains[cited.author].start + placed - 1] : nil
    }
  }

  /// The number of a chain's changes up to a sequence number.
  private func count(of chain: Int, through sequence: UInt64) -> Int {
    let start = chains[chain].start
    let end = start + chains[chain].count
    // Logs usually have no gaps, so the sequence number gives the position.
    let guess = start + Int(clamping: min(sequence, UInt64(end - start)))
    let isExact =
      guess > start && sequences[guess - 1] <= sequence
      && (guess == end || sequences[guess] > sequence)
    return (isExact ? guess : sequences[start..<end].partitionPoint { $0 > sequence }) - start
  }

  /// The earlier citations of an author that still wait and that its next statement repeats.
  private func missed(by author: Int, _ statement: Causality.Statement) -> [Citation] {
    chains[author].missed.compactMap { cited in
      let name = statements[sorted[chains[cited.author].start]].name
      let reached = max(
        name.map { statement.stated[$0] } ?? 0,
        statement.more[positions.authors[cited.author]])
      let count = count(of: cited.author, through: reached)
      return count > 0 ? Citation(author: cited.author, count: min(count, cited.count)) : nil
    }
  }

  /// The number of changes of each author that a frontier covers.
  private func citations(
    _ stated: Frontier, _ more: Frontier, _ lacks: (Frontier.Entry) -> Void = { _ in }
  ) -> [Citation] {
    let cited = citations(stated, in: names, lacks)
    return more.isEmpty ? cited : cited + citations(more, in: positions, lacks)
  }

  private func citations(
    _ frontier: Frontier, in names: Names, _ lacks: (Frontier.Entry) -> Void = { _ in }
  ) -> [Citation] {
    guard !frontier.isEmpty else { return [] }
    let authors = names.authors
    let isSparse = frontier.entries.count * 8 < authors.count
    var walk = 0
    var found: [Citation] = []
    found.reserveCapacity(frontier.entries.count)
    for entry in frontier.entries {
      let place: Int
      if isSparse {
        place = authors.partitionPoint { !($0 < entry.author) }
      } else {
        while walk < authors.count, authors[walk] != entry.author, authors[walk] < entry.author {
          walk += 1
        }
        place = walk
      }
      guard place < authors.count, authors[place] == entry.author else {
        lacks(entry)
        continue
      }
      let chain = names.chains[place]
      let count = count(of: chain, through: entry.sequence)
      if count > 0 { found.append(Citation(author: chain, count: count)) }
      let end = chains[chain].start + count
      if count == chains[chain].count, entry.sequence > sequences[end - 1] { lacks(entry) }
    }
    return found
  }

  /// Whether an author's change cites the same as the one before it, apart from the own log.
  private func isUnchanged(_ place: Int) -> Bool {
    let (own, last) = (sorted[place], sorted[place - 1])
    guard let name = statements[own].name,
      statements[own].stated.equals(statements[last].stated, exceptFor: name),
      statements[own].more == statements[last].more
    else { return false }
    // Who states to have seen later own changes may name missing ones.
    return statements[own].stated[name] <= sequences[place]
  }

  /// Resolves the citations of an author's next change.
  private mutating func look(_ author: Int) {
    var missing = missing
    defer { self.missing = missing }
    func lacks(_ entry: Frontier.Entry) { missing.advance(entry.author, to: entry.sequence) }
    let next = chains[author].start + chains[author].done
    if chains[author].done > 0, chains[author].missed.isEmpty, isUnchanged(next) {
      chains[author].isNews = true
      chains[author].cited = []
      chains[author].left = 0
      return
    }
    let statement = statements[sorted[next]]
    chains[author].isNews = false
    if chains[author].done > 0 {
      let before = statements[sorted[next - 1]]
      // Larger differences are resolved from the whole frontier, whose result is shared.
      let limit = max(8, (statement.stated.entries.count - 1) / 4)
      if let news = statement.stated.news(since: before.stated, atMost: limit),
        let more = statement.more.news(since: before.more, atMost: .max)
      {
        chains[author].isNews = true
        chains[author].cited = missed(by: author, statement) + citations(news, more, lacks)
      }
    }
    if !chains[author].isNews {
      if let known, known.statement.hasKnowledge(of: statement) {
        chains[author].cited = known.cited
      } else {
        let cited = citations(statement.stated, statement.more, lacks)
        known = (statement, cited)
        chains[author].cited = cited
      }
    }
    chains[author].left = chains[author].cited?.count ?? 0
  }

  /// Makes an author's next change ready, or waits for its last missing cause.
  private mutating func schedule(_ author: Int) {
    guard chains[author].done < chains[author].count else { return }
    if chains[author].cited == nil { look(author) }
    let cited = chains[author].cited ?? []
    var left = chains[author].left
    defer { chains[author].left = left }
    while left > 0 {
      let next = cited[left - 1]
      guard next.author == author || chains[next.author].done >= next.count else {
        waiting[next.author].append((author, next.count))
        return
      }
      left -= 1
    }
    ready.append(author)
  }
}
