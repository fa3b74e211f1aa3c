import HearthCRDT

/// A line by the own person.
struct OwnLine {
  let place: Int
  /// What people of higher rank had seen before seeing it; nil if there are none.
  let seen: JointSight?

  /// Whether they had seen an operation.
  func spares(_ place: Int, in log: ControlLog) -> Bool { seen?.holds(place, in: log) ?? false }
}

/// What any of some operations had seen; shared by the lines of which that is the same.
final class JointSight {
  private let row: CausalRows.Row
  /// The last of the operations in each change, which sees those before it.
  private let changes: [Int: Int]

  init(_ witnesses: [Int], of log: ControlLog) {
    var row = log.causality.row()
    var changes: [Int: Int] = [:]
    for witness in witnesses {
      let change = log.changes[witness]
      log.causality.join(change, into: &row)
      changes[change] = max(changes[change] ?? 0, witness)
    }
    self.row = row
    self.changes = changes
  }

  /// Whether one of the operations had seen another.
  func holds(_ place: Int, in log: ControlLog) -> Bool {
    let change = log.changes[place]
    if log.causality.isSeen(change, in: row) { return true }
    return log.causality.isNext(change, in: row) && changes[change] ?? -1 > place
  }
}

/// The lines by own devices that were looked at in one step, each once.
struct OwnLines {
  private struct Key: Hashable {
    let place: Int
    let floor: Int
  }

  private struct Watchers: Hashable {
    let floor: Int
    let person: PersonID?
  }

  private var lines: [Key: OwnLine] = [:]
  private var eyes: [Watchers: [Stock.Eyes]] = [:]
  /// The last joint sight: as a rule the same people have seen no line.
  private var last: (witnesses: [Int], seen: JointSight)?

  /// A line with what people of higher rank had seen who had not seen it.
  mutating func line(
    _ place: Int, above floor: Int, besides person: PersonID?, _ fold: ControlResolver
  ) -> OwnLine {
    let key = Key(place: place, floor: floor)
    if let known = lines[key] { return known }
    let watchers = Watchers(floor: floor, person: person)
    let eyes: [Stock.Eyes]
    if let known = self.eyes[watchers] {
      eyes = known
    } else {
      eyes = fold.stock.eyes(above: floor, besides: person)
      self.eyes[watchers] = eyes
    }
    // The last operations of people of higher rank that had not seen it, one of each author.
    let witnesses = eyes.compactMap { eye -> Int? in
      if let last = eye.places.last, !fold.log.sees(last, place) { return last }
      let first = eye.places.partitionPoint { fold.log.sees($0, place) }
      return first > 0 ? eye.places[first - 1] : nil
    }
    if last?.witnesses != witnesses { last = (witnesses, JointSight(witnesses, of: fold.log)) }
    let line = OwnLine(place: place, seen: last?.seen)
    lines[key] = line
    return line
  }
}
