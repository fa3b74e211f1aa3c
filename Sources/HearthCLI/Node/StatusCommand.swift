import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Shows the identity and state of this node.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the identity and state of this node.")

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Household: Encodable {
      let name: String
      let id: String
      let role: String?
      let people: Int
      let devices: Int
      let changes: UInt64
      /// The number of own changes among `changes` that no transport has taken.
      let unsynced: Int
      /// The number of own membership operations that no transport has taken.
      let unsyncedMembership: Int
      let waiting: [String: Int]
      let forks: [String]
      let standing: StandingText.Document
      /// The history that newcomers may read: `everything` or `from-joining`.
      let newcomers: String
      let warning: String?
      /// The numbers of the transports that carry it.
      let transports: [Int]
      /// Whether none of the existing transports carries it.
      let isStranded: Bool
    }
    struct Transport: Encodable {
      let number: Int
      let kind: String
      let path: String
      let scope: ScopeText
      let unpublishedSegments: Int?
      let failure: String?
      let problem: String?
      /// The time at which it was last seen rolled back to an older state; absent if not within a
      /// week.
      let setBack: String?
    }
    let home: String
    let person: String
    let personId: String
    let device: String
    let deviceId: String
    let life: Int
    let households: [Household]
    let privateDatabase: PrivateText.Document?
    let pendingJoins: [PendingJoinText]
    let transports: [Transport]
    let notices: [NoticeText.Document]
    let clock: [ClockText.Document]
  }

  func run() async throws {
    let node = try await options.open()
    let statuses = try await node.diagnostics.zones()
    let transports = try await node.transports.statuses()
    let notices = try await node.notices()
    let clocks = try await node.diagnostics.clocks()
    let profile = await node.profile
    let device = await node.device
    let moment = try await MomentText.of(node)
    let stranded = try await StrandedText.items(on: node)
    var households: [Document.Household] = []
    for status in statuses where status.zone.kind == .data && status.zone.database == .shared {
      households.append(try await household(status, among: statuses, stranded, on: node))
    }
    let pending = try await node.admissions.requested().map { PendingJoinText($0) }
    var carriers: [Document.Transport] = []
    for status in transports { carriers.append(try await transport(status, on: node)) }
    let document = Document(
      home: await node.home, person: profile.personName, personId: await node.person.hex,
      device: profile.deviceName, deviceId: device.hex, life: await node.incarnation,
      households: households,
      privateDatabase: try await PrivateText.Document.of(node, statuses), pendingJoins: pending,
      transports: carriers, notices: notices.map(NoticeText.Document.init),
      clock: clocks.map(ClockText.Document.init))
    try await node.close()
    if options.json { return try Output.json(document) }
    show(document, moment, transports.map(\.rollbackMilliseconds), stranded)
    for item in stranded where item.zone.database == .personal {
      Output.print(Style.yellow("private:   none of your transports carries it: \(item.remedy)"))
    }
    for notice in notices.suffix(StatusCommand.shownNotices) {
      Output.print("notice:    \(NoticeText.line(notice, moment))")
    }
    for finding in clocks { Output.print("clock:     \(Style.yellow(ClockText.line(finding)))") }
  }

  private static let shownNotices = 5

  // MARK: What is shown

  private func household(
    _ status: ZoneStatus, among statuses: [ZoneStatus], _ stranded: [StrandedText.Item],
    on node: Node
  ) async throws -> Document.Household {
    let membership = try await node.membership(of: status.zone.group)
    // Membership operations of the same group are part of the household's status.
    let group = statuses.filter { $0.zone.group == status.zone.group }
    var waiting: [String: Int] = [:]
    for item in group.flatMap(\.waiting) {
      waiting[item.reason.rawValue, default: 0] += item.count
    }
    return Document.Household(
      name: status.zone.name, id: status.zone.id.hex,
      role: membership.role(of: await node.device)?.name, people: membership.people.count,
      devices: membership.devices.count, changes: status.changes,
      unsynced: status.unsynced,
      unsyncedMembership: group.filter { $0.zone.kind == .control }
        .reduce(0) { $0 + $1.unsynced },
      waiting: waiting,
      forks: Set(group.flatMap(\.forks).map(\.device)).sorted().map(\.hex),
      standing: try await StandingText.Document(of: status.zone, on: node),
      newcomers: NewcomerWords.word(membership.newcomers),
      warning: try await node.people.riskWarning(of: status.zone.group),
      transports: try await node.transports.list(of: status.zone.group).map(\.number),
      isStranded: stranded.contains { $0.zone.group == status.zone.group })
  }

  private func transport(_ status: TransportStatus, on node: Node) async throws
    -> Document.Transport
  {
    Document.Transport(
      number: status.setting.number, kind: status.setting.kind.rawValue,
      path: status.setting.path,
      scope: try await ScopeText(status.setting, on: node),
      unpublishedSegments: status.unpublished, failure: status.failure,
      problem: status.oldKeys.map { "\($0.fault): \($0.remedy)" },
      setBack: status.rollbackMilliseconds.map(MomentText.iso))
  }

  // MARK: Showing it

  private func show(
    _ document: Document, _ moment: MomentText, _ setBacks: [UInt64?],
    _ stranded: [StrandedText.Item]
  ) {
    Output.print("person:    \(Style.bold(document.person))")
    let life = document.life > 1 ? ", incarnation \(document.life)" : ""
    Output.print("device:    \(document.device) (\(document.deviceId.prefix(8))\(life))")
    Output.print("home:      \(document.home)")
    if document.households.isEmpty && document.pendingJoins.isEmpty {
      Output.print("household: none yet; `hearth household create NAME` or `hearth join -`")
    }
    for household in document.households { show(household, in: document, stranded) }
    for line in document.privateDatabase.map(PrivateText.lines) ?? [] { Output.print(line) }
    for pending in document.pendingJoins {
      for line in pending.lines { Output.print(line) }
    }
    if document.transports.isEmpty {
      Output.print("transport: none yet; `hearth transport add folder PATH`")
    }
    for (transport, setBack) in zip(document.transports, setBacks) {
      show(transport, of: document.households, setBack.map(moment.text))
    }
  }

  private func show(
    _ household: Document.Household, in document: Document, _ stranded: [StrandedText.Item]
  ) {
    Output.print("household: \(Style.bold(Style.safe(household.name))), \(words(household))")
    let kinds = document.transports.filter { household.transports.contains($0.number) }
      .map(\.kind)
    for line in StandingText.lines(household.standing, kinds: kinds) {
      Output.print("           " + line)
    }
    if household.newcomers != NewcomerWords.word(.full) {
      Output.print("           \(NewcomerWords.words(.fromJoin))")
    }
    // Pending segments of a removed device never become readable.
    let waiting = household.standing.ended == nil ? household.waiting : [:]
    for (reason, count) in waiting.sorted(by: { $0.key < $1.key }) {
      let words = PendingReason(rawValue: reason).map(Words.reason) ?? reason
      Output.print("           \(Words.count(count, "segment")) waiting for \(words)")
    }
    if let warning = household.warning {
      Output.print(Style.yellow("           warning: \(warning)"))
    }
    for item in stranded where item.zone.id.hex == household.id {
      Output.print(
        Style.yellow("           none of your transports carries it: \(item.remedy)"))
    }
    for fork in household.forks {
      Output.print(
        Style.red("           device \(fork.prefix(8)) published two different histories"))
    }
  }

  /// - Parameter setBack: when this device found the transport rolled back, in words.
  private func show(
    _ transport: Document.Transport, of households: [Document.Household], _ setBack: String?
  ) {
    Output.print("transport: \(words(transport, in: households))")
    if let problem = transport.problem {
      Output.print(Style.yellow("           " + Style.safe(problem)))
    }
    if let setBack {
      Output.print(
        Style.yellow(
          "           this device found it rolled back to an old copy on "
            + "\(setBack): `hearth log`"))
    }
  }

  private func words(_ household: Document.Household) -> String {
    let people = household.people == 1 ? "1 person" : "\(household.people) people"
    let own = UnsyncedText.words(
      household.unsynced, membership: household.unsyncedMembership,
      isOver: household.standing.ended != nil)
    return "\(people), \(Words.count(household.devices, "device")), you are "
      + "\(household.role ?? "no member"), "
      + "\(Words.count(Int(clamping: household.changes), "change")),"
      + " \(own)"
  }

  private func words(
    _ transport: Document.Transport, in households: [Document.Household]
  ) -> String {
    if let failure = transport.failure { return Style.red(Style.safe(failure)) }
    let missing = transport.unpublishedSegments ?? 0
    let carried = transport.scope.isEverything ? "" : "for \(transport.scope.words), "
    let place = "\(transport.kind) \(transport.path), \(carried)"
    let lost = households.filter {
      $0.standing.ended != nil && $0.unsynced + $0.unsyncedMembership > 0
        && $0.transports.contains(transport.number)
    }
    if missing == 0, !lost.isEmpty {
      let parts = lost.map {
        "\(Words.count($0.unsynced + $0.unsyncedMembership, "change")) of \(Style.safe($0.name))"
      }
      return place + "lacks \(parts.joined(separator: " and ")), but this device is removed"
    }
    return place
      + (missing == 0
        ? "has all segments of this device"
        : "lacks \(Words.count(missing, "segment")): `hearth sync`")
  }
}
