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
    /// The causes that the author states, without the additions from earlier incarnations.
    let stated: Frontier
    /// The known causes, with the additions from earlier incarnations.
    let known: Frontier

    package init(position: Dot, stated: Frontier, known: Frontier) {
      self.position = position
      self.stated = stated
      self.known = known
    }

    /// Whether the author is known to have seen more than they state.
    package var hasMore: Bool { known != stated }

    /// The same statement without the additions from earlier incarnations.
    package var asStated: Statement { Statement(position: position, stated: stated, known: stated) }
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
      let statement = statements[next.statement]
      let last = builder.last(of: next.author, before: next.ordinal)
      let own = last.map { column[$0] } ?? self.last.count
      row.clear()
      var greatest = 0
      if let last {
        rows.join(last, into: &row)
        rows.raise(own, to: next.ordinal, in: &row)
        greatest = lamport[last]
      }
      let isPlain = statement.known == statement.stated && !next.isForced
      let isClean = !isChecked || (last.map { !isOpen[$0] } ?? true)
      var isLie = false
      if isPlain, isClean, !next.isNews, crowd.cause == statement.known {
        rows.join(crowd.row, into: &row)
        greatest = max(greatest, crowd.lamport)
      } else {
        let cited =
          isPlain && isClean ? builder.cited(by: next) : builder.changes(of: statement.known)
        seen.clear()
        var highest = 0
        join(cited, into: &seen, &highest)
        rows.join(seen, into: &row)
        greatest = max(greatest, highest)
        var isCrowd =
          isPlain && !next.isNews
          && statement.known[statement.position.author] < statement.position.sequence
        if isChecked {
          stated.clear()
          state(statement, cited, builder, into: &stated)
          isCrowd = isCrowd && rows.covers(stated, seen)
          // An author need not restate what an earlier operation had already shown.
          if let last, isClean { rows.join(last, into: &stated) }
          rows.raise(own, to: .max, in: &stated)
          isLie = next.isForced || !rows.covers(stated, row)
        }
        if isCrowd { crowd = Crowd(row: seen, cause: statement.known, lamport: highest) }
      }
      let isSame = last != nil && !next.isForced && builder.hasNoNews(next)
      note(statement.position, own, next.ordinal, lamport: greatest + 1, isOpen: isLie)
      if isSame, let last { sight[order.count - 1] = sight[last] }
      rows.append(row)
      placed(next.statement)
      builder.note(order.count - 1, for: next)
    }
    missing = builder.missing
  }

  /// The shared knowledge of authors who had seen the same changes, without any omission.
  private struct Crowd {
    var row: CausalRows.Row
    var cause: Frontier?
    var lamport = 0
  }

  /// Adds changes with their pasts, and returns the greatest of their Lamport numbers.
  private func join(_ cited: [Int], into row: inout CausalRows.Row, _ greatest: inout Int) {
    // A change that is already in the row was joined with its whole past.
    for change in cited where rows.count(of: column[change], in: row) <= ordinal[change] {
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

  /// The number of authors.
  package var authorCount: Int { last.count }

  /// Whether one change had seen another.
  @inlinable package func sees(_ later: Int, _ earlier: Int) -> Bool {
    rows.count(of: column[earlier], in: later) > ordinal[earlier]
  }

  /// An empty row, to join rows into.
  package func row() -> CausalRows.Row { rows.row() }

  /// Adds a change's knowledge to a row.
  package func join(_ change: Int, into row: inout CausalRows.Row) { rows.join(change, into: &row) }

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

  /// Records what an author stated, and what its earlier incarnations had shown.
  private func state(
    _ statement: Statement, _ cited: [Int], _ builder: CausalityBuilder,
    into row: inout CausalRows.Row
  ) {
    guard statement.known != statement.stated else {
      for change in cited { rows.raise(column[change], to: ordinal[change] + 1, in: &row) }
      return
    }
    for change in builder.changes(of: statement.stated) {
      rows.raise(column[change], to: ordinal[change] + 1, in: &row)
    }
    let more = statement.known.entries.filter { $0.sequence > statement.stated[$0.author] }
    let added = Frontier(more.map { ($0.author, $0.sequence) })
    for change in builder.changes(of: added) {
      rows.raise(column[change], to: ordinal[change] + 1, in: &row)
      rows.join(change, into: &row)
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
  }

  /// A number of changes of one author.
  private struct Citation {
    let author: Int
    let count: Int
  }

  private struct Chain {
    var sequences: [UInt64] = []
    var statements: [Int] = []
    /// The changes that already have a place in the order.
    var changes: [Int] = []
    /// The citations of the next change, if they were already resolved.
    var cited: [Citation]?
    /// Whether the citations contain only what the last change had not seen.
    var isNews = false
    /// The number of citations that may not have a place yet.
    ///
    /// No citation is checked twice while the change is pending.
    var left = 0
    /// Whether the last change came before a change that it states to have seen.
    var wasForced = false

    /// The number of changes up to a sequence number.
    func count(through sequence: UInt64) -> Int {
      // Logs usually have no gaps, so the sequence number gives the position.
      let guess = Int(clamping: min(sequence, UInt64(sequences.count)))
      let isExact =
        guess > 0 && sequences[guess - 1] <= sequence
        && (guess == sequences.count || sequences[guess] > sequence)
      return isExact ? guess : sequences.partitionPoint { $0 > sequence }
    }
  }

  private let statements: [Causality.Statement]
  private var chains: [Chain] = []
  /// The author of each chain.
  private var authors: [Author] = []
  /// Authors whose next change is ready, the least last.
  private var ready: [Int] = []
  /// Authors that wait for a number of another author's changes.
  private var waiting: [[(author: Int, count: Int)]] = []
  private var remaining: Int
  /// The cited changes that are missing.
  private(set) var missing = Frontier()
  /// The last resolved citations, since many changes cite the same.
  private var known: (frontier: Frontier, cited: [Citation]) = (Frontier(), [])

  init(_ statements: [Causality.Statement]) {
    self.statements = statements
    remaining = statements.count
    let sorted = statements.indices.sorted {
      statements[$0].position < statements[$1].position
    }
    for statement in sorted {
      let position = statements[statement].position
      if authors.last != position.author {
        authors.append(position.author)
        chains.append(Chain())
      }
      chains[chains.count - 1].sequences.append(position.sequence)
      chains[chains.count - 1].statements.append(statement)
    }
    waiting = Array(repeating: [], count: chains.count)
    for author in chains.indices.reversed() { schedule(author) }
  }

  /// The change of an author before a given ordinal, in the order.
  func last(of author: Int, before ordinal: UInt32) -> Int? {
    ordinal > 0 ? chains[author].changes[Int(ordinal) - 1] : nil
  }

  mutating func next() -> Next? {
    guard remaining > 0 else { return nil }
    let isForced = ready.isEmpty
    let author: Int
    if let first = ready.popLast() {
      author = first
    } else {
      author = chains.firstIndex { $0.changes.count < $0.statements.count } ?? 0
      for other in waiting.indices { waiting[other].removeAll { $0.author == author } }
    }
    remaining -= 1
    let ordinal = chains[author].changes.count
    return Next(
      statement: chains[author].statements[ordinal], author: author, ordinal: UInt32(ordinal),
      isForced: isForced, isNews: chains[author].isNews)
  }

  /// Records the place of a change and continues the changes that were waiting for it.
  mutating func note(_ change: Int, for next: Next) {
    chains[next.author].changes.append(change)
    chains[next.author].cited = nil
    chains[next.author].wasForced = next.isForced
    let count = chains[next.author].changes.count
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
  func hasNoNews(_ next: Next) -> Bool {
    next.isNews && (chains[next.author].cited ?? []).allSatisfy { $0.author == next.author }
  }

  /// The last changes that a frontier covers, as far as they have a place.
  func changes(of frontier: Frontier) -> [Int] { changes(citations(frontier)) }

  private func changes(_ cited: [Citation]) -> [Int] {
    cited.compactMap { cited in
      let placed = min(cited.count, chains[cited.author].changes.count)
      return placed > 0 ? chains[cited.author].changes[placed - 1] : nil
    }
  }

  /// The number of changes of each author that a frontier covers.
  private func citations(
    _ frontier: Frontier, _ lacks: (Frontier.Entry) -> Void = { _ in }
  ) -> [Citation] {
    let isSparse = frontier.entries.count * 8 < chains.count
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
      let count = chains[place].count(through: entry.sequence)
      if count > 0 { found.append(Citation(author: place, count: count)) }
      if count == chains[place].sequences.count, entry.sequence > chains[place].sequences[count - 1]
      {
        lacks(entry)
      }
    }
    return found
  }

  /// Resolves the citations of an author's next change.
  private mutating func look(_ author: Int) {
    var missing = missing
    defer { self.missing = missing }
    func lacks(_ entry: Frontier.Entry) { missing.advance(entry.author, to: entry.sequence) }
    let done = chains[author].changes.count
    let known = statements[chains[author].statements[done]].known
    chains[author].isNews = false
    if done > 0, !chains[author].wasForced {
      let before = statements[chains[author].statements[done - 1]].known
      // Larger differences are resolved from the whole frontier, whose result is shared.
      let limit = max(8, (known.entries.count - 1) / 4)
      if let news = known.news(since: before, atMost: limit) {
        chains[author].isNews = true
        chains[author].cited = citations(news, lacks)
      }
    }
    if !chains[author].isNews {
      if self.known.frontier != known { self.known = (known, citations(known, lacks)) }
      chains[author].cited = self.known.cited
    }
    chains[author].left = chains[author].cited?.count ?? 0
  }

  /// Makes an author's next change ready, or waits for its last missing cause.
  private mutating func schedule(_ author: Int) {
    guard chains[author].changes.count < chains[author].statements.count else { return }
    if chains[author].cited == nil { look(author) }
    let cited = chains[author].cited ?? []
    var left = chains[author].left
    defer { chains[author].left = left }
    while left > 0 {
      let next = cited[left - 1]
      guard next.author == author || chains[next.author].changes.count >= next.count else {
        waiting[next.author].append((author, next.count))
        return
      }
      left -= 1
    }
    ready.append(author)
  }
}
