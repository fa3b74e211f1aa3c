import HearthCRDT
import Household

/// What became of a chore so far.
struct ChorePast: Sendable {
  /// The last completion that is credited.
  let lastDone: LedgerEntry?
  /// The skips that were not taken back, the last first.
  let skips: [SkipEntry]

  /// Reads it from a household.
  init(of chore: RecordID, in state: HouseholdState) throws {
    lastDone = try state.ledger.last(of: chore)
    skips = try state.skips.entries(of: chore).filter { !$0.isUndone }
  }
}

/// The state of chores in words.
enum ChoreText {
  private static let shownSkips = 5

  /// The next day, or why there is none.
  static func next(_ chore: ChoreView, _ past: ChorePast?) -> String {
    if chore.isArchived { return "archived" }
    guard chore.isFinished else { return chore.next?.due?.iso ?? chore.due?.iso ?? "" }
    guard chore.rule == nil else { return "ended" }
    return past?.lastDone.map { "done \($0.day.iso)" } ?? "skipped"
  }

  /// The last completion, and the last skips with their reasons, one line each.
  static func past(
    _ past: ChorePast, isFinished: Bool, _ names: [PersonID: String]
  ) -> [String] {
    func name(_ id: PersonID) -> String { Style.safe(names[id] ?? String(id.hex.prefix(8))) }
    var lines: [String] = []
    if let done = past.lastDone {
      let recorder = done.by == done.person ? "" : " (recorded by \(name(done.by)))"
      lines.append(
        (isFinished ? "done: " : "last done: ")
          + "\(DayWords.text(done.day)) by \(name(done.person))\(recorder), "
          + Words.count(done.points, "point"))
    }
    lines += past.skips.prefix(shownSkips).map { skip in
      let reason = skip.reason.isEmpty ? "" : ": " + Style.safe(skip.reason)
      return "skipped: \(DayWords.text(skip.date ?? skip.day)) by \(name(skip.by))\(reason)"
    }
    if past.skips.count > shownSkips {
      lines.append("skipped: \(past.skips.count - shownSkips) times before")
    }
    return lines
  }
}
