import HearthCRDT

/// Numbers identifiers in the order in which they were first named.
///
/// Hashing sixteen bytes would be most of the cost of the many queries about a few people.
struct Names: Sendable {
  private var numbers: [Identifier: Int] = [:]
  private var identifiers: [Identifier] = []

  /// The number of an identifier; nil if nothing names it.
  subscript(identifier: Identifier?) -> Int? { identifier.flatMap { numbers[$0] } }

  subscript(number number: Int) -> Identifier { identifiers[number] }

  /// The number of an identifier; an unknown one gets a new number.
  mutating func number(_ identifier: Identifier) -> Int {
    if let known = numbers[identifier] { return known }
    numbers[identifier] = identifiers.count
    identifiers.append(identifier)
    return identifiers.count - 1
  }
}

/// Lists of operations by the number of their subject, each in log order.
struct NumberedLists: Sendable {
  private(set) var lists: [[Int]] = []

  subscript(number: Int?) -> [Int] {
    guard let number, number < lists.count else { return [] }
    return lists[number]
  }

  var numbers: [Int] { lists.indices.filter { !lists[$0].isEmpty } }

  mutating func append(_ place: Int, to number: Int?) {
    guard let number else { return }
    while lists.count <= number { lists.append([]) }
    lists[number].append(place)
  }

  mutating func truncate(to start: Int) {
    for number in lists.indices {
      while let last = lists[number].last, last >= start { lists[number].removeLast() }
    }
  }
}
