import HearthCRDT

/// A line drawn by the subject's own person.
struct OwnLine {
  let place: Int
  /// The combined past of witnesses of higher rank before they saw the line; nil if there are none.
  let seen: JointSight?

  /// Whether the witnesses had seen an operation before they saw the line.
  func spares(_ place: Int, in log: ControlLog) -> Bool { seen?.holds(place, in: log) ?? false }
}

/// The combined past of several operations, shared by lines with equal witnesses.
final class JointSight {
  private let row: CausalRows.Row
  /// The last witness in each change, which sees the operations before it in that change.
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

  func holds(_ place: Int, in log: ControlLog) -> Bool {
    let change = log.changes[place]
    if log.causality.isSeen(change, in: row) { return true }
    return log.causality.isNext(change, in: row) && changes[change] ?? -1 > place
  }
}

/// The lines by own devices in one step, each computed once.
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
  /// The last combined past: usually the same witnesses apply to the next line.
  private var last: (witnesses: [Int], seen: JointSight)?

  /// A line with the combined past of the witnesses of higher rank who had not seen it.
  mutating func line(
    _ place: Int, above floor: Int, besides person: PersonID?, _ stock: Stock, in log: ControlLog
  ) -> OwnLine {
    let key = Key(place: place, floor: floor)
    if let known = lines[key] { return known }
    let watchers = Watchers(floor: floor, person: person)
    let eyes: [Stock.Eyes]
    if let known = self.eyes[watchers] {
      eyes = known
    } else {
      eyes = stock.eyes(above: floor, besides: person)
      self.eyes[watchers] = eyes
    }
    // The last operation of each author of higher rank that had not seen the line.
    let witnesses = eyes.compactMap { eye -> Int? in
      if let last = eye.places.last, !log.sees(last, place) { return last }
      let first = eye.places.partitionPoint { log.sees($0, place) }
      return first > 0 ? eye.places[first - 1] : nil
    }
    if last?.witnesses != witnesses { last = (witnesses, JointSight(witnesses, of: log)) }
    let line = OwnLine(place: place, seen: last?.seen)
    lines[key] = line
    return line
  }
}
