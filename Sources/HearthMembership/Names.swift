import HearthCRDT

/// Identifiers in the order in which they were first named, so that lists about them are found by
/// number.
///
/// Passes ask about the same few people and devices again and again, and hashing sixteen bytes each
/// time is most of what a question costs.
struct Names: Sendable {
  private var numbers: [Identifier: Int] = [:]
  private var identifiers: [Identifier] = []

  /// The number of an identifier; nil if nothing names it.
  subscript(identifier: Identifier) -> Int? { numbers[identifier] }

  /// The identifier of a number.
  subscript(number number: Int) -> Identifier { identifiers[number] }

  /// The number of an identifier, a new one if nothing named it so far.
  mutating func number(_ identifier: Identifier) -> Int {
    if let known = numbers[identifier] { return known }
    numbers[identifier] = identifiers.count
    identifiers.append(identifier)
    return identifiers.count - 1
  }
}

/// Lists of operations by the number of whom or what they concern, each in the log's order.
struct NumberedLists: Sendable {
  private var lists: [[Int]] = []

  /// The list of a number, which is empty where nothing was added.
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

  /// Forgets everything from a place on.
  mutating func truncate(to start: Int) {
    for number in lists.indices {
      while let last = lists[number].last, last >= start { lists[number].removeLast() }
    }
  }
}
