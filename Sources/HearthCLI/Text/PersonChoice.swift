import HearthCRDT
import HearthMembership
import HearthSync

/// A person who may match a typed name.
struct PersonChoice: Equatable, Sendable {
  let id: PersonID
  let name: String

  /// The least number of digits of an id that identify a person.
  private static let leastDigits = 4

  /// Returns the person of a name or of digits of the id.
  ///
  /// Members win over former members with a matching name. Only members are suggested if nobody
  /// matches.
  static func find(
    _ text: String, among everybody: [PersonChoice], isPresent: (PersonChoice) -> Bool
  ) -> NameMatch<PersonChoice> {
    let folded = NameFolding.fold(text)
    if folded.utf8.count >= leastDigits, folded.allSatisfy(\.isHexDigit),
      !everybody.contains(where: { NameFolding.fold($0.name) == folded })
    {
      let found = everybody.filter { $0.id.hex.hasPrefix(folded) }
      if let first = found.first { return found.count == 1 ? .one(first) : .several(found) }
    }
    switch NameMatch(text, among: everybody, name: \.name) {
    case .several(let found):
      let present = found.filter(isPresent)
      if let only = present.first, present.count == 1 { return .one(only) }
      return .several(present.isEmpty ? found : present)
    case .none: return NameMatch(text, among: everybody.filter(isPresent), name: \.name)
    case let one: return one
    }
  }

  /// The failure if a name matches several people.
  static func several(_ text: String, _ found: [PersonChoice]) -> CommandFailure {
    let sorted = found.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    let list = sorted.map { "  \(ShortID.text($0.id))  \(Style.safe($0.name))" }
    return CommandFailure(
      .failed,
      "\(ShownText.quoted(text)) fits \(found.count) people:\n" + list.joined(separator: "\n"),
      hint: "write more of the name, or the id in its place; `hearth device list` shows the "
        + "devices of each")
  }

  /// The warning if a newcomer's name equals a member's or looks like it; nil if it does not.
  static func warning(
    ofNewcomer name: String, _ id: PersonID?, in membership: Membership, _ household: String
  ) -> String? {
    let folded = NameFolding.fold(name)
    guard
      let other = membership.people.first(where: {
        $0.id != id && NameFolding.fold($0.name) == folded
      })
    else { return lookAlikeWarning(ofNewcomer: name, id, in: membership, household) }
    return "hearth: warning: \(Style.safe(household)) has another \(Style.safe(other.name)) "
      + "(\(ShortID.text(other.id))): to name one of them, write digits of the id from "
      + "`hearth member` in place of the name"
  }
}

extension PersonChoice {
  init(_ person: Member) { self.init(id: person.id, name: person.name) }

  /// The warning if a newcomer's name can be confused with a member's; nil if it cannot.
  static func lookAlikeWarning(
    ofNewcomer name: String, _ id: PersonID?, in membership: Membership, _ household: String
  ) -> String? {
    let skeleton = LookAlike.Skeleton(name)
    let folded = NameFolding.fold(name)
    guard
      let other = membership.people.first(where: {
        $0.id != id && NameFolding.fold($0.name) != folded
          && LookAlike.Skeleton($0.name).isLike(skeleton)
      })
    else { return nil }
    return "hearth: warning: the name \(Style.safe(name)) looks like that of "
      + "\(Style.safe(other.name)) (\(ShortID.text(other.id))), who is somebody else in "
      + Style.safe(household)
  }
}
