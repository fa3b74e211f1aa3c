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

  /// All entries, in order of dot, including the replaced ones.
  package private(set) var entries: [Entry]
  /// The dots that no entry has replaced, in order.
  ///
  /// They follow from the entries. They are stored so that a write by an author who had seen all of
  /// them need not scan the entries.
  private var heads: [Dot]

  /// Takes entries in any order, with at most one for each dot.
  package init(_ entries: [Entry] = []) {
    self.init(sortedEntries: entries.sorted { $0.version.dot < $1.version.dot })
  }

  init(sortedEntries: [Entry]) {
    entries = sortedEntries
    heads = sortedEntries.map(\.version.dot)
    if entries.count > 1 {
      var replaced: Set<Dot> = []
      for entry in entries { replaced.formUnion(entry.replaced) }
      heads.removeAll { replaced.contains($0) }
    }
  }

  /// Validates entries from outside, in order of dot.
  ///
  /// Each replaced dot must be another entry, and no entry may replace itself through others.
  /// Without the first rule, a query for a past would miss an entry. Without the second rule, a
  /// history with values could have no current value. O(n log n).
  init(checking entries: [Entry], at offset: Int) throws(CodecError) {
    self.init(sortedEntries: entries)
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
  /// O(log n) for each author of values if the writer saw all values, as almost every writer did.
  /// The same holds for a further write of the same change, which replaces the first one. Otherwise
  /// O(n).
  package mutating func assign(_ value: Value, version: Version, past: Frontier) {
    let place = position(of: version.dot)
    if place < entries.count, entries[place].version.dot == version.dot {
      entries[place] = Entry(version: version, value: value, replaced: entries[place].replaced)
      return
    }
    let isSeen = isAllSeen(by: past)
    let replaced =
      Mutant.historyReplacesNothing.isActive
      ? [] : isSeen ? heads : current(in: past).map(\.version.dot)
    Probe.historyMerged.hit(if: replaced.count > 1)
    Probe.historyConcurrent.hit(if: !isSeen)
    entries.insert(Entry(version: version, value: value, replaced: replaced), at: place)
    if isSeen, !Mutant.historyReplacesNothing.isActive {
      heads = [version.dot]
    } else {
      heads.removeAll { replaced.contains($0) }
      heads.append(version.dot)
      heads.sort()
    }
  }

  /// Whether a change may write: its author has not reached the limit of values.
  ///
  /// All values of this author are before this one, since one author's changes arrive in order.
  func accepts(_ dot: Dot, atMost limit: Int) -> Bool {
    let place = position(of: dot)
    let isRewritten = place < entries.count && entries[place].version.dot == dot
    return isRewritten || place - position(of: Dot(author: dot.author, sequence: 0)) < limit
  }

  private func position(of dot: Dot) -> Int {
    entries.partitionPoint { $0.version.dot >= dot }
  }

  /// The ranges of each author's entries that a frontier covers.
  private func seen(by past: Frontier) -> [(seen: Range<Int>, all: Range<Int>)] {
    var runs: [(seen: Range<Int>, all: Range<Int>)] = []
    var start = 0
    while start < entries.count {
      let author = entries[start].version.dot.author
      let end = position(of: Dot(author: author, sequence: .max))
      let mark = past[author]
      let seen = mark == .max ? end : position(of: Dot(author: author, sequence: mark + 1))
      runs.append((start..<min(seen, end), start..<end))
      start = end
    }
    return runs
  }

  private func isAllSeen(by past: Frontier) -> Bool {
    seen(by: past).allSatisfy { $0.seen.upperBound == $0.all.upperBound }
  }

  /// The values that nothing has replaced, in order of dot; several if they are concurrent.
  package var current: [Entry] { heads.map { entries[position(of: $0)] } }

  /// The displayed value: the current one with the greatest version.
  package var shown: Entry? { current.max { $0.version < $1.version } }

  /// The value displayed to an author with this past.
  package func shown(asOf past: Frontier) -> Entry? {
    current(in: past).max { $0.version < $1.version }
  }

  /// The union of two copies: commutative, associative and idempotent.
  package func joined(with other: History) -> History {
    History(
      entries
        + other.entries.filter {
          let place = position(of: $0.version.dot)
          return place == entries.count || entries[place].version.dot != $0.version.dot
        })
  }

  /// The values within a frontier that nothing within it has replaced.
  private func current(in past: Frontier) -> [Entry] {
    let runs = seen(by: past)
    if runs.allSatisfy({ $0.seen.upperBound == $0.all.upperBound }) { return current }
    // An author's later value has replaced the author's earlier one, or an entry that had replaced
    // it.
    let last = runs.compactMap { run in
      run.seen.isEmpty ? nil : entries[run.seen.upperBound - 1].version.dot
    }
    var candidates = Set(last)
    guard last.count > 1 else { return last.map { entries[position(of: $0)] } }
    for run in runs where !candidates.isEmpty {
      for place in run.seen {
        for dot in entries[place].replaced { candidates.remove(dot) }
      }
    }
    return candidates.sorted().map { entries[position(of: $0)] }
  }
}
