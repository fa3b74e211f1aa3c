import HearthCRDT

/// Numbers identifiers in the order in which they were first named, so that lists about them can be
/// found by number.
///
/// Passes query the same few people and devices many times, and hashing sixteen bytes would be most
/// of the cost of a query.
struct Names: Sendable {
  private var numbers: [Identifier: Int] = [:]
  private var identifiers: [Identifier] = []

  /// The number of an identifier; nil if nothing names it.
  subscript(identifier: Identifier) -> Int? { numbers[identifier] }

  /// The identifier of a number.
  subscript(number number: Int) -> Identifier { identifiers[number] }

  /// The number of an identifier.
  ///
  /// Assigns a new number to an unknown identifier.
  mutating func number(_ identifier: Identifier) -> Int {
    if let known = numbers[identifier] { return known }
    numbers[identifier] = identifiers.count
    identifiers.append(identifier)
    return identifiers.count - 1
  }
}

/// Lists of operations by the number of their subject, each in log order.
struct NumberedLists: Sendable {
  private var lists: [[Int]] = []

  /// The list of a number; empty if nothing was added.
  subscript(number: Int?) -> [Int] {
    guard let number, number < lists.count else { return [] }
    return lists[number]
  }

  /// The numbers that have lists, in order.
  var numbers: [Int] { lists.indices.filter { !lists[$0].isEmpty } }

  mutating func append(_ place: Int, to number: Int?) {
    guard let number else { return }
    while lists.count <= number { lists.append([]) }
    lists[number].append(place)
  }

  /// Removes everything from a place on.
  mutating func truncate(to start: Int) {
    for number in lists.indices {
      while let last = lists[number].last, last >= start { lists[number].removeLast() }
    }
  }
}
