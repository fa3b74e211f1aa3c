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

  /// Writes a value over everything in the writer's past.
  package mutating func assign(_ value: Value, version: Version, past: Frontier) {
    let replaced = current(in: { past.covers($0) }).map(\.version.dot)
    let entry = Entry(version: version, value: value, replaced: replaced)
    entries.removeAll { $0.version.dot == version.dot }
    let place = entries.firstIndex { version.dot < $0.version.dot } ?? entries.count
    entries.insert(entry, at: place)
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
    let known = entries.map(\.version.dot)
    return History(entries + other.entries.filter { !known.contains($0.version.dot) })
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
