import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// What the members of a household wrote that cannot be, for `hearth doctor`.
enum HouseholdFindings {
  /// Settings that cannot be, and completions that no unchanged program writes.
  static func all(on node: Node) async throws -> [DoctorCommand.Finding] {
    var findings: [DoctorCommand.Finding] = []
    for zone in await node.dataZones() where zone.database == .shared {
      guard await node.ending(in: zone.group) == nil else { continue }
      findings += try await SettingFaultText.all(of: zone, on: node).map {
        DoctorCommand.Finding("settings", "\(zone.name): \($0.text)", remedy: $0.remedy)
      }
      findings += try await entries(of: zone, on: node)
    }
    return findings
  }

  private static func entries(
    of zone: ZoneState, on node: Node
  ) async throws -> [DoctorCommand.Finding] {
    let household = HouseholdContext(node: node, zone: zone)
    let (found, names) = try await household.read { book in
      (try book.entryFaults(), try ChoreNames.names(in: book))
    }
    let membership = await node.membership(of: zone.group)
    return found.map { item in
      let (entry, fault) = (item.first.entry, item.first.fault)
      let device = membership.device(entry.device)?.card.name ?? ShortID.text(entry.device)
      let writer = names[entry.by] ?? membership.person(entry.by)?.name ?? "somebody"
      let doer = names[entry.person] ?? membership.person(entry.person)?.name ?? "somebody"
      let what =
        "\(zone.name): \(writer) on \(device) entered \(Words.count(item.count, "completion"))"
      let first = "\(ShownText.quoted(entry.choreTitle)) by \(doer) on \(entry.day.iso)"
      guard let fault else {
        return DoctorCommand.Finding(
          "entries", "\(what) dated after tomorrow, the first: \(first)",
          remedy: "set the date on that device; each counts when its day comes, unless an admin "
            + "takes it back: `hearth undo --event \(entry.event.hex.prefix(12))`")
      }
      return DoctorCommand.Finding(
        "entries", "\(what) \(words(fault)), the first: \(first)",
        remedy: "nothing counts of it; ask \(writer) what that device runs, `hearth history` shows "
          + "the entries")
    }
  }

  /// What is wrong with such completions.
  private static func words(_ fault: CompletionFault) -> String {
    switch fault {
    case .archived: "of a chore that was seen to be archived"
    case .impossibleTime: "at times that cannot be"
    case .unknownChore: "of a chore that was not seen"
    case .noSuchOccurrence: "for days or times that the chore's rule does not have"
    case .tooEarly: "that lie too far ahead, with others to come before them"
    case .superseded: "that a later one had taken the place of"
    case .notAssigned: "by somebody who was not assigned"
    }
  }
}
