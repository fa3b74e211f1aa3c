import HearthCRDT

/// Operations apart by author, of each author in the log's order.
///
/// Of each author's those that somebody had seen come first, and those that had seen something come
/// last, so a question about all of them takes O(log n) for each author.
struct LogParts: Sendable {
  private var places: [Int] = []
  /// Where the part of each author begins, and where the last ends.
  private var starts: [Int] = [0]

  /// - Parameter all: in any order.
  init(_ all: some Sequence<Int>, of log: ControlLog) {
    // A place takes less than half of a number.
    let half = Int.bitWidth / 2
    var author: Int?
    for key in all.map({ log.author($0) << half | $0 }).sorted() {
      if let author, author != key >> half { starts.append(places.count) }
      author = key >> half
      places.append(key & (1 << half - 1))
    }
    if author != nil { starts.append(places.count) }
  }

  /// The operations of each author.
  var authors: [ArraySlice<Int>] {
    starts.indices.dropLast().map { places[starts[$0]..<starts[$0 + 1]] }
  }

  var count: Int { places.count }
  var authorCount: Int { starts.count - 1 }

  subscript(number: Int) -> Int { places[number] }

  /// The numbers of an author's operations.
  func range(of part: Int) -> Range<Int> { starts[part]..<starts[part + 1] }

  /// The number of the first operation of an author that the author of another had not seen.
  func firstUnseen(in part: Int, by place: Int, in log: ControlLog) -> Int {
    first(in: part) { !log.sees(place, places[$0]) }
  }

  /// Whether a condition holds for something that had seen one operation and not another.
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

  /// What neither had seen an operation nor was seen by its author.
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

  /// The first place of a part from which on a condition holds.
  private func first(in part: Int, where isBeyond: (Int) -> Bool) -> Int {
    range(of: part).partitionPoint(where: isBeyond)
  }
}

/// Operations apart by author, of which those that are done with are not looked at again.
struct OpenParts: Sendable {
  private let parts: LogParts
  /// For each number the first from it on that is open, or one from which that is found.
  private var next: [Int]

  init(_ all: some Sequence<Int>, of log: ControlLog) {
    parts = LogParts(all, of: log)
    next = Array(0...parts.count)
  }

  /// Closes what is concurrent with an operation and fits, and gives it.
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

  /// The first open number from one on.
  private mutating func open(from number: Int) -> Int {
    var found = number
    while next[found] != found { found = next[found] }
    var step = number
    while next[step] != found, step != found { (step, next[step]) = (next[step], found) }
    return found
  }
}
