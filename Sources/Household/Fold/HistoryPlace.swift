import HearthCRDT

/// An entry's position in history: later days first, then later times, then greater ids.
struct HistoryPlace: Equatable {
  let day: Int32
  let time: UInt64
  let event: RecordID

  init(_ row: LedgerRow) {
    self.init(
      day: row.day.dayNumber, time: row.version.time.rawValue, event: row.event)
  }

  init(day: Int32, time: UInt64, event: RecordID) {
    self.day = day
    self.time = time
    self.event = event
  }

  /// The ledger columns that order history, last first.
  static let order = ["day", "time", "event"]

  /// The position's values in these columns.
  var values: [Value] {
    [.int(Int64(day)), LedgerRow.column(of: HybridTime(rawValue: time)), .id(event)]
  }

  func cursor(passed: Int) -> String { "\(day).\(time).\(event.hex).\(passed)" }

  static func parse(_ cursor: String) throws(HouseholdError) -> (HistoryPlace, passed: Int) {
    let parts = cursor.utf8.count <= 100 ? cursor.split(separator: ".") : []
    guard parts.count == 4, let day = Int32(parts[0]), let time = UInt64(parts[1]),
      let event = RecordID(hex: String(parts[2])), let passed = Int(parts[3]), passed > 0
    else {
      throw HouseholdError(
        .badCursor,
        "\(quoted(cursor)) is not a position in the history; start again without a cursor")
    }
    return (HistoryPlace(day: day, time: time, event: event), passed)
  }
}

extension HistoryPlace: Comparable {
  static func < (left: HistoryPlace, right: HistoryPlace) -> Bool {
    (left.day, left.time, left.event) < (right.day, right.time, right.event)
  }
}

/// A part of history between two positions; the spans of successive pages share no position.
struct HistorySpan: Equatable {
  /// The position before the newest one of the span; nil for the beginning of history.
  let after: HistoryPlace?
  /// The oldest position of the span; nil for the end of history.
  let through: HistoryPlace?

  func contains(_ place: HistoryPlace) -> Bool {
    after.map { place < $0 } ?? true && through.map { $0 <= place } ?? true
  }
}
