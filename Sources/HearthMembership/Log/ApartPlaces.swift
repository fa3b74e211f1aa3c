import HearthCRDT

/// Records which earlier operations of a list each later one had not seen.
///
/// Usually there are none: whatever ended the last operation then ended all, so no search follows.
struct ApartPlaces: Sendable {
  /// The most operations recorded for one operation; beyond this number, each must be checked.
  private static let maximumNoted = 128

  /// In log order; `others` is nil if there are too many.
  private var noted: [(place: Int, others: [Int]?)] = []

  /// The earlier operations that an operation had not seen, last first; nil if there are too many.
  func besides(_ place: Int) -> [Int]? {
    let found = noted.partitionPoint { $0.place >= place }
    guard found < noted.count, noted[found].place == place else { return [] }
    return noted[found].others
  }

  mutating func note(
    _ place: Int, after earlier: some BidirectionalCollection<Int>, in log: ControlLog
  ) {
    var others: [Int] = []
    var areAll = true
    for before in earlier.reversed() {
      if log.sees(place, before) {
        let more = besides(before)
        others += (more ?? []).filter { !log.sees(place, $0) }
        areAll = more != nil
        break
      }
      others.append(before)
      if others.count > ApartPlaces.maximumNoted { break }
    }
    if others.isEmpty, areAll { return }
    noted.append((place, areAll && others.count <= ApartPlaces.maximumNoted ? others : nil))
  }

  mutating func truncate(to start: Int) {
    while let last = noted.last, last.place >= start { noted.removeLast() }
  }
}

/// Finds the operations of a list that are concurrent with each other.
struct Neighbours {
  /// The most operations that are compared without a record.
  private static let maximumUnnoted = 8

  /// The concurrent operations of each, in order; nil if there are too few or too many to record.
  private var near: [Int: [Int]]? = [:]

  /// - Parameter places: the operations, in log order.
  init(_ places: [Int], in log: borrowing ControlLog) {
    guard places.count > Neighbours.maximumUnnoted else {
      near = nil
      return
    }
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

  /// The operations of a part of the list that may be concurrent with `place`, in order.
  func of(_ place: Int, among places: [Int]) -> [Int] {
    guard let near else { return places }
    return (near[place] ?? []).filter { other in
      let found = places.partitionPoint { $0 >= other }
      return found < places.count && places[found] == other
    }
  }
}
