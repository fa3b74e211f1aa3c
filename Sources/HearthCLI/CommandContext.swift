import ArgumentParser
import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The options of every command.
package struct CommonOptions: ParsableArguments {
  @Option(
    name: .long,
    help: "The node's folder; otherwise HEARTH_HOME, otherwise $XDG_DATA_HOME/hearth.")
  var home: String?

  @Flag(name: .long, help: "Print one JSON document with `schema: 1`.")
  var json = false

  @Option(name: .long, help: "A file that holds the passphrase of the node's key.")
  var passphraseFile: String?

  @Option(name: .long, help: "The household, where this node is in several.")
  var household: String?

  @Option(name: .long, help: "When to colour: auto, always or never.")
  var color: ColorChoice?

  package init() {}

  /// The node's folder: from the flag, else the environment, else the default.
  var homePath: String {
    let environment = ProcessInfo.processInfo.environment
    if let home { return home }
    if let home = environment["HEARTH_HOME"], !home.isEmpty { return home }
    let data =
      environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
      ?? FileManager.default.homeDirectoryForCurrentUser.path + "/.local/share"
    return data + "/hearth"
  }

  /// Returns the passphrase without its line end; nil if none was given.
  ///
  /// It comes from the file that the flag or `HEARTH_PASSPHRASE_FILE` names. Neither a flag nor a
  /// variable contains the passphrase itself: the process list shows arguments, and every program
  /// that a shell starts inherits its variables.
  func passphrase() throws -> [UInt8]? {
    let environment = ProcessInfo.processInfo.environment
    let named = environment["HEARTH_PASSPHRASE_FILE"].flatMap { $0.isEmpty ? nil : $0 }
    guard let file = passphraseFile ?? named else { return nil }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw CommandFailure(.failed, "the passphrase file \(file) cannot be read")
    }
    var bytes = [UInt8](data)
    while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// Returns the passphrase of an existing key: the given one, or the answer to a prompt on a
  /// terminal.
  ///
  /// Without a terminal there is no prompt: piped input belongs to the command.
  private func passphraseOfKey() throws -> [UInt8]? {
    if let given = try passphrase() { return given }
    guard SecretInput.isTerminal, Node.isProtected(at: homePath) else { return nil }
    return try SecretInput.line(asking: "the passphrase of this node's key:")
  }

  /// Returns the passphrase for a new key: the given one, or one typed twice.
  ///
  /// - Parameter isAsked: whether to prompt for a passphrase, or to read the first line of piped
  ///   input.
  func passphraseOfNewKey(isAsked: Bool) throws -> [UInt8]? {
    guard isAsked else { return try passphrase() }
    guard passphraseFile == nil else {
      throw CommandFailure(
        .usage, "--ask-passphrase and --passphrase-file exclude each other",
        hint: "leave one of them out")
    }
    let typed = try SecretInput.line(
      asking: "a passphrase for this node's key:", isAlwaysAsked: false)
    guard SecretInput.isTerminal else { return typed }
    guard try SecretInput.line(asking: "the same once more:") == typed else {
      throw CommandFailure(
        .usage, "the two passphrases differ", hint: "nothing was made: try again")
    }
    return typed
  }

  /// Opens the node, and waits a moment for another command to end.
  func open() async throws -> Node {
    let node = try await Node.open(
      at: homePath, passphrase: try passphraseOfKey(), schema: CommandSchema.node)
    let values = try await SettingValues.load([.color], of: node, household: nil)
    Style.choose(flag: color, setting: values.color)
    if !json, ProgressLine.isShown { await node.tellTransfers(to: ProgressLine.tell) }
    return node
  }
}

/// This program's declarations of its records to a node.
package enum CommandSchema {
  static let node = NodeSchema(
    records: HouseholdSchema.all, projections: [HouseholdProjection()],
    policy: HouseholdSchema.rolePolicy, naturalKeys: HouseholdSchema.naturalKeys,
    zoneName: { try HouseholdSettings.name(in: $0) })
}

/// A household for commands.
struct HouseholdContext {
  let node: Node
  let zone: ZoneState

  /// Opens the selected household: the named one, the only one, or the one in the settings.
  static func open(_ options: CommonOptions) async throws -> HouseholdContext {
    let node = try await options.open()
    return HouseholdContext(node: node, zone: try await chosen(options, on: node))
  }

  /// Returns the zone of the selected household.
  static func chosen(_ options: CommonOptions, on node: Node) async throws -> ZoneState {
    let shared = await node.dataZones().filter { $0.database == .shared }
    guard !shared.isEmpty else { throw try await noHousehold(on: node) }
    if let wanted = options.household { return try HouseholdNames.zone(wanted, among: shared) }
    if shared.count == 1, let zone = shared.first { return zone }
    let values = try await SettingValues.load([.defaultHousehold], of: node, household: nil)
    let usual = values.effective(.defaultHousehold).value
    if !usual.isEmpty, !HouseholdNames.zones(usual, among: shared).isEmpty {
      return try HouseholdNames.zone(usual, among: shared)
    }
    // A household that this device has left is used only if it is named, or is the only one.
    var present: [ZoneState] = []
    for zone in shared where await node.ending(in: zone.group) == nil { present.append(zone) }
    if present.count == 1, let zone = present.first { return zone }
    let names = (present.isEmpty ? shared : present).map { Style.safe($0.name) }
      .joined(separator: ", ")
    throw CommandFailure(
      .usage, "this node is in several households: \(names)",
      hint: "add --household NAME, or choose with `hearth settings set default-household NAME`")
  }

  /// Returns the failure for a node without a household, with the remedy.
  private static func noHousehold(on node: Node) async throws -> CommandFailure {
    let asked = try await node.pendingJoins().filter { $0.isPrivate != true }
    guard let last = asked.last else {
      return CommandFailure(
        .failed, "this node is in no household yet",
        hint: "make one with `hearth household create NAME`, or join one with `hearth join -`")
    }
    let pending = StandingText.Pending(last)
    return CommandFailure(
      .failed, "this node is in no household yet: \(StandingText.words(pending))",
      hint: pending.isOver
        ? "`hearth join -` with a new link"
        : "`hearth sync` looks whether it has; the number to compare is \(pending.number)")
  }

  /// Returns the present day and minute in the household's time zone.
  ///
  /// Before the hour at which the household's day starts, the day is still the previous one.
  func today() async throws -> (date: CivilDate, time: CivilTime) {
    let (zoneName, startHour) = try await node.read(zone.id) { source in
      let settings = try HouseholdBook(source: source, today: CivilDate(dayNumber: 0)).settings
      return (settings.timeZone, settings.dayStartHour)
    }
    if !HouseholdClock.isKnown(zoneName) { try await SettingFaultText.warn(of: zone, on: node) }
    let moment = try HouseholdClock(knownOrUTC: zoneName).civil(
      milliseconds: await node.nowMilliseconds())
    guard Int(moment.time.minuteOfDay) < startHour * 60 else { return moment }
    return (moment.date.adding(days: -1) ?? moment.date, moment.time)
  }

  /// Reads through the household's book.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (HouseholdBook) throws -> Result
  ) async throws -> Result {
    let today = try await today().date
    return try await node.read(zone.id) { source in
      try body(try HouseholdBook(source: source, today: today))
    }
  }

  /// Writes one transaction through the household's book.
  func write<Result: Sendable>(
    _ body: @escaping @Sendable (HouseholdBook, inout OperationBuilder) throws -> Result
  ) async throws -> Result {
    let today = try await today().date
    let zone = zone.id
    let gate = await roleGate()
    let result = try await node.write(to: zone) { source, dot in
      let book = try HouseholdBook(source: source, today: today)
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(book, &builder)
      try gate.check(builder.operations)
      return (builder.operations, result)
    }
    try await introducePerson()
    return result
  }
}

/// A household's time zone at the edge, which converts between instants and civil dates.
struct HouseholdClock {
  private let calendar: Calendar

  /// Whether this machine knows a time zone; machines may differ.
  static func isKnown(_ name: String) -> Bool { TimeZone(identifier: name) != nil }

  /// The clock of a zone that somebody else may have set; UTC if this machine does not know it.
  init(knownOrUTC name: String) throws {
    try self.init(timeZone: HouseholdClock.isKnown(name) ? name : "UTC")
  }

  init(timeZone name: String) throws {
    guard HouseholdClock.isKnown(name), let zone = TimeZone(identifier: name) else {
      throw CommandFailure(
        .usage, "time zone \(name) is not known on this machine",
        hint: "names look like Europe/Berlin")
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    self.calendar = calendar
  }

  /// Returns the civil date and minute of an instant.
  func civil(milliseconds: UInt64) throws -> (date: CivilDate, time: CivilTime) {
    let instant = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: instant)
    return (
      try CivilDate(year: parts.year ?? 1970, month: parts.month ?? 1, day: parts.day ?? 1),
      try CivilTime(hour: parts.hour ?? 0, minute: parts.minute ?? 0)
    )
  }
}
