/// One value of a register that no later write has seen.
package struct Sibling: Equatable, Sendable {
  /// The write.
  package let version: Version
  /// The written value; nil while it is in the store's typed column and has not been read.
  ///
  /// A merge needs only the versions, so a store may leave the displayed value in its column. It
  /// must supply the value before another value is displayed (``Register/isPartial``).
  package var value: Value?

  package init(version: Version, value: Value?) {
    self.version = version
    self.value = value
  }
}

/// A multi-value register: a write replaces exactly the values that its author had seen.
///
/// A wrong clock can therefore win a tie between concurrent writes, but never erase a later edit.
/// Source: Shapiro et al., "A comprehensive study of CRDTs" (2011), 3.2.2, with dots in place of
/// version vectors per value.
package struct Register: Equatable, Sendable {
  /// The displayed value: the one with the greatest version.
  package private(set) var shown: Sibling
  /// Concurrent values that lost the tie, in order of dot; usually none.
  package private(set) var others: [Sibling]

  /// Makes a register with one write.
  package init(_ sibling: Sibling) {
    shown = sibling
    others = []
  }

  init(shown: Sibling, sortedOthers: [Sibling]) {
    self.shown = shown
    others = sortedOthers
  }

  /// Takes siblings in any order; nil if there are none.
  package init?(_ siblings: [Sibling]) {
    guard let shown = siblings.max(by: { $0.version < $1.version }) else { return nil }
    self.shown = shown
    others = siblings.filter { $0.version.dot != shown.version.dot }
      .sorted { $0.version.dot < $1.version.dot }
  }

  /// All values, the displayed one first.
  package var siblings: [Sibling] { [shown] + others }

  /// Whether the displayed value has not been read from the store's column.
  package var isPartial: Bool { shown.value == nil }

  /// Supplies the displayed value.
  package mutating func supply(_ value: Value) {
    shown.value = value
  }

  /// Whether the displayed value survives a write by an author with this past.
  package func staysConcurrent(to past: Frontier) -> Bool {
    !past.covers(shown.version.dot)
  }

  /// Writes a value over everything in the writer's past.
  package mutating func assign(_ value: Value, version: Version, past: Frontier) {
    let written = Sibling(version: version, value: value)
    if others.isEmpty, past.covers(shown.version.dot) || shown.version.dot == version.dot {
      shown = written
      return
    }
    if Mutant.coversUnseen.isActive { return self = Register(written) }
    Probe.siblingMade.hit()
    let rest = siblings.filter {
      !past.covers($0.version.dot) && $0.version.dot != version.dot
    }
    Probe.siblingCovered.hit(if: rest.count < siblings.count)
    Probe.severalSiblings.hit(if: rest.count > 1)
    if let merged = Register(rest + [written]) {
      self = merged
    }
    if Mutant.tieByArrival.isActive { shown.value = value }
  }

  /// Merges two copies, given the knowledge of each replica.
  ///
  /// Commutative, associative and idempotent. Nil if every value was overwritten on the other side.
  package static func joined(
    _ left: Register?, knowing leftKnows: Frontier, _ right: Register?, knowing rightKnows: Frontier
  ) -> Register? {
    let ours = left?.siblings ?? []
    let theirs = right?.siblings ?? []
    var result: [Sibling] = []
    for var sibling in ours {
      let twin = theirs.first { $0.version.dot == sibling.version.dot }
      guard twin != nil || !rightKnows.covers(sibling.version.dot) else { continue }
      sibling.value = sibling.value ?? twin?.value
      result.append(sibling)
    }
    for sibling in theirs where !leftKnows.covers(sibling.version.dot) {
      guard !ours.contains(where: { $0.version.dot == sibling.version.dot }) else { continue }
      result.append(sibling)
    }
    return Register(result)
  }
}
