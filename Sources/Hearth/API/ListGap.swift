/// The part of a list around a place that gets new positions, so that one more record fits there.
///
/// It lies between two records whose positions leave room. There is none between equal positions,
/// nor beside one that is very long or that somebody else's program made.
struct ListGap {
  /// The positions of the records on one side of a place, the nearest first.
  struct Side {
    let positions: [Position]
    /// Whether these are all records on the side.
    let isWhole: Bool

    init(_ positions: [Position], isWhole: Bool) {
      self.positions = positions
      self.isWhole = isWhole
    }

    /// The position of a record; nil where the list ends.
    subscript(index: Int) -> Position? { index < positions.count ? positions[index] : nil }

    /// The index of the first record that meets a condition, or of the list's end; nil if this
    /// part of the list has neither.
    func first(where meets: (Position) -> Bool) -> Int? {
      positions.firstIndex(where: meets) ?? (isWhole ? positions.count : nil)
    }
  }

  /// How many of the nearest records before and after the place get new positions.
  let before: Int
  let after: Int
  /// The new positions, in order: also that of the record at the place.
  let positions: [Position]

  /// Finds the gap with the fewest records; nil if more of the list must be known.
  init?(_ left: Side, _ right: Side, by writer: [UInt8]) {
    var best: ListGap?
    for (before, after) in ListGap.choices(left, right) {
      guard before + after < (best.map { $0.before + $0.after } ?? .max) else { continue }
      let positions = Position.between(
        left[before], right[after], count: before + after + 1, by: writer)
      if let positions { best = ListGap(before: before, after: after, positions: positions) }
    }
    guard let best else { return nil }
    self = best
  }

  private init(before: Int, after: Int, positions: [Position]) {
    self.before = before
    self.after = after
    self.positions = positions
  }

  /// The nearest neighbours, and the nearest records on both sides that leave room.
  ///
  /// If those have one position, the next one on either side.
  private static func choices(_ left: Side, _ right: Side) -> [(before: Int, after: Int)] {
    var choices: [(before: Int, after: Int)] = []
    if let before = left.first(where: { _ in true }), let after = right.first(where: { _ in true })
    {
      choices.append((before, after))
    }
    if let before = left.first(where: \.leavesRoom) {
      let after = right.first { position in
        position.leavesRoomBefore && left[before].map { $0 < position } ?? true
      }
      if let after { choices.append((before, after)) }
    }
    if let after = right.first(where: \.leavesRoomBefore) {
      let before = left.first { position in
        position.leavesRoom && right[after].map { position < $0 } ?? true
      }
      if let before { choices.append((before, after)) }
    }
    return choices
  }
}

extension Position {
  /// The bytes that two more steps of a path take at most.
  private static let stepBytes = 28

  /// Whether positions of this program can follow.
  fileprivate var leavesRoom: Bool {
    bytes.count <= Position.maximumBytes - Position.stepBytes && PositionPath(self) != nil
  }

  /// Whether positions of this program can come before it: nothing comes before the empty one.
  fileprivate var leavesRoomBefore: Bool { !bytes.isEmpty && leavesRoom }
}
