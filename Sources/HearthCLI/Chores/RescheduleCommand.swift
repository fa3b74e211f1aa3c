import ArgumentParser
import Hearth
import HearthCRDT
import Household

/// `hearth reschedule`.
struct RescheduleChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reschedule", abstract: "Move one occurrence to another day or time.",
    discussion: """
      Only this occurrence moves; the rule and all others stay. To move them all: `hearth edit`.

      Examples:
        hearth reschedule bins --to tomorrow
        hearth reschedule bins --occurrence 2026-11-23 --to 2026-11-24 --at 18:00
      """)
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Option(help: "The occurrence by its date; by default the next one.") var occurrence: String?
  @Option(help: "The new day; `back` for its original day.") var to: String
  @Option(help: "The new time of day, HH:MM.") var at: String?

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let today = try await household.today().date
    let command = self
    let (chore, due) = try await household.write(on: today) { state, builder in
      let chore = try ChoreNames.chore(command.name, in: state)
      let key = try command.occurrence.map { text in
        guard chore.rule?.mode == .calendar else {
          throw CommandFailure(
            .usage, "\(ShownText.quoted(chore.title)) has no dates of its own",
            hint: "leave out --occurrence to move its next one")
        }
        let date = try DateWords.date(text, today: today)
        let shown = try state.occurrences.due(through: date).filter { $0.chore == chore.id }
        if let moved = shown.first(where: { $0.due == date }) { return moved.key }
        return OccurrenceKey(try Occurrence(date, slot: 0))
      }
      let day = command.to == "back" ? nil : try DateWords.date(command.to, today: today)
      let time = try command.at.map(DateWords.time)
      try state.overrides.move(chore.id, occurrence: key, to: day, at: time, in: &builder)
      return (chore, day)
    }
    let time = at.map { " at \($0)" } ?? ""
    var activity = ChoreActivity("moved", chore.id, chore.title)
    activity.day = due?.iso
    try activity.tell(
      common, "moved: \(Style.safe(chore.title)) to \(due?.iso ?? "its original day")\(time)")
  }
}
