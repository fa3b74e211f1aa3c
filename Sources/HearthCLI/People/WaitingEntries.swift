import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Contested joins that await an owner or admin.
enum WaitingEntries {
  /// A contested join as displayed.
  struct Item: Encodable {
    let person: String
    let device: String
    let deviceId: String
    /// Absent for a further device of a member.
    let role: String?
    let at: String
    let reason: String
  }

  static func all(in membership: Membership) -> [Item] {
    membership.entries.waiting.map { entry in
      Item(
        person: entry.personName, device: entry.deviceName, deviceId: entry.device.hex,
        role: entry.role?.name, at: MomentText.iso(entry.since.milliseconds),
        reason: reason(of: entry, in: membership))
    }
  }

  private static func reason(of entry: WaitingEntry, in membership: Membership) -> String {
    if case .overruled(let closing, .invitationClosed) = entry.reason,
      membership.audit().contains(where: { $0.id == closing && $0.end == .expired })
    {
      return "the invitation had expired, and a device closed it before this joining arrived there"
    }
    return membership.voided.first { $0.id == entry.id }.map { membership.words(for: $0) }
      ?? "another operation speaks against it"
  }

  /// Lists them, with the next steps.
  static func show(_ items: [Item]) {
    for item in items {
      let role = item.role.map { "as \($0)" } ?? "as a further device"
      Output.print(
        "\(Style.bold(Style.safe(item.person))) with \(Style.safe(item.device)) "
          + "(\(item.deviceId.prefix(8))), \(role), joined by link and needs approval: "
          + Style.safe(item.reason))
    }
    guard !items.isEmpty else { return }
    Output.note(
      "approve them only if you know whose device it is: `hearth approve DEVICE`; until then "
        + "their changes do not count")
  }

  /// Returns the join of a name or of digits of the device's id; nil if there is none.
  static func find(_ text: String, in context: HouseholdContext) async throws -> WaitingEntry? {
    let waiting = try await context.node.membership(of: context.zone.group).entries.waiting
    let digits = text.lowercased()
    if digits.utf8.count >= 4, digits.allSatisfy(\.isHexDigit),
      let found = waiting.first(where: { $0.device.hex.hasPrefix(digits) })
    {
      return found
    }
    switch NameMatch(text, among: waiting, name: \.personName) {
    case .one(let found): return found
    case .several(let found):
      let list = found.map { "  \(ShortID.text($0.device))  \(Style.safe($0.personName))" }
      throw CommandFailure(
        .failed,
        "\(ShownText.quoted(text)) fits several joins:\n" + list.joined(separator: "\n"),
        hint: "write the device's id")
    case .none: return nil
    }
  }

  /// Refuses a number for a join by link, which shows none.
  static func hasNoNumber(_ entry: WaitingEntry) -> CommandFailure {
    let name = Style.safe(entry.personName)
    return CommandFailure(
      .notAllowed, "\(name) joined by link and has no number to compare",
      hint: "ask \(name) whether \(Style.safe(entry.deviceName)) "
        + "(\(ShortID.text(entry.device))) is theirs, then `hearth approve` without `--number`")
  }

  /// Confirms a pending join.
  static func confirm(
    _ entry: WaitingEntry, in context: HouseholdContext, isGiven: Bool, _ options: CommonOptions
  ) async throws {
    struct Document: Encodable {
      let person: String
      let device: String
      let role: String?
    }
    let membership = try await context.node.membership(of: context.zone.group)
    let name = Style.safe(entry.personName)
    let device = "\(Style.safe(entry.deviceName)) (\(ShortID.text(entry.device)))"
    try Confirmation.ask(
      "approve \(name) with \(device), although \(reason(of: entry, in: membership))?",
      isGiven: isGiven)
    let report = try await context.node.admissions.confirm(entry, in: context.zone.group)
    try await context.node.close()
    if options.json {
      try Output.json(
        Document(
          person: entry.personName, device: entry.deviceName, role: entry.role?.name))
    } else {
      Output.print("\(name) is a member: their changes count now")
      Output.note("next, on \(name)'s \(Style.safe(entry.deviceName)): `hearth sync`")
    }
    try SyncText.check(report, isQuiet: true)
  }
}
