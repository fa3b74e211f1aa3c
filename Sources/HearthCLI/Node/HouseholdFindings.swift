import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The invalid writes of a household's members, for `hearth doctor`.
enum HouseholdFindings {
  /// Returns invalid settings, and completions that no unmodified program writes.
  static func all(on node: Node) async throws -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    for zone in await node.dataZones() where zone.database == .shared {
      guard try await node.ending(in: zone.group) == nil else { continue }
      findings += try await SettingFaultText.all(of: zone, on: node).map {
        DoctorFinding("settings", "\(zone.name): \($0.text)", remedy: $0.remedy)
      }
      findings += try await entries(of: zone, on: node)
      findings += try await limits(of: zone, on: node)
    }
    return findings
  }

  /// Returns the records in which somebody exceeded a device's limits.
  private static func limits(
    of zone: ZoneState, on node: Node
  ) async throws -> [DoctorFinding] {
    let membership = try await node.membership(of: zone.group)
    var findings: [DoctorFinding] = []
    for record in try await node.diagnostics.overfullRecords(in: zone.group)
    where record.zone == zone.id {
      let device = record.author.device
      let deviceName = membership.device(device)?.card.name ?? ShortID.text(device)
      let person = membership.person(of: device)?.name ?? "somebody"
      let title = try await title(of: record.key, in: zone, on: node)
      findings.append(
        DoctorFinding(
          "limit",
          "\(zone.name): \(person) on \(deviceName) put more into \(title) than one device may: "
            + "\(Words.count(record.changes, "change")) of that device "
            + "\(record.changes == 1 ? "has" : "have") no effect",
          remedy: "ask \(person) what that device runs: no honest program does that; "
            + "`hearth quarantine` shows the changes, `hearth device revoke` removes the device"))
    }
    return findings
  }

  /// A record's type and title.
  private static func title(
    of key: RecordKey, in zone: ZoneState, on node: Node
  ) async throws -> String {
    guard let schema = HouseholdSchema.all.first(where: { $0.id == key.type }) else {
      return "record \(ShortID.text(key.id)) of a type that this version does not know"
    }
    let title = try await node.read(zone.id) { source in
      try source.record(key).map { FieldConflict.title(of: $0, schema) } ?? ""
    }
    return "the \(schema.name) "
      + (title.isEmpty ? ShortID.text(key.id) : ShownText.quoted(title))
  }

  private static func entries(
    of zone: ZoneState, on node: Node
  ) async throws -> [DoctorFinding] {
    let household = HouseholdContext(node: node, zone: zone)
    let (found, names) = try await household.read { state in
      (try state.audit.faults(), try ChoreNames.names(in: state))
    }
    let membership = try await node.membership(of: zone.group)
    return found.map { item in
      let (entry, fault) = (item.first.entry, item.first.fault)
      let device = membership.device(entry.device)?.card.name ?? ShortID.text(entry.device)
      let writer = names[entry.by] ?? membership.person(entry.by)?.name ?? "somebody"
      let doer = names[entry.person] ?? membership.person(entry.person)?.name ?? "somebody"
      let what =
        "\(zone.name): \(writer) on \(device) entered \(Words.count(item.count, "completion"))"
      let first = "\(ShownText.quoted(entry.choreTitle)) by \(doer) on \(entry.day.iso)"
      guard let fault else {
        return DoctorFinding(
          "entries", "\(what) dated after tomorrow, the first: \(first)",
          remedy: "set the date on that device; each counts when its day comes, unless an admin "
            + "undoes it: `hearth undo --event \(entry.event.hex.prefix(12))`")
      }
      return DoctorFinding(
        "entries", "\(what) \(words(fault)), the first: \(first)",
        remedy: "none of them counts; ask \(writer) what that device runs; `hearth history` shows "
          + "the entries")
    }
  }

  /// The fault of such completions in words.
  private static func words(_ fault: CompletionFault) -> String {
    switch fault {
    case .archived: "of a chore that the device knew to be archived"
    case .impossibleTime: "at impossible times"
    case .unknownChore: "of a chore that the device did not know"
    case .noSuchOccurrence: "for days or times that the chore's rule does not have"
    case .tooEarly: "too early, with other occurrences or other work before them"
    case .superseded: "that a later one had replaced"
    case .notAssigned: "by somebody who was not assigned"
    }
  }
}
