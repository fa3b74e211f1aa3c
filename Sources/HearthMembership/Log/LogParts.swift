import HearthCRDT

/// Operations grouped by author, each author's in log order.
///
/// Within one author's operations, those that a given operation had seen come first, and those that
/// had seen it come last. A question about all of them therefore takes O(log n) for each author.
struct LogParts: Sendable {
  private var places: [Int] = []
  /// The start of each author's part, and the end of the last part.
  private var starts: [Int] = [0]

  /// - Parameter all: the operations, in any order.
  init(_ all: some Sequence<Int>, of log: ControlLog) {
    // A place takes less than half of the bits of an integer.
    let half = Int.bitWidth / 2
    var author: Int?
    for key in all.map({ log.author($0) << half | $0 }).sorted() {
      if let author, author != key >> half { starts.append(places.count) }
      author = key >> half
      places.append(key & (1 << half - 1))
    }
    if author != nil { starts.append(places.count) }
  }

  var authors: [ArraySlice<Int>] {
    starts.indices.dropLast().map { places[starts[$0]..<starts[$0 + 1]] }
  }

  var count: Int { places.count }
  var authorCount: Int { starts.count - 1 }

  subscript(number: Int) -> Int { places[number] }

  /// The numbers of one author's operations.
  func range(of part: Int) -> Range<Int> { starts[part]..<starts[part + 1] }

  /// The number of an author's first operation that the author of `place` had not seen.
  func firstUnseen(in part: Int, by place: Int, in log: ControlLog) -> Int {
    first(in: part) { !log.sees(place, places[$0]) }
  }

  /// Whether the condition holds for any operation that had seen `one` and not `other`.
  func contains(
    seeing one: Int, notSeeing other: Int, in log: ControlLog, where isMeant: (Int) -> Bool
  ) -> Bool {
    for part in starts.indices.dropLast() where log.sees(places[starts[part + 1] - 1], one) {
      var number = first(in: part) { log.sees(places[$0], one) }
      while number < starts[part + 1], !log.sees(places[number], other) {
        if isMeant(places[number]) { return true }
        number += 1
      }
    }
    return false
  }

  /// Whether the condition holds for any author's first operation that had seen `one`, unless it
  /// had also seen `other`.
  func containsFirst(
    seeing one: Int, notSeeing other: Int, in log: ControlLog, where isMeant: (Int) -> Bool
  ) -> Bool {
    for part in starts.indices.dropLast() where log.sees(places[starts[part + 1] - 1], one) {
      let found = places[first(in: part) { log.sees(places[$0], one) }]
      if !log.sees(found, other), isMeant(found) { return true }
    }
    return false
  }

  /// The first operation of one part that had not seen an earlier operation of another part, with
  /// the first such operation; nil if there is none.
  func firstApart(
    in part: Int, after other: Int, in log: ControlLog
  ) -> (earlier: Int, later: Int)? {
    for number in range(of: part) {
      let unseen = firstUnseen(in: other, by: places[number], in: log)
      if unseen < range(of: other).upperBound, places[unseen] < places[number] {
        return (places[unseen], places[number])
      }
    }
    return nil
  }

  func concurrent(with place: Int, in log: ControlLog) -> [Int] {
    var found: [Int] = []
    for part in starts.indices.dropLast() where !log.sees(place, places[starts[part + 1] - 1]) {
      var number = first(in: part) { !log.sees(place, places[$0]) }
      while number < starts[part + 1], !log.sees(places[number], place) {
        if places[number] != place { found.append(places[number]) }
        number += 1
      }
    }
    return found
  }

  /// The first number in a part from which the condition holds.
  private func first(in part: Int, where isBeyond: (Int) -> Bool) -> Int {
    range(of: part).partitionPoint(where: isBeyond)
  }
}

/// Operations grouped by author, where an operation that was taken is not visited again.
struct OpenParts: Sendable {
  private let parts: LogParts
  /// For each number, the first open number at or after it, or a number that leads to that one.
  private var next: [Int]

  init(_ all: some Sequence<Int>, of log: ControlLog) {
    parts = LogParts(all, of: log)
    next = Array(0...parts.count)
  }

  /// Takes the open operations that are concurrent with `place` and that fit.
  mutating func take(
    concurrentWith place: Int, in log: ControlLog, where fits: (Int) -> Bool
  ) -> [Int] {
    var taken: [Int] = []
    for part in 0..<parts.authorCount {
      let range = parts.range(of: part)
      guard !log.sees(place, parts[range.upperBound - 1]) else { continue }
      var number = open(from: range.lowerBound)
      guard number < range.upperBound else { continue }
      number = open(from: max(number, parts.firstUnseen(in: part, by: place, in: log)))
      while number < range.upperBound, !log.sees(parts[number], place) {
        if parts[number] != place, fits(parts[number]) {
          taken.append(parts[number])
          next[number] = number + 1
        }
        number = open(from: number + 1)
      }
    }
    return taken
  }

  private mutating func open(from number: Int) -> Int {
    var found = number
    while next[found] != found { found = next[found] }
    var step = number
    while next[step] != found, step != found { (step, next[step]) = (next[step], found) }
    return found
  }
}
