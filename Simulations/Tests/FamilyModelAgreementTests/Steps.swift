import FamilyModel
import HearthCRDT
import HearthSync
import Household

/// One thing that happens in a random history; what cannot be done then is left out.
enum Step: Hashable, CustomStringConvertible {
  case meet
  case bring(from: Int, to: Int)
  case days(Int)
  case minutes(Int)
  case skew(Int, on: Int)
  case done(Int, by: Int, on: Int, back: Int)
  case doneAt(Int, offset: Int, by: Int, on: Int)
  /// Written by a program that checks nothing: of the day so far from the first one, or of none, on
  /// a clock that is so many days off.
  case forged(Int, offset: Int?, by: Int, on: Int, days: Int)
  case skip(Int, on: Int)
  case undo(Int, by: Int, on: Int, asAdmin: Bool)
  case points(Int, Int, on: Int)
  case title(Int, String, on: Int)
  case tag(Int, added: Bool, on: Int)
  case archive(Int, Bool, on: Int)
  case rule(Int, Int, on: Int)
  /// Gives a chore a rule of a version to come.
  case unreadable(Int, on: Int)
  case due(Int, Int, on: Int)
  case assign(Int, Int, on: Int)
  case assignOnce(Int, Int, on: Int)
  case move(Int, Int, on: Int)
  case setting(String, String?, on: Int)

  var description: String {
    switch self {
    case .meet: "meet"
    case .bring(let from, let to): "bring \(from)->\(to)"
    case .days(let count): "days \(count)"
    case .minutes(let count): "minutes \(count)"
    case .skew(let minutes, let device): "skew \(minutes) on \(device)"
    case .done(let chore, let person, let device, let back):
      "done chore \(chore) by \(person) on \(device) back \(back)"
    case .doneAt(let chore, let offset, let person, let device):
      "done chore \(chore) of day \(offset) by \(person) on \(device)"
    case .forged(let chore, let offset, let person, let device, let days):
      "forged chore \(chore) of day \(offset.map(String.init) ?? "-") by \(person) on \(device) in "
        + "\(days) days"
    case .skip(let chore, let device): "skip chore \(chore) on \(device)"
    case .undo(let place, let person, let device, let asAdmin):
      "undo entry \(place) by \(person) on \(device)\(asAdmin ? " as admin" : "")"
    case .points(let chore, let points, let device): "points \(points) chore \(chore) on \(device)"
    case .title(let chore, let title, let device): "title \(title) chore \(chore) on \(device)"
    case .tag(let chore, let added, let device): "tag \(added) chore \(chore) on \(device)"
    case .archive(let chore, let isArchived, let device):
      "\(isArchived ? "archive" : "restore") chore \(chore) on \(device)"
    case .rule(let chore, let rule, let device): "rule \(rule) chore \(chore) on \(device)"
    case .unreadable(let chore, let device): "rule to come chore \(chore) on \(device)"
    case .due(let chore, let day, let device): "due \(day) chore \(chore) on \(device)"
    case .assign(let chore, let choice, let device):
      "assignment \(choice) chore \(chore) on \(device)"
    case .assignOnce(let chore, let person, let device):
      "next of chore \(chore) to \(person) on \(device)"
    case .move(let chore, let days, let device): "next of chore \(chore) by \(days) on \(device)"
    case .setting(let key, let value, let device): "\(key) \(value ?? "cleared") on \(device)"
    }
  }
}

/// What a random history is made of.
struct Story {
  /// The rules of the two chores at first, by number; 0 is none.
  var rules = [0, 0]
  var assignments = [0, 0]
  var steps: [Step] = []
  /// Whether everybody hears of everything at once.
  var isTogether = false

  /// The rules that chores are given, written on a day.
  static func rule(_ number: Int, from anchor: CivilDate) throws -> RecurrenceRule? {
    switch number {
    case 1: try RecurrenceRule(.daily, from: anchor)
    case 2: try RecurrenceRule(.daily, every: 3, from: anchor)
    case 3: try RecurrenceRule(.weekly, from: anchor)
    case 4:
      try RecurrenceRule(
        .weekly, every: 2, on: .weekdays([WeekdaySet(.tuesday), WeekdaySet(.sunday)]),
        from: anchor)
    case 5: try RecurrenceRule(.monthly, on: .dayOfMonth(31), from: anchor)
    case 6: try RecurrenceRule(.daily, every: 2, from: anchor, mode: .afterCompletion)
    case 7: try RecurrenceRule(.weekly, from: anchor, mode: .afterCompletion)
    case 8: try RecurrenceRule(.monthly, from: anchor, mode: .afterCompletion)
    case 9: try RecurrenceRule(.yearly, from: anchor)
    case 10:
      try RecurrenceRule(
        .daily, every: 2, from: anchor, end: .until(anchor.adding(days: 12) ?? anchor))
    case 11:
      try RecurrenceRule(
        .daily, every: 3, from: anchor, mode: .afterCompletion,
        end: .until(anchor.adding(days: 9) ?? anchor))
    default: nil
    }
  }

  static func assignment(_ number: Int, _ people: [PersonID]) -> Assignment {
    switch number {
    case 1...3: .person(people[number - 1])
    case 4: .rotation(people, .byDate)
    case 5: .rotation([people[2], people[0]], .byDate)
    case 6: .rotation(people, .byTurn)
    case 7: .rotation([people[2], people[1]], .byTurn)
    case 8: .rotation(people.reversed(), .leastDone)
    default: .nobody
    }
  }

  /// Lives the story and gives the first differences, with how many steps it took.
  func differences() throws -> (step: Int, lines: [String])? {
    let pair = try Pair()
    let chores = try (0..<2).map { place in
      try pair.add(
        ChoreDraft(
          title: "Chore \(place)", points: 5 + place,
          assignee: Story.assignment(assignments[place], pair.people),
          rule: try Story.rule(rules[place], from: try pair.date(0))))
    }
    for (place, step) in steps.enumerated() {
      do {
        try Story.take(step, pair, chores)
      } catch is HouseholdError {
        // What the state refuses is left out.
      }
      if isTogether { try pair.meet() }
      // Comparing is dear: now and then will do, and at the end.
      guard (place + 1) % 10 == 0 || place == steps.count - 1 else { continue }
      for device in 0..<3 {
        let lines = try pair.differences(device)
        if !lines.isEmpty { return (place, ["device \(device)"] + lines) }
      }
    }
    return nil
  }

  private static func take(_ step: Step, _ pair: Pair, _ chores: [RecordID]) throws {
    switch step {
    case .meet: try pair.meet()
    case .bring(let from, let to): try pair.bring(from: from, to: to)
    case .days(let count): pair.day += count
    case .minutes(let count): pair.minute = min(pair.minute + count, 1430)
    case .skew(let minutes, let device): pair.skewMinutes[device] = minutes
    case .done(let chore, let person, let device, let back):
      try pair.done(chores[chore], by: person, on: device, back: back)
    case .doneAt(let chore, let offset, let person, let device):
      let key = OccurrenceKey(try Occurrence(try pair.date(offset)))
      try pair.done(chores[chore], by: person, on: device, key: key)
    case .forged(let chore, let offset, let person, let device, let days):
      try pair.forge(
        chores[chore], offset: offset, by: person, on: device, day: pair.day + days)
    case .undo(let place, let person, let device, let asAdmin):
      let entries = pair.model(device).ledger
      if entries.isEmpty { return }
      let event = entries[place % entries.count].event
      try pair.undo(
        Identifier(high: event.high, low: event.low), by: person, on: device, asAdmin: asAdmin)
    case .setting(let key, let value, let device): try pair.set(key, value, on: device)
    default: try change(step, pair, chores)
    }
  }

  private static func change(_ step: Step, _ pair: Pair, _ chores: [RecordID]) throws {
    switch step {
    case .skip(let chore, let device):
      try pair.write(device) {
        try $0.skips.add(chores[chore], reason: "", in: &$1)
      }
    case .points(let chore, let points, let device):
      try pair.edit(chores[chore], on: device) { $0.points = points }
    case .title(let chore, let title, let device):
      try pair.edit(chores[chore], on: device) { $0.title = title }
    case .tag(let chore, let added, let device):
      try pair.edit(chores[chore], on: device) {
        if added { $0.addTags = ["red"] } else { $0.removeTags = ["red"] }
      }
    case .archive(let chore, let isArchived, let device):
      try pair.write(device) {
        isArchived
          ? try $0.chores.archive(chores[chore], in: &$1)
          : try $0.chores.restore(chores[chore], in: &$1)
      }
    case .rule(let chore, let number, let device):
      let rule = try rule(number, from: try CivilDate(dayNumber: pair.day))
      try pair.edit(chores[chore], on: device) { $0.rule = .some(rule) }
    case .unreadable(let chore, let device):
      try pair.write(device) { _, builder in
        builder.append(
          RecordKey(type: HouseholdSchema.chore, id: chores[chore]),
          .assign(FieldID(.history, 8), .text("v2;moon=full")))
      }
    case .due(let chore, let offset, let device):
      let day = try CivilDate(dayNumber: pair.day + offset)
      try pair.edit(chores[chore], on: device) { $0.due = .some(day) }
    case .assign(let chore, let number, let device):
      try pair.edit(chores[chore], on: device) { $0.assignee = assignment(number, pair.people) }
    case .assignOnce(let chore, let person, let device):
      try pair.write(device) {
        try $0.overrides.assign(
          chores[chore], to: person > 2 ? nil : pair.people[person], in: &$1)
      }
    case .move(let chore, let days, let device):
      let day = try CivilDate(dayNumber: pair.day + days)
      try pair.write(device) { try $0.overrides.move(chores[chore], to: day, in: &$1) }
    default: break
    }
  }

  /// The story with every step left out that the difference does not need.
  func shrunk() throws -> Story {
    var story = self
    if let found = try story.differences() { story.steps = Array(steps.prefix(found.step + 1)) }
    var place = 0
    while place < story.steps.count {
      var shorter = story
      shorter.steps.remove(at: place)
      if try shorter.differences() != nil { story = shorter } else { place += 1 }
    }
    return story
  }

  /// The smallest difference of this story in words; nil if there is none.
  func report() throws -> String? {
    guard try differences() != nil else { return nil }
    let story = try shrunk()
    let lines = try story.differences()?.lines ?? []
    return "rules \(story.rules) assignments \(story.assignments)\n"
      + story.steps.map { "  \($0)" }.joined(separator: "\n") + "\n"
      + lines.joined(separator: "\n")
  }
}
