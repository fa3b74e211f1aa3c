import HearthCRDT

/// Which earlier operations of a list the later ones had not seen.
///
/// As a rule none: then what ended the last one ended them all, and nobody looks through everything
/// that came and went.
struct ApartPlaces: Sendable {
  /// How many are noted for one operation; where there are more, each is looked at.
  private static let maximumNoted = 128

  /// In the log's order; nil where there are too many.
  private var noted: [(place: Int, others: [Int]?)] = []

  /// What an operation had not seen of those before it, the last first; nil for too many.
  func besides(_ place: Int) -> [Int]? {
    let found = noted.partitionPoint { $0.place >= place }
    guard found < noted.count, noted[found].place == place else { return [] }
    return noted[found].others
  }

  /// Notes what an operation had not seen of those before it.
  mutating func note(
    _ place: Int, after earlier: some BidirectionalCollection<Int>, in log: ControlLog
  ) {
    var others: [Int]? = []
    for before in earlier.reversed() {
      if log.sees(place, before) {
        let more = besides(before)?.filter { !log.sees(place, $0) }
        others = more.flatMap { more in others.map { $0 + more } }
        break
      }
      others?.append(before)
      if others?.count ?? 0 > ApartPlaces.maximumNoted { others = nil }
      if others == nil { break }
    }
    if others?.count ?? 0 > ApartPlaces.maximumNoted { others = nil }
    if others?.isEmpty != true { noted.append((place, others)) }
  }

  /// Forgets everything from a place on.
  mutating func truncate(to start: Int) {
    while let last = noted.last, last.place >= start { noted.removeLast() }
  }
}

/// Which operations of a list are concurrent with each.
struct Neighbours {
  /// By operation, in order; nil where there are too many to be noted.
  private var near: [Int: [Int]]? = [:]

  /// - Parameter places: in the log's order.
  init(_ places: [Int], in log: ControlLog) {
    var apart = ApartPlaces()
    for (number, place) in places.enumerated() {
      apart.note(place, after: places[..<number], in: log)
      guard let others = apart.besides(place) else {
        near = nil
        return
      }
      for other in others.reversed() {
        near?[place, default: []].append(other)
        near?[other, default: []].append(place)
      }
    }
  }

  /// What of a part of the list may be concurrent with an operation, in order.
  func of(_ place: Int, among places: [Int]) -> [Int] {
    guard let near else { return places }
    return (near[place] ?? []).filter { other in
      let found = places.partitionPoint { $0 >= other }
      return found < places.count && places[found] == other
    }
  }
}
