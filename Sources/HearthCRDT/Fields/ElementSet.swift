/// An add-wins set: a removal takes away exactly the additions its author had seen.
///
/// Source: Bieniusa et al., "An optimized conflict-free replicated set" (2012).
package struct ElementSet: Equatable, Sendable {
  /// One element and the additions that keep it in.
  package struct Element: Equatable, Sendable {
    /// The element.
    package let value: Value
    /// The additions that no removal has seen, in order; at least one.
    package internal(set) var additions: [Dot]

    package init(value: Value, additions: [Dot]) {
      self.value = value
      self.additions = additions.sorted()
    }
  }

  /// The elements in order of their canonical bytes.
  package private(set) var elements: [Element]

  /// Takes elements in any order, without doubles.
  package init(_ elements: [Element] = []) {
    self.elements = elements.sorted { ElementSet.precedes($0.value, $1.value) }
  }

  /// The elements' values, in order of their canonical bytes.
  package var values: [Value] { elements.map(\.value) }

  /// Adds an element; it takes the place of the additions the author had seen.
  package mutating func include(_ value: Value, dot: Dot, past: Frontier) {
    if let place = elements.firstIndex(where: { $0.value == value }) {
      elements[place].additions.removeAll { past.covers($0) || $0 == dot }
      elements[place].additions.append(dot)
      elements[place].additions.sort()
    } else {
      let place = elements.firstIndex { ElementSet.precedes(value, $0.value) } ?? elements.count
      elements.insert(Element(value: value, additions: [dot]), at: place)
    }
  }

  /// Removes the additions of an element that the author had seen, its own of this change too.
  package mutating func exclude(_ value: Value, dot: Dot, past: Frontier) {
    guard let place = elements.firstIndex(where: { $0.value == value }) else { return }
    elements[place].additions.removeAll { past.covers($0) || $0 == dot }
    if elements[place].additions.isEmpty {
      elements.remove(at: place)
    }
  }

  /// Merges two copies, given what each replica knows: commutative, associative, idempotent.
  package static func joined(
    _ left: ElementSet, knowing leftKnows: Frontier, _ right: ElementSet,
    knowing rightKnows: Frontier
  ) -> ElementSet {
    var result: [Element] = []
    for element in left.elements {
      let twins = right.elements.first { $0.value == element.value }?.additions ?? []
      var kept = element.additions.filter { twins.contains($0) || !rightKnows.covers($0) }
      kept += twins.filter { !element.additions.contains($0) && !leftKnows.covers($0) }
      if !kept.isEmpty { result.append(Element(value: element.value, additions: kept)) }
    }
    for element in right.elements
    where !left.elements.contains(where: { $0.value == element.value }) {
      let kept = element.additions.filter { !leftKnows.covers($0) }
      if !kept.isEmpty { result.append(Element(value: element.value, additions: kept)) }
    }
    return ElementSet(result)
  }

  /// The order of canonical bytes.
  static func precedes(_ left: Value, _ right: Value) -> Bool {
    canonicalBytes(left).lexicographicallyPrecedes(canonicalBytes(right))
  }

  private static func canonicalBytes(_ value: Value) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.value(value)
    return writer.bytes
  }
}
