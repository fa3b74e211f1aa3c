/// An add-wins set: a removal removes exactly the additions that its author had seen.
///
/// Source: Bieniusa et al., "An optimized conflict-free replicated set" (2012).
package struct ElementSet: Equatable, Sendable {
  /// One element with the additions that keep it in the set.
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
  private var sorted: SortedPieces<Element>

  /// Takes elements in any order, without duplicates.
  package init(_ elements: [Element] = []) {
    self.init(sortedElements: elements.sorted { ElementSet.precedes($0.value, $1.value) })
  }

  init(sortedElements: [Element]) {
    sorted = SortedPieces(sortedElements)
  }

  /// The elements in order of their canonical bytes; O(n) if there are many.
  package var elements: [Element] { sorted.items }

  /// The elements' values, in order of their canonical bytes.
  package var values: [Value] { elements.map(\.value) }

  /// Adds an element.
  ///
  /// The addition replaces the additions that its author had seen.
  ///
  /// O(log n) amortised.
  package mutating func include(_ value: Value, dot: Dot, past: Frontier) {
    let place = place(for: value)
    if sorted[place]?.value == value {
      sorted.change(at: place) { ElementSet.add(dot, past: past, to: &$0) }
    } else {
      sorted.insert(Element(value: value, additions: [dot]), at: place)
    }
  }

  private static func add(_ dot: Dot, past: Frontier, to element: inout Element) {
    element.additions.removeAll {
      past.covers($0) || $0 == dot || Mutant.includeCoversUnseen.isActive
    }
    element.additions.append(dot)
    element.additions.sort()
    Probe.elementAddedTwice.hit(if: element.additions.count > 1)
  }

  /// Removes the additions of an element that the author had seen, including those of this change.
  package mutating func exclude(_ value: Value, dot: Dot, past: Frontier) {
    let place = place(for: value)
    guard sorted[place]?.value == value else { return }
    var isGone = false
    sorted.change(at: place) { element in
      element.additions.removeAll {
        past.covers($0) || $0 == dot || Mutant.removesUnseenElements.isActive
      }
      isGone = element.additions.isEmpty
    }
    if isGone {
      Probe.elementRemoved.hit()
      sorted.remove(at: place)
    } else {
      Probe.elementAddWins.hit()
    }
  }

  /// Merges two copies, given the knowledge of each replica: commutative, associative, idempotent.
  ///
  /// O(n).
  package static func joined(
    _ left: ElementSet, knowing leftKnows: Frontier, _ right: ElementSet,
    knowing rightKnows: Frontier
  ) -> ElementSet {
    var result: [Element] = []
    func keep(_ value: Value, _ additions: [Dot]) {
      if !additions.isEmpty { result.append(Element(value: value, additions: additions)) }
    }
    let theirs = right.elements
    var place = 0
    func keepTheirs() {
      keep(theirs[place].value, theirs[place].additions.filter { !leftKnows.covers($0) })
      place += 1
    }
    for element in left.elements {
      while place < theirs.count, precedes(theirs[place].value, element.value) { keepTheirs() }
      let isShared = place < theirs.count && theirs[place].value == element.value
      let twins = isShared ? theirs[place].additions : []
      if isShared { place += 1 }
      let kept = element.additions.filter { twins.contains($0) || !rightKnows.covers($0) }
      keep(
        element.value,
        kept + twins.filter { !element.additions.contains($0) && !leftKnows.covers($0) })
    }
    while place < theirs.count { keepTheirs() }
    return ElementSet(sortedElements: result)
  }

  /// Where the element is, or where it would be inserted.
  private func place(for value: Value) -> SortedPieces<Element>.Place {
    if Mutant.unorderedEncoding.isActive { return sorted.end }
    return sorted.place { !ElementSet.precedes($0.value, value) }
  }

  /// The order of canonical bytes, computed without encoding.
  static func precedes(_ left: Value, _ right: Value) -> Bool {
    switch (left, right) {
    case (.int(let a), .int(let b)):
      varintPrecedes(ByteWriter.zigzag(a), ByteWriter.zigzag(b))
    case (.text(let a), .text(let b)): sequencePrecedes(a.utf8, b.utf8)
    case (.bytes(let a), .bytes(let b)): sequencePrecedes(a, b)
    default: left.tag < right.tag
    }
  }

  private static func sequencePrecedes(
    _ left: some Collection<UInt8>, _ right: some Collection<UInt8>
  ) -> Bool {
    left.count == right.count
      ? left.lexicographicallyPrecedes(right)
      : varintPrecedes(UInt64(left.count), UInt64(right.count))
  }

  /// The order of the varints' bytes, the lowest seven bits first.
  private static func varintPrecedes(_ left: UInt64, _ right: UInt64) -> Bool {
    var (left, right) = (left, right)
    while left & 0x7f == right & 0x7f, left >= 0x80, right >= 0x80 {
      left >>= 7
      right >>= 7
    }
    let leftByte = left & 0x7f | (left >= 0x80 ? 0x80 : 0)
    let rightByte = right & 0x7f | (right >= 0x80 ? 0x80 : 0)
    return leftByte < rightByte
  }
}
