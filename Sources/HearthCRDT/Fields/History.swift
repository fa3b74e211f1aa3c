/// A register that keeps every value it ever had, so that a rule can ask what somebody had seen.
///
/// A point award pays what the chore cost in the past of the completion, on every replica and
/// whatever arrived first; that needs the values that were overwritten meanwhile. Each entry names
/// the entries it directly replaced, which is enough to answer for any past.
package struct History: Equatable, Sendable {
  /// One value that was written.
  package struct Entry: Equatable, Sendable {
    /// The write.
    package let version: Version
    /// What was written.
    package let value: Value
    /// The entries that were current for the author, in order: those this one replaced.
    package let replaced: [Dot]

    package init(version: Version, value: Value, replaced: [Dot]) {
      self.version = version
      self.value = value
      self.replaced = replaced
    }
  }

  /// Every value, in order of dot.
  package private(set) var entries: [Entry]

  /// Takes entries in any order, without two of one dot.
  package init(_ entries: [Entry] = []) {
    self.entries = entries.sorted { $0.version.dot < $1.version.dot }
  }

  init(sortedEntries: [Entry]) {
    entries = sortedEntries
  }

  /// Writes a value over everything in the writer's past.
  ///
  /// O(n), and O(log n) for a further write of the same change, which replaces the first one.
  package mutating func assign(_ value: Value, version: Version, past: Frontier) {
    let place = position(of: version.dot)
    if place < entries.count, entries[place].version.dot == version.dot {
      entries[place] = Entry(version: version, value: value, replaced: entries[place].replaced)
      return
    }
    let replaced =
      Mutant.historyReplacesNothing.isActive
      ? [] : current(in: { past.covers($0) }).map(\.version.dot)
    Probe.historyMerged.hit(if: replaced.count > 1)
    Probe.historyConcurrent.hit(if: !entries.allSatisfy({ past.covers($0.version.dot) }))
    entries.insert(Entry(version: version, value: value, replaced: replaced), at: place)
  }

  private func position(of dot: Dot) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].version.dot < dot { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The values that nothing has replaced, in order of dot; more than one where concurrent.
  package var current: [Entry] { current(in: { _ in true }) }

  /// The value that is shown: the current one of the greatest version.
  package var shown: Entry? { current.max { $0.version < $1.version } }

  /// The value that somebody with this knowledge saw.
  package func shown(asOf past: Frontier) -> Entry? {
    current(in: { past.covers($0) }).max { $0.version < $1.version }
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

  private func current(in isSeen: (Dot) -> Bool) -> [Entry] {
    let seen = entries.filter { isSeen($0.version.dot) }
    guard seen.count > 1 else { return seen }
    var replaced: Set<Dot> = []
    for entry in seen {
      replaced.formUnion(entry.replaced)
    }
    return seen.filter { !replaced.contains($0.version.dot) }
  }
}
