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

  init(sortedElements: [Element]) {
    elements = sortedElements
  }

  /// The elements' values, in order of their canonical bytes.
  package var values: [Value] { elements.map(\.value) }

  /// Adds an element; it takes the place of the additions the author had seen.
  package mutating func include(_ value: Value, dot: Dot, past: Frontier) {
    let place = Mutant.unorderedEncoding.isActive ? elements.count : position(of: value)
    if place < elements.count, elements[place].value == value {
      elements[place].additions.removeAll {
        past.covers($0) || $0 == dot || Mutant.includeCoversUnseen.isActive
      }
      elements[place].additions.append(dot)
      elements[place].additions.sort()
      Probe.elementAddedTwice.hit(if: elements[place].additions.count > 1)
    } else {
      elements.insert(Element(value: value, additions: [dot]), at: place)
    }
  }

  /// Removes the additions of an element that the author had seen, its own of this change too.
  package mutating func exclude(_ value: Value, dot: Dot, past: Frontier) {
    let place = position(of: value)
    guard place < elements.count, elements[place].value == value else { return }
    elements[place].additions.removeAll {
      past.covers($0) || $0 == dot || Mutant.removesUnseenElements.isActive
    }
    if elements[place].additions.isEmpty {
      Probe.elementRemoved.hit()
      elements.remove(at: place)
    } else {
      Probe.elementAddWins.hit()
    }
  }

  /// Merges two copies, given what each replica knows: commutative, associative, idempotent.
  package static func joined(
    _ left: ElementSet, knowing leftKnows: Frontier, _ right: ElementSet,
    knowing rightKnows: Frontier
  ) -> ElementSet {
    var result: [Element] = []
    for element in left.elements {
      let place = right.position(of: element.value)
      let isShared = place < right.elements.count && right.elements[place].value == element.value
      let twins = isShared ? right.elements[place].additions : []
      var kept = element.additions.filter { twins.contains($0) || !rightKnows.covers($0) }
      kept += twins.filter { !element.additions.contains($0) && !leftKnows.covers($0) }
      if !kept.isEmpty { result.append(Element(value: element.value, additions: kept)) }
    }
    for element in right.elements {
      let place = left.position(of: element.value)
      if place < left.elements.count, left.elements[place].value == element.value { continue }
      let kept = element.additions.filter { !leftKnows.covers($0) }
      if !kept.isEmpty { result.append(Element(value: element.value, additions: kept)) }
    }
    return ElementSet(result)
  }

  /// Where the element is or would be.
  private func position(of value: Value) -> Int {
    var low = 0
    var high = elements.count
    while low < high {
      let middle = (low + high) / 2
      if ElementSet.precedes(elements[middle].value, value) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /// The order of canonical bytes, without making them.
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

  /// The order of varints' bytes, lowest seven bits first.
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
