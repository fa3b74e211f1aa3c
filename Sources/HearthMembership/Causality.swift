import HearthCRDT

/// Who had seen what in a control log, closed under what those had seen.
///
/// One row a change: for each author of whom something had been seen, how many changes. A row
/// covers the rows of everything that it cites, so nobody can cite an operation and unsee what that
/// one had seen.
///
/// Building takes O(c·r) for c changes and rows of r marks; a question takes O(1), or O(log r) in a
/// log of so many strangers that ``CausalRows`` hold no zeros.
struct Causality: Sendable {
  /// A change as its author states it.
  struct Statement {
    let position: Dot
    /// What the author states to have seen, less what earlier incarnations add.
    let stated: Frontier
    /// The same with what the author is known to have seen.
    let known: Frontier

    /// The same without what earlier incarnations add.
    var asStated: Statement { Statement(position: position, stated: stated, known: stated) }
  }

  /// The changes in causal order; ties by author and sequence number.
  private(set) var order: [Dot] = []
  /// The number of each change in the order: one more than the greatest of those it had seen.
  private(set) var lamport: [Int] = []
  /// Whether the author stated to have seen something without what that had seen.
  private(set) var isOpen: [Bool] = []
  /// The author of each change, numbered in order of their first changes.
  private(set) var column: [Int] = []
  /// The place of each change in its author's log, from 0.
  private var ordinal: [UInt32] = []
  /// The last change of each author.
  private var last: [Int] = []
  /// The number of each author.
  private var columns: [Author: Int] = [:]
  private var rows: CausalRows

  /// Takes the statements of all changes, each position once.
  ///
  /// - Parameter isChecked: whether statements that are not closed are to be told.
  init(_ statements: [Statement], isChecked: Bool) {
    var builder = CausalityBuilder(statements)
    rows = CausalRows(changes: statements.count, authors: builder.authors)
    var row = rows.row()
    var stated = rows.row()
    while let next = builder.next() {
      let statement = statements[next.statement]
      let last = builder.last(of: next.author, before: next.ordinal)
      let own = last.map { column[$0] } ?? self.last.count
      let cited = builder.changes(of: statement.known, except: next.author)
      var greatest = 0
      if let last {
        rows.join(last, into: &row)
        row.raise(own, to: next.ordinal)
        greatest = lamport[last]
      }
      for change in cited where row[column[change]] <= ordinal[change] {
        // What was seen before was joined before, with all that it had seen.
        row.raise(column[change], to: ordinal[change] + 1)
        rows.join(change, into: &row)
        greatest = max(greatest, lamport[change])
      }
      if isChecked {
        state(statement, cited, of: next, builder, into: &stated)
        // What an earlier operation had shown to know is not to be stated again.
        if let last, !isOpen[last] { rows.join(last, into: &stated) }
        stated.raise(own, to: .max)
      }
      note(
        statement.position, own, next.ordinal, lamport: greatest + 1,
        isOpen: isChecked && (next.isForced || !stated.covers(row)))
      rows.append(row)
      stated.clear()
      row.clear()
      builder.note(order.count - 1, for: next)
    }
  }

  private mutating func note(
    _ position: Dot, _ own: Int, _ ordinal: UInt32, lamport number: Int, isOpen isLie: Bool
  ) {
    isOpen.append(isLie)
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

  /// Whether one change had seen another.
  func sees(_ later: Int, _ earlier: Int) -> Bool {
    rows.count(of: column[earlier], in: later) > ordinal[earlier]
  }

  /// How many changes of an author a change had seen.
  func count(of author: Int, seenBy change: Int) -> Int {
    Int(rows.count(of: author, in: change))
  }

  /// The author of a number, if it has a change.
  func number(of author: Author) -> Int? { columns[author] }

  /// Whether somebody who had seen so much had seen every change, the author's own aside.
  func isAll(_ seen: Frontier, except author: Author) -> Bool {
    last.allSatisfy { order[$0].author == author || seen.covers(order[$0]) }
  }

  /// Adds a change whose author had seen every other one.
  ///
  /// O(a) for a authors, but for copies.
  mutating func append(_ position: Dot) {
    var row = rows.row()
    for change in last { row.raise(column[change], to: ordinal[change] + 1) }
    let own = columns[position.author] ?? last.count
    let number = (last.map { lamport[$0] }.max() ?? 0) + 1
    note(position, own, row[own], lamport: number, isOpen: false)
    rows.append(row)
  }

  /// Marks what an author stated, and what its earlier incarnations had shown to know.
  private func state(
    _ statement: Statement, _ cited: [Int], of next: CausalityBuilder.Next,
    _ builder: CausalityBuilder, into row: inout CausalRows.Row
  ) {
    guard statement.known != statement.stated else {
      for change in cited { row.raise(column[change], to: ordinal[change] + 1) }
      return
    }
    for change in builder.changes(of: statement.stated, except: next.author) {
      row.raise(column[change], to: ordinal[change] + 1)
    }
    let more = statement.known.entries.filter { $0.sequence > statement.stated[$0.author] }
    let added = Frontier(more.map { ($0.author, $0.sequence) })
    for change in builder.changes(of: added, except: next.author) {
      row.raise(column[change], to: ordinal[change] + 1)
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
  }

  private struct Chain {
    let author: Author
    var sequences: [UInt64] = []
    var statements: [Int] = []
    /// The changes in the order, as far as they have their place.
    var changes: [Int] = []
    /// How many entries of the next change's statement have their place, so that no entry is looked
    /// at twice while the change waits.
    var done = 0
  }

  private let statements: [Causality.Statement]
  private var chains: [Chain] = []
  /// Authors whose next change may come, least last.
  private var ready: [Int] = []
  /// Authors that wait for a number of changes of another.
  private var waiting: [[(author: Int, count: Int)]] = []
  private var remaining: Int

  init(_ statements: [Causality.Statement]) {
    self.statements = statements
    remaining = statements.count
    let sorted = statements.indices.sorted {
      statements[$0].position < statements[$1].position
    }
    for statement in sorted {
      let position = statements[statement].position
      if chains.last?.author != position.author { chains.append(Chain(author: position.author)) }
      chains[chains.count - 1].sequences.append(position.sequence)
      chains[chains.count - 1].statements.append(statement)
    }
    waiting = Array(repeating: [], count: chains.count)
    for author in chains.indices.reversed() { schedule(author) }
  }

  /// How many authors there are.
  var authors: Int { chains.count }

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
      isForced: isForced)
  }

  /// Notes the place of a change, and lets those go on that waited for it.
  mutating func note(_ change: Int, for next: Next) {
    chains[next.author].changes.append(change)
    chains[next.author].done = 0
    let count = chains[next.author].changes.count
    var woken: [Int] = []
    waiting[next.author].removeAll { waiter in
      guard waiter.count <= count else { return false }
      woken.append(waiter.author)
      return true
    }
    schedule(next.author)
    for author in woken { schedule(author) }
  }

  /// The last changes of others that a frontier covers, as far as they have their place.
  func changes(of frontier: Frontier, except own: Int) -> [Int] {
    var found: [Int] = []
    forEachCited(frontier, from: 0) { _, author, count in
      let placed = min(count, chains[author].changes.count)
      if placed > 0, author != own { found.append(chains[author].changes[placed - 1]) }
      return true
    }
    return found
  }

  /// Calls the body with each entry's number, the cited author and how many of its changes are
  /// cited, while it agrees.
  private func forEachCited(
    _ frontier: Frontier, from start: Int, _ body: (Int, Int, Int) -> Bool
  ) {
    let isSparse = start > 0 || frontier.entries.count * 8 < chains.count
    var walk = 0
    for number in start..<frontier.entries.count {
      let entry = frontier.entries[number]
      let place: Int
      if isSparse {
        place = chains.partitionPoint { !($0.author < entry.author) }
      } else {
        while walk < chains.count, chains[walk].author < entry.author { walk += 1 }
        place = walk
      }
      guard place < chains.count else { return }
      guard chains[place].author == entry.author else { continue }
      let sequences = chains[place].sequences
      // Logs have no gaps as a rule: the place follows from the number.
      let guess = Int(clamping: min(entry.sequence, UInt64(sequences.count)))
      let isExact =
        guess > 0 && sequences[guess - 1] <= entry.sequence
        && (guess == sequences.count || sequences[guess] > entry.sequence)
      let count = isExact ? guess : sequences.partitionPoint { $0 > entry.sequence }
      guard count > 0 else { continue }
      guard body(number, place, count) else { return }
    }
  }

  /// Makes an author's next change ready, or lets it wait for the first thing it lacks.
  private mutating func schedule(_ author: Int) {
    let done = chains[author].changes.count
    guard done < chains[author].statements.count else { return }
    let statement = statements[chains[author].statements[done]]
    var lacks: (author: Int, count: Int)?
    var reached = chains[author].done
    forEachCited(statement.known, from: reached) { number, cited, count in
      reached = number
      guard cited != author, chains[cited].changes.count < count else { return true }
      lacks = (cited, count)
      return false
    }
    chains[author].done = reached
    if let lacks {
      waiting[lacks.author].append((author, lacks.count))
    } else {
      ready.append(author)
    }
  }
}
