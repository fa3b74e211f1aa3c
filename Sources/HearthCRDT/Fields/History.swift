/// A register that keeps every value it ever had, so that a rule can query an author's past.
///
/// A point award pays the chore's price in the past of the completion, on every replica and in any
/// order of arrival. This needs the values that were overwritten meanwhile. Each entry names the
/// entries that it directly replaced, which is sufficient for any past.
package struct History: Equatable, Sendable {
  /// One written value.
  package struct Entry: Equatable, Sendable {
    /// The write.
    package let version: Version
    /// The written value.
    package let value: Value
    /// The entries that this one replaced, in order: those that were current for the author.
    package let replaced: [Dot]

    package init(version: Version, value: Value, replaced: [Dot]) {
      self.version = version
      self.value = value
      self.replaced = replaced
    }
  }

  /// The entries of one author, in order; there is at least one.
  private struct Run {
    let author: Author
    /// A number of the author that stays the same when further authors write.
    let number: Int
    var entries: [Entry] = []
    /// For each entry of an indexed history, the entries that replaced it.
    var replacers: [[Replacer]] = []

    var last: Dot { entries[entries.count - 1].version.dot }

    /// The position of the first entry from a sequence number on.
    func position(from sequence: UInt64) -> Int {
      entries.partitionPoint { $0.version.dot.sequence >= sequence }
    }
  }

  /// An entry that replaced another one, with its author by number.
  private struct Replacer {
    let author: Int
    let sequence: UInt64
  }

  /// The entries by author, in order of author.
  private var runs: [Run] = []
  /// The dots that no entry has replaced, in order.
  ///
  /// They follow from the entries. They are stored so that a write by an author who had seen all of
  /// them need not look at the entries.
  private var heads: [Dot] = []
  private var count = 0
  /// Whether ``Run/replacers`` is filled: a view of a part of a long history must not cost a look
  /// at all of it.
  private var isIndexed = false

  /// The most entries of several authors that are looked through for each view of a part of them.
  private static let maximumScan = 16

  /// All entries, in order of dot, including the replaced ones; O(n) if there are several authors.
  package var entries: [Entry] { runs.count == 1 ? runs[0].entries : runs.flatMap(\.entries) }

  /// Takes entries in any order, with at most one for each dot.
  package init(_ entries: [Entry] = []) {
    self.init(sortedEntries: entries.sorted { $0.version.dot < $1.version.dot })
  }

  init(sortedEntries: [Entry]) {
    for entry in sortedEntries {
      let author = entry.version.dot.author
      if runs.last?.author != author { runs.append(Run(author: author, number: runs.count)) }
      runs[runs.count - 1].entries.append(entry)
    }
    count = sortedEntries.count
    heads = sortedEntries.map(\.version.dot)
    if count > 1 {
      var replaced: Set<Dot> = []
      for entry in sortedEntries { replaced.formUnion(entry.replaced) }
      heads.removeAll { replaced.contains($0) }
    }
    indexIfLong()
  }

  /// Validates entries from outside, in order of dot.
  ///
  /// Each replaced dot must be another entry, and no entry may replace itself through others.
  /// Without the first rule, a query for a past would miss an entry. Without the second rule, a
  /// history with values could have no current value. O(n log n).
  init(checking entries: [Entry], at offset: Int) throws(CodecError) {
    self.init(sortedEntries: entries)
    func position(of dot: Dot) -> Int { entries.partitionPoint { $0.version.dot >= dot } }
    var replacers = [Int](repeating: 0, count: entries.count)
    for entry in entries {
      for dot in entry.replaced {
        let place = position(of: dot)
        guard place < entries.count, entries[place].version.dot == dot, dot != entry.version.dot
        else { throw CodecError(.notCanonical, "replaced", offset: offset) }
        replacers[place] += 1
      }
    }
    // Repeatedly removes entries that nothing replaces. Only cycles remain.
    var free = replacers.indices.filter { replacers[$0] == 0 }
    var count = 0
    while let next = free.popLast() {
      count += 1
      for dot in entries[next].replaced {
        let place = position(of: dot)
        replacers[place] -= 1
        if replacers[place] == 0 { free.append(place) }
      }
    }
    guard count == entries.count else {
      throw CodecError(.notCanonical, "replaced", offset: offset)
    }
  }

  /// Writes a value over everything in the writer's past.
  ///
  /// O(log n) for each author of values. If the writer had not seen all values, each author adds
  /// the entries that replaced the last value that the writer had seen of that author: at most one
  /// of each author.
  package mutating func assign(_ value: Value, version: Version, past: Frontier) {
    if let (run, place) = find(version.dot) {
      // A further write of the same change replaces the first one.
      runs[run].entries[place] = Entry(
        version: version, value: value, replaced: runs[run].entries[place].replaced)
      return
    }
    let isSeen = runs.allSatisfy { past.covers($0.last) }
    let replaced =
      Mutant.historyReplacesNothing.isActive
      ? [] : isSeen ? heads : current(in: past).map(\.version.dot)
    Probe.historyMerged.hit(if: replaced.count > 1)
    Probe.historyConcurrent.hit(if: !isSeen)
    insert(Entry(version: version, value: value, replaced: replaced))
    if isSeen, !Mutant.historyReplacesNothing.isActive {
      heads = [version.dot]
    } else {
      heads.removeAll { replaced.contains($0) }
      heads.insert(version.dot, at: heads.partitionPoint { $0 >= version.dot })
    }
  }

  private mutating func insert(_ entry: Entry) {
    let dot = entry.version.dot
    let run = position(of: dot.author)
    if run == runs.count || runs[run].author != dot.author {
      runs.insert(Run(author: dot.author, number: runs.count), at: run)
    }
    let place = runs[run].position(from: dot.sequence)
    runs[run].entries.insert(entry, at: place)
    count += 1
    guard isIndexed else { return indexIfLong() }
    runs[run].replacers.insert([], at: place)
    note(entry, of: runs[run].number)
  }

  /// Fills the replacers once there are too many entries to look through.
  ///
  /// With one author there is nothing to look up: of the entries seen, the last one is current.
  private mutating func indexIfLong() {
    guard count > History.maximumScan, runs.count > 1 else { return }
    isIndexed = true
    for run in runs.indices {
      runs[run].replacers = [[Replacer]](repeating: [], count: runs[run].entries.count)
    }
    for run in runs.indices {
      for entry in runs[run].entries { note(entry, of: runs[run].number) }
    }
  }

  /// Notes what an entry has replaced.
  private mutating func note(_ entry: Entry, of number: Int) {
    for dot in entry.replaced {
      guard let (run, place) = find(dot) else { continue }
      runs[run].replacers[place].append(
        Replacer(author: number, sequence: entry.version.dot.sequence))
    }
  }

  /// Whether a change may write: its author has not reached the limit of values.
  ///
  /// All values of this author are before this one, since one author's changes arrive in order.
  func accepts(_ dot: Dot, atMost limit: Int) -> Bool {
    let run = position(of: dot.author)
    guard run < runs.count, runs[run].author == dot.author else { return limit > 0 }
    return find(dot) != nil || runs[run].position(from: dot.sequence) < limit
  }

  /// The position of an author's run, or the position where it would be inserted.
  private func position(of author: Author) -> Int { runs.partitionPoint { $0.author >= author } }

  private func find(_ dot: Dot) -> (run: Int, place: Int)? {
    let run = position(of: dot.author)
    guard run < runs.count, runs[run].author == dot.author else { return nil }
    let place = runs[run].position(from: dot.sequence)
    guard place < runs[run].entries.count, runs[run].entries[place].version.dot == dot else {
      return nil
    }
    return (run, place)
  }

  /// The values that nothing has replaced, in order of dot; several if they are concurrent.
  package var current: [Entry] {
    heads.compactMap { dot in find(dot).map { runs[$0.run].entries[$0.place] } }
  }

  /// The displayed value: the current one with the greatest version.
  package var shown: Entry? { current.max { $0.version < $1.version } }

  /// The value displayed to an author with this past.
  package func shown(asOf past: Frontier) -> Entry? {
    current(in: past).max { $0.version < $1.version }
  }

  /// The value displayed to an author with this past, of those that fit.
  ///
  /// A value that does not fit counts as never written: where no concurrent one fits, those that it
  /// replaced are looked at.
  package func shown(asOf past: Frontier, where fits: (Value) -> Bool) -> Entry? {
    var candidates = current(in: past)
    var known = Set(candidates.map(\.version.dot))
    while !candidates.isEmpty {
      let fitting = candidates.filter { fits($0.value) }
      if let shown = fitting.max(by: { $0.version < $1.version }) { return shown }
      let replaced = candidates.flatMap(\.replaced).filter { known.insert($0).inserted }
      candidates = replaced.compactMap { dot in
        find(dot).map { runs[$0.run].entries[$0.place] }
      }
    }
    return nil
  }

  /// The union of two copies: commutative, associative and idempotent.
  package func joined(with other: History) -> History {
    History(entries + other.entries.filter { find($0.version.dot) == nil })
  }

  /// The values within a frontier that nothing within it has replaced.
  private func current(in past: Frontier) -> [Entry] {
    // An author's later value has replaced the author's earlier one, or an entry that had replaced
    // it. So only the last value of each author within the frontier can be one.
    var last: [(run: Int, place: Int)] = []
    var marks = [UInt64](repeating: 0, count: runs.count)
    var isAllSeen = true
    for run in runs.indices {
      let mark = past[runs[run].author]
      marks[runs[run].number] = mark
      let isWhole = runs[run].last.sequence <= mark
      let seen = isWhole ? runs[run].entries.count : runs[run].position(from: mark + 1)
      if !isWhole { isAllSeen = false }
      if seen > 0 { last.append((run, seen - 1)) }
    }
    if isAllSeen { return current }
    func entry(_ place: (run: Int, place: Int)) -> Entry { runs[place.run].entries[place.place] }
    guard last.count > 1 else { return last.map(entry) }
    if isIndexed {
      return last.filter { place in
        !runs[place.run].replacers[place.place].contains { $0.sequence <= marks[$0.author] }
      }.map(entry)
    }
    var replaced: Set<Dot> = []
    for place in last {
      for entry in runs[place.run].entries[...place.place] { replaced.formUnion(entry.replaced) }
    }
    return last.map(entry).filter { !replaced.contains($0.version.dot) }
  }
}

extension History {
  /// Whether two histories have the same entries, in whatever order they arose.
  package static func == (left: History, right: History) -> Bool {
    left.runs.count == right.runs.count
      && zip(left.runs, right.runs).allSatisfy { $0.entries == $1.entries }
  }
}
