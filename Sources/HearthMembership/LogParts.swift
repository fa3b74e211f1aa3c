import HearthCRDT

/// Operations apart by author, of each author in the log's order.
///
/// Of each author's those that somebody had seen come first, and those that had seen something come
/// last, so a question about all of them takes O(log n) for each author.
struct LogParts: Sendable {
  private var places: [Int] = []
  /// Where the part of each author begins, and where the last ends.
  private var starts: [Int] = [0]

  /// - Parameter all: in the log's order, or at least of each author.
  init(_ all: some Sequence<Int>, of log: ControlLog) {
    var parts: [[Int]] = []
    var numbers: [Int: Int] = [:]
    for place in all {
      let author = log.causality.column[log.changes[place]]
      if let number = numbers[author] {
        parts[number].append(place)
      } else {
        numbers[author] = parts.count
        parts.append([place])
      }
    }
    for part in parts {
      places += part
      starts.append(places.count)
    }
  }

  /// The operations of each author.
  var authors: [ArraySlice<Int>] {
    starts.indices.dropLast().map { places[starts[$0]..<starts[$0 + 1]] }
  }

  /// What the author of an operation had not seen.
  func unseen(by place: Int, in log: ControlLog) -> [Int] {
    var found: [Int] = []
    for part in starts.indices.dropLast() where !log.sees(place, places[starts[part + 1] - 1]) {
      let start = first(in: part) { !log.sees(place, places[$0]) }
      for number in start..<starts[part + 1] where places[number] != place {
        found.append(places[number])
      }
    }
    return found
  }

  /// What neither had seen an operation nor was seen by its author.
  func concurrent(with place: Int, in log: ControlLog) -> [Int] {
    var found: [Int] = []
    for part in starts.indices.dropLast()
    where !log.sees(place, places[starts[part + 1] - 1]) && !log.sees(places[starts[part]], place) {
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
    var low = starts[part]
    var high = starts[part + 1]
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
