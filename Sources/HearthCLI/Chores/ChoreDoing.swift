import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// `hearth done`.
struct DoneChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "done", abstract: "Record that chores were done.",
    discussion: """
      Several words mean one chore if they fit one together, else a chore each. Either all of them
      are recorded or none.

      Examples:
        hearth done water the plants
        hearth done cat dishes laundry
      """)
  @OptionGroup var common: CommonOptions
  @Argument(help: ArgumentHelp("The chore, or several.", valueName: "chore"))
  var names: [String]
  @Option(help: "Who did it; by default you.") var by: String?
  @Option(help: "When: 18:30, yesterday, 2026-11-21, 2026-11-21T18:30.") var at: String?
  @Flag(help: "Even if the chore was done today and is not due again yet.") var early = false

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let (date, time) = try await household.today()
    let (me, now) = await (household.node.person, household.node.nowMilliseconds())
    let moment = try at.map { try DateWords.moment($0, today: date) }
    // The instant is the present, moved by the minutes between now and the given time.
    let minutes = moment?.time.map { Int64(time.minuteOfDay) - Int64($0.minuteOfDay) } ?? 0
    let done = UInt64(max(0, Int64(now) - minutes * 60_000))
    let (day, named) = (moment?.day ?? date, moment?.time)
    let (names, by, early) = (names, by, early)
    let gate = try await household.roleGate()
    let (entries, doer) = try await household.write(on: date) { state, builder in
      let person =
        try by.map { try ChoreNames.person($0, in: state, gate, isToWork: true).id } ?? me
      let entries = try ChoreNames.chores(names, in: state).map { chore in
        do {
          let event = try state.completions.add(
            chore.id, occurrence: nil, by: person, doneAt: (day, named),
            milliseconds: done, nowMilliseconds: now, isEarly: early, in: &builder)
          return Done(chore: chore, event: event)
        } catch let error as HouseholdError where error.code == .doneThatDay {
          throw CommandFailure(
            .failed, error.message, hint: "add --early if it was really done again")
        }
      }
      let people = try ChoreNames.names(in: state)
      let doer = people[person] ?? gate.membership.person(person)?.name ?? person.hex
      return (entries, doer)
    }
    let points = try await household.read(on: date) { state in
      try entries.map { try state.ledger.entry($0.event)?.points ?? 0 }
    }
    let told = zip(entries, points).map { entry, points in
      entry.told(by: doer, on: day, points: points, today: date)
    }
    try ChoreActivity.tell(told, common)
  }

  /// A chore as it was before the completion, and the completion.
  private struct Done: Sendable {
    let chore: ChoreView
    let event: RecordID

    func told(
      by doer: String, on day: CivilDate, points: Int, today: CivilDate
    ) -> (activity: ChoreActivity, words: String) {
      let other = chore.next?.due.flatMap { $0 == today ? nil : " of \($0.iso)" } ?? ""
      var activity = ChoreActivity("done", chore.id, chore.title)
      activity.event = event.hex
      activity.person = doer
      activity.day = day.iso
      activity.points = points
      return (
        activity,
        "done: \(Style.safe(chore.title))\(other), \(Words.count(points, "point")) "
          + "(undo with `hearth undo`)"
      )
    }
  }
}

/// `hearth undo`.
struct UndoChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Undo your last entry, or another one.",
    discussion: """
      Your last entry is the completion or skip that you recorded last, however long ago. The
      command says which one it was, and when it was recorded.
      """)
  @OptionGroup var common: CommonOptions
  @Option(help: "The entry, by its id in `hearth history`.") var event: String?

  /// The undone entry.
  private enum Undone {
    case completion(LedgerEntry)
    case skip(SkipEntry)
  }

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let membership = try await household.node.membership(of: household.zone.group)
    let isAdministrator = Administrators.include(me, in: membership)
    let wanted = event?.lowercased()
    let undone = try await household.write { state, builder in
      let found =
        try wanted.map { try UndoChore.entry($0, in: state) } ?? UndoChore.last(me, in: state)
      guard let found else {
        throw CommandFailure(
          .failed, wanted == nil ? "there is nothing of yours to undo" : "there is no such entry",
          hint: "see `hearth history`")
      }
      do {
        switch found {
        case .completion(let entry):
          try state.completions.undo(
            entry.event, by: me, isAdministrator: isAdministrator, in: &builder)
        case .skip(let skip): try state.skips.undo(skip.event, by: me, in: &builder)
        }
      } catch let error as HouseholdError
        where error.code == .periodClosed || error.code == .notYours
      {
        throw CommandFailure(
          .notAllowed, error.message, hint: "who can: " + Administrators.names(in: membership))
      }
      return found
    }
    switch undone {
    case .completion(let entry): try await tell(entry, household)
    case .skip(let skip): try await tell(skip, household)
    }
  }

  /// Returns the entry of an id.
  private static func entry(_ digits: String, in state: HouseholdState) throws -> Undone? {
    let found =
      try state.ledger.entries(idPrefix: digits).map(Undone.completion)
      + state.skips.entries(idPrefix: digits).map(Undone.skip)
    guard found.count <= 1, digits.utf8.count >= 8 else {
      throw CommandFailure(
        .usage, "this id fits several entries or is too short", hint: "write at least 8 digits")
    }
    return found.first
  }

  /// Returns a person's last completion or skip.
  private static func last(_ person: PersonID, in state: HouseholdState) throws -> Undone? {
    let (entry, skip) = (
      try state.ledger.lastUndoable(by: person), try state.skips.last(by: person)
    )
    if let skip, entry.map({ $0.version < skip.version }) ?? true { return .skip(skip) }
    return entry.map(Undone.completion)
  }

  private func tell(_ entry: LedgerEntry, _ household: HouseholdContext) async throws {
    let (late, names) = try await household.read { state in
      (try state.ledger.entry(entry.event)?.late ?? [], try ChoreNames.names(in: state))
    }
    let doer = names[entry.person] ?? entry.person.hex
    var activity = ChoreActivity("undone", entry.chore, entry.choreTitle)
    activity.event = entry.event.hex
    activity.undid = "done"
    activity.person = doer
    activity.day = entry.day.iso
    let recorded = try await recorded(entry.version, household)
    try activity.tell(
      common,
      "undone: \(Style.safe(entry.choreTitle)), done on \(DayWords.text(entry.day)) by "
        + "\(Style.safe(doer)), recorded \(recorded)")
    for one in late { Output.note(EntryDocument.words(one)) }
  }

  private func tell(_ skip: SkipEntry, _ household: HouseholdContext) async throws {
    // Without a calendar day it is the day on which the chore is due again.
    let day = try await household.read { try skip.date ?? $0.chores.chore(skip.chore)?.next?.due }
    var activity = ChoreActivity("undone", skip.chore, skip.choreTitle)
    activity.event = skip.event.hex
    activity.undid = "skipped"
    activity.day = day?.iso
    let recorded = try await recorded(skip.version, household)
    try activity.tell(
      common,
      "undone: skip of \(Style.safe(skip.choreTitle))"
        + (day.map { " on \(DayWords.text($0))" } ?? "")
        + ", recorded \(recorded)")
  }

  /// The time at which an entry was recorded.
  private func recorded(
    _ version: Version, _ household: HouseholdContext
  ) async throws -> String {
    try await MomentText.of(household).text(version.time.milliseconds)
  }
}

/// `hearth skip`.
struct SkipChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "skip", abstract: "Skip the next occurrence of a chore.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Option(help: "Why.") var reason: String = ""

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let (name, reason) = (name, ShownText.normal(reason))
    let chore = try await household.write { state, builder in
      let chore = try ChoreNames.chore(name, in: state)
      try state.skips.add(chore.id, reason: reason, in: &builder)
      return chore
    }
    let day = chore.next?.due
    var activity = ChoreActivity("skipped", chore.id, chore.title)
    activity.day = day?.iso
    try activity.tell(
      common,
      "skipped: \(Style.safe(chore.title))" + (day.map { " on \(DayWords.text($0))" } ?? "")
        + " (undo with `hearth undo`)")
  }
}
