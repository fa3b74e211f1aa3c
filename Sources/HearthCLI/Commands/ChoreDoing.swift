import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync
import Household

/// `hearth done`.
struct DoneChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "done", abstract: "Record that a chore was done.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Option(help: "Who did it; otherwise you.") var by: String?
  @Option(help: "When: 18:30, yesterday, 2026-11-21, 2026-11-21T18:30.") var at: String?
  @Flag(help: "Also if the chore was done today and is not due again yet.") var early = false

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let (date, time) = try await household.today()
    let (me, now) = await (household.node.person, household.node.nowMilliseconds())
    let moment = try at.map { try DateWords.moment($0, today: date) }
    // The instant is the present, moved by the minutes between now and the time that was named.
    let minutes = moment?.time.map { Int64(time.minuteOfDay) - Int64($0.minuteOfDay) } ?? 0
    let done = UInt64(max(0, Int64(now) - minutes * 60_000))
    let (day, named) = (moment?.day ?? date, moment?.time)
    let (name, by, early) = (name, by, early)
    let (event, title, due) = try await household.write { book, builder in
      let chore = try ChoreNames.chore(name, in: book)
      if !early { try DoneChore.refuseTwice(chore, on: day, in: book) }
      let person = try by.map { try ChoreNames.person($0, in: book).id } ?? me
      let event = try book.complete(
        chore.id, occurrence: nil, by: person, recordedBy: me, doneAt: (day, named),
        milliseconds: done, in: &builder)
      return (event, chore.title, chore.next?.due)
    }
    let points = try await household.read { book in
      try book.ledger(of: nil).first { $0.event == event }?.points ?? 0
    }
    let other = due.flatMap { $0 == date ? nil : " of \($0.iso)" } ?? ""
    Output.note("done: \(Style.safe(title))\(other), \(points) points (undo with `hearth undo`)")
  }
}

extension DoneChore {
  /// Refuses what is most likely the same work told twice: the chore was done that day, and its
  /// next occurrence is still to come.
  fileprivate static func refuseTwice(
    _ chore: ChoreView, on day: CivilDate, in book: HouseholdBook
  ) throws {
    let isDoneThatDay = try book.ledger(of: nil).contains {
      $0.chore == chore.id && $0.day == day && $0.kind == .credited
    }
    guard isDoneThatDay, chore.rule != nil, let due = chore.next?.due, due > day else { return }
    throw CommandFailure(
      .failed,
      "\(Style.safe(chore.title)) was done on \(day.iso) already; it is next due on "
        + "\(due.iso)", hint: "add --early if it was really done once more")
  }
}

/// `hearth undo`.
struct UndoChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Take back the last thing you did, or one entry.")
  @OptionGroup var common: CommonOptions
  @Option(help: "The entry, by its id in `hearth history`.") var event: String?

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let role = await household.node.membership(of: household.zone.group).person(me)?.role
    let isAdministrator = (role?.rank ?? 0) >= Role.admin.rank
    let wanted = event?.lowercased()
    let title = try await household.write { book, builder in
      let entry: LedgerEntry?
      if let wanted {
        let found = try book.ledger(of: nil).filter { $0.event.hex.hasPrefix(wanted) }
        guard found.count <= 1, wanted.utf8.count >= 8 else {
          throw CommandFailure(
            .usage, "an entry's id needs enough digits to name one", hint: "give at least 8")
        }
        entry = found.first
      } else {
        entry = try book.lastUndoable(by: me)
      }
      guard let entry else {
        throw CommandFailure(
          .failed, wanted == nil ? "there is nothing of yours to undo" : "there is no such entry",
          hint: "see `hearth history`")
      }
      try book.undo(entry.event, by: me, isAdministrator: isAdministrator, in: &builder)
      return entry.choreTitle
    }
    Output.note("undone: \(Style.safe(title))")
  }
}

/// `hearth skip`.
struct SkipChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "skip", abstract: "Say that the next occurrence need not be done.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Option(help: "Why.") var reason: String = ""

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let (name, reason) = (name, ShownText.normal(reason))
    let title = try await household.write { book, builder in
      let chore = try ChoreNames.chore(name, in: book)
      try book.skip(chore.id, reason: reason, by: me, in: &builder)
      return chore.title
    }
    Output.note("skipped: \(Style.safe(title))")
  }
}
