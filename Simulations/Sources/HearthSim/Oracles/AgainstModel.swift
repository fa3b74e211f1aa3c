import FamilyModel
import FamilyTranslation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync
import Household

/// Compares what a device shows with the independent model of the household's rules, fed with the
/// same changes.
struct AgainstModel {
  private let world: World
  private let device: SimDevice
  private let model: FamilyModel
  private let today: Int
  /// Whether the model can tell what must be: it knows nothing of closed weeks and months, nor of
  /// what a device decided that contradicted itself among the members' operations.
  private let isReckonable: Bool

  init(_ world: World, _ device: SimDevice) throws {
    self.world = world
    self.device = device
    today = Int(try device.today(at: world.now).dayNumber)
    let changes = try AgainstModel.changes(in: world, known: device)
    let isClosed = changes.contains { change in
      change.operations.contains { $0.key.type == HouseholdSchema.close }
    }
    let log = try PeopleLog(of: device, in: world)
    isReckonable = !isClosed && log.isWhole
    model = FamilyModel(
      facts: isReckonable ? try AgainstModel.facts(changes, in: world, device, log) : [],
      today: today)
  }

  /// The changes that a device holds, by author and number.
  private static func changes(in world: World, known device: SimDevice) throws -> [Change] {
    let frontier = try device.engine().zone(device.home ?? .zero).frontier
    return world.allChanges.values.filter { frontier.covers($0.dot) }
      .sorted { $0.dot < $1.dot }
  }

  /// Changes as facts with their whole past.
  private static func facts(
    _ changes: [Change], in world: World, _ device: SimDevice, _ log: PeopleLog
  ) throws -> [ModelFact] {
    let membership = try device.membership()
    let roles = ChangeRoles(
      Dictionary(changes.map { ($0.dot, $0) }, uniquingKeysWith: { first, _ in first }),
      in: device.home ?? .zero, by: log)
    var names = RecordNames()
    for change in changes where roles.role(change.dot) != nil { names.note(change.operations) }
    var facts: [ModelFact] = []
    var seen = Frontier()
    var author: Author?
    for change in changes {
      if change.dot.author != author {
        author = change.dot.author
        seen = Frontier()
      }
      guard let raised = seen.raised(by: change.seen) else {
        throw world.fail(.causality, device, "\(change.dot) has seen beyond the limit")
      }
      seen = raised
      var past = seen
      past.advance(change.dot.author, to: change.dot.sequence - 1)
      guard roles.role(change.dot) != nil else { continue }
      // Who may take back what others did is asked of the present role.
      let author = membership.person(of: change.dot.author.device)
      facts +=
        Translation(
          version: Version(dot: change.dot, time: change.time), past: past,
          operations: change.operations,
          author: (author?.id ?? .zero, AgainstModel.role(author?.role)), names: names
        ).facts
    }
    return facts
  }

  private static func role(_ role: Role?) -> ModelRole {
    switch role {
    case .owner: .owner
    case .admin: .admin
    case .child: .child
    case .reader: .reader
    case .member, nil: .member
    }
  }

  /// Compares ledger, points and next occurrences, where the model can tell them.
  func check() throws {
    guard isReckonable else { return }
    try device.read(at: world.now) { state in
      try ledger(state)
      try points(state)
      try occurrences(state)
      try everyOccurrence(state)
    }
  }

  /// Every completion is credited, noted, undone or void in both, for the same points.
  private func ledger(_ state: HouseholdState) throws {
    let real = Set(
      try state.ledger.entries(of: nil).map {
        "\($0.event.hex) \($0.day.dayNumber) \($0.kind) \($0.points)"
      }
    )
    let expected = Set(
      model.ledger.map { entry in
        "\(Identifier(high: entry.event.high, low: entry.event.low).hex) \(entry.day) "
          + "\(entry.kind) \(entry.points)"
      })
    guard real == expected else {
      throw world.fail(
        .singleAward, device,
        "ledger: only real \(real.subtracting(expected).sorted().prefix(2)), only model "
          + "\(expected.subtracting(real).sorted().prefix(2))")
    }
  }

  private func points(_ state: HouseholdState) throws {
    let date = ModelCalendar.date(today)
    for person in try state.people.all() {
      let id = ModelID(person.id)
      let points = try state.totals.points(of: person.id)
      let real = [points.total, points.week, points.month]
      let expected = [
        model.total(id), model.points(id, containing: today),
        model.points(id, year: date.year, month: date.month),
      ]
      guard real == expected else {
        throw world.fail(
          .points, device,
          "points of \(person.name), total, week and month: real \(real), model \(expected)")
      }
    }
  }

  private func occurrences(_ state: HouseholdState) throws {
    for chore in try state.chores.all(includingArchived: false) {
      let expected = model.nextOccurrence(ModelID(chore.id))
      let real = chore.next
      guard real?.key.rawValue == expected?.key,
        real?.due.map({ Int($0.dayNumber) }) == expected?.due
      else {
        let shown = real.map { "\($0.key.rawValue) due \($0.due?.iso ?? "-")" } ?? "none"
        let wanted = expected.map { "\($0.key) due \($0.due.map(String.init) ?? "-")" } ?? "none"
        throw world.fail(
          .occurrences, device, "\(chore.title): next is \(shown), by the model \(wanted)")
      }
    }
  }

  /// How far ahead occurrences are compared: more than one turn of every usual rule but the yearly.
  private static let daysAhead = 40

  /// What is open of each chore is what the model has: nothing more, nothing left out.
  private func everyOccurrence(_ state: HouseholdState) throws {
    let last = today + AgainstModel.daysAhead
    let shown = Dictionary(
      grouping: try state.occurrences.due(through: try CivilDate(dayNumber: last)), by: \.chore)
    for chore in try state.chores.all(includingArchived: true) {
      // Turns by the dice are not modelled.
      let isByTheDice = if case .rotation(_, .random) = chore.assignment { true } else { false }
      func words(_ key: Int64, _ due: Int?, _ person: ModelID?) -> String {
        "\(key) due \(due.map { "\($0)" } ?? "-")"
          + (isByTheDice ? "" : " for \(person.map { "\($0)" } ?? "-")")
      }
      let real = (shown[chore.id] ?? []).sorted { $0.key < $1.key }.map {
        words($0.key.rawValue, $0.due.map { Int($0.dayNumber) }, $0.assignee.map { ModelID($0) })
      }
      let expected = model.openOccurrences(ModelID(chore.id), through: last)
        .sorted { $0.key < $1.key }.map { words($0.key, $0.due, $0.assignee) }
      guard real == expected else {
        let (more, fewer) = (Set(real).subtracting(expected), Set(expected).subtracting(real))
        throw world.fail(
          .occurrences, device,
          "\(chore.title): \(real.count) open, by the model \(expected.count); only shown "
            + "\(more.sorted().prefix(2)), only in the model \(fewer.sorted().prefix(2))")
      }
    }
    SimProbe.occurrencesCompared.hit()
  }
}
