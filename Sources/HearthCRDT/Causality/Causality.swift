/// Who had seen what in a log of changes by several authors, closed under what those had seen.
///
/// One row a change: for each author of whom something had been seen, how many changes. A row
/// covers the rows of everything that it cites, so nobody can cite an operation and unsee what that
/// one had seen.
///
/// Building takes O(c·r) for c changes and rows of r blocks, and what changes newly saw; a question
/// takes O(1).
@usableFromInline package struct Causality: Sendable {
  /// A change as its author states it.
  package struct Statement {
    let position: Dot
    /// What the author states to have seen, less what earlier incarnations add.
    let stated: Frontier
    /// The same with what the author is known to have seen.
    let known: Frontier

    package init(position: Dot, stated: Frontier, known: Frontier) {
      self.position = position
      self.stated = stated
      self.known = known
    }

    /// Whether its author is known to have seen more than they state.
    package var hasMore: Bool { known != stated }

    /// The same without what earlier incarnations add.
    package var asStated: Statement { Statement(position: position, stated: stated, known: stated) }
  }

  /// The changes in causal order; ties by author and sequence number.
  package private(set) var order: [Dot] = []
  /// The number of each change in the order: one more than the greatest of those it had seen.
  package private(set) var lamport: [Int] = []
  /// Whether the author stated to have seen something without what that had seen.
  package private(set) var isOpen: [Bool] = []
  /// The author of each change, numbered in order of their first changes.
  @usableFromInline package private(set) var column: [Int] = []
  /// The first change of its author that had seen just as much of others.
  package private(set) var sight: [Int] = []
  /// The place of each change in its author's log, from 0.
  @usableFromInline private(set) var ordinal: [UInt32] = []
  /// The last change of each author.
  private var last: [Int] = []
  /// What is cited and not here.
  private var missing = Frontier()
  /// The number of each author.
  private var columns: [Author: Int] = [:]
  @usableFromInline private(set) var rows: CausalRows

  /// Takes the statements of all changes, each position once.
  ///
  /// - Parameters:
  ///   - isChecked: whether statements that are not closed are to be told.
  ///   - placed: gets the number of each statement in the order of the changes.
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
          // What an earlier operation had shown to know is not to be stated again.
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

  /// Those who had seen the same, without anything left out.
  private struct Crowd {
    var row: CausalRows.Row
    var cause: Frontier?
    var lamport = 0
  }

  /// Adds changes with all that they had seen, and tells the greatest of their numbers.
  private func join(_ cited: [Int], into row: inout CausalRows.Row, _ greatest: inout Int) {
    // What was seen before was joined before, with all that it had seen.
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

  /// How many authors there are.
  package var authorCount: Int { last.count }

  /// Whether one change had seen another.
  @inlinable package func sees(_ later: Int, _ earlier: Int) -> Bool {
    rows.count(of: column[earlier], in: later) > ordinal[earlier]
  }

  /// A row of nothing, to join rows into.
  package func row() -> CausalRows.Row { rows.row() }

  /// Adds what a change had seen to a row.
  package func join(_ change: Int, into row: inout CausalRows.Row) { rows.join(change, into: &row) }

  /// Whether a row holds a change.
  @inlinable package func isSeen(_ change: Int, in row: CausalRows.Row) -> Bool {
    rows.count(of: column[change], in: row) > ordinal[change]
  }

  /// Whether a row holds all changes of an author before one, and not that one.
  package func isNext(_ change: Int, in row: CausalRows.Row) -> Bool {
    rows.count(of: column[change], in: row) == ordinal[change]
  }

  /// Whether somebody who had seen so much had seen every change, the author's own aside.
  package func isAll(_ seen: Frontier, except author: Author) -> Bool {
    last.allSatisfy { order[$0].author == author || seen.covers(order[$0]) }
  }

  /// Adds a change whose author had seen every other one.
  ///
  /// O(a) for a authors, but for copies.
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

  /// Whether a change may come after all others: nobody has cited it, and its device has no other
  /// life, and no later change in this one.
  package func mayFollow(_ position: Dot) -> Bool {
    !missing.covers(position)
      && last.allSatisfy { change in
        let dot = order[change]
        return dot.author.device != position.author.device
          || dot.author == position.author && dot.sequence < position.sequence
      }
  }

  /// Marks what an author stated, and what its earlier incarnations had shown to know.
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
/// A change comes after everything that its author states to have seen. Statements that lead back
/// to themselves are lies; the first of those in order of author goes on without what is missing.
struct CausalityBuilder {
  /// The next change in the order.
  struct Next {
    let statement: Int
    let author: Int
    let ordinal: UInt32
    /// Whether it comes before something that it states to have seen.
    let isForced: Bool
    /// Whether only what its author's last change had not seen is noted of what it cites.
    let isNews: Bool
  }

  /// So many changes of an author.
  private struct Citation {
    let author: Int
    let count: Int
  }

  private struct Chain {
    var sequences: [UInt64] = []
    var statements: [Int] = []
    /// The changes in the order, as far as they have their place.
    var changes: [Int] = []
    /// What the next change cites, if that was looked up.
    var cited: [Citation]?
    /// Whether that is only what the last change had not seen.
    var isNews = false
    /// How many of these are not known to have their place, so that none is looked at twice while
    /// the change waits.
    var left = 0
    /// Whether the last change came before something that it states to have seen.
    var wasForced = false

    /// How many changes there are up to a number.
    func count(through sequence: UInt64) -> Int {
      // Logs have no gaps as a rule: the place follows from the number.
      let guess = Int(clamping: min(sequence, UInt64(sequences.count)))
      let isExact =
        guess > 0 && sequences[guess - 1] <= sequence
        && (guess == sequences.count || sequences[guess] > sequence)
      return isExact ? guess : sequences.partitionPoint { $0 > sequence }
    }
  }

  private let statements: [Causality.Statement]
  private var chains: [Chain] = []
  /// Their authors.
  private var authors: [Author] = []
  /// Authors whose next change may come, least last.
  private var ready: [Int] = []
  /// Authors that wait for a number of changes of another.
  private var waiting: [[(author: Int, count: Int)]] = []
  private var remaining: Int
  /// What is cited and not here.
  private(set) var missing = Frontier()
  /// What was looked up last, as many cite the same.
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

  /// The change of an author before its ordinal-th, in the order.
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

  /// Notes the place of a change, and lets those go on that waited for it.
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

  /// The last changes that the next one of an author cites, as far as they have their place.
  func cited(by next: Next) -> [Int] { changes(chains[next.author].cited ?? []) }

  /// Whether an author's next change cites nothing of others that the one before had not cited.
  func hasNoNews(_ next: Next) -> Bool {
    next.isNews && (chains[next.author].cited ?? []).allSatisfy { $0.author == next.author }
  }

  /// The last changes that a frontier covers, as far as they have their place.
  func changes(of frontier: Frontier) -> [Int] { changes(citations(frontier)) }

  private func changes(_ cited: [Citation]) -> [Int] {
    cited.compactMap { cited in
      let placed = min(cited.count, chains[cited.author].changes.count)
      return placed > 0 ? chains[cited.author].changes[placed - 1] : nil
    }
  }

  /// How many changes of which authors a frontier covers.
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

  /// Looks up what an author's next change cites.
  private mutating func look(_ author: Int) {
    var missing = missing
    defer { self.missing = missing }
    func lacks(_ entry: Frontier.Entry) { missing.advance(entry.author, to: entry.sequence) }
    let done = chains[author].changes.count
    let known = statements[chains[author].statements[done]].known
    chains[author].isNews = false
    if done > 0, !chains[author].wasForced {
      let before = statements[chains[author].statements[done - 1]].known
      // More than a part of it is looked up with what others cite.
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

  /// Makes an author's next change ready, or lets it wait for the last thing it lacks.
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
