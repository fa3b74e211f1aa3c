import HearthCRDT
import HearthSync

/// A person who may be meant by what somebody typed.
struct PersonChoice: Equatable, Sendable {
  let id: PersonID
  let name: String

  /// How many digits of an id name a person.
  private static let leastDigits = 4

  /// Who is meant: by name, or by digits of the id.
  ///
  /// Of several whom a name fits, those who belong to the household go before those who did once;
  /// only those are suggested where it fits nobody.
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

  /// The failure where a name fits several people.
  static func several(_ text: String, _ found: [PersonChoice]) -> CommandFailure {
    let sorted = found.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    let list = sorted.map { "  \(ShortID.text($0.id))  \(Style.safe($0.name))" }
    return CommandFailure(
      .failed,
      "\(ShownText.quoted(text)) fits \(found.count) people:\n" + list.joined(separator: "\n"),
      hint: "write more of the name, or the id in its place; `hearth device list` tells whose "
        + "device is whose")
  }

  /// Names as they are shown in lists: with the id where somebody else has the same.
  static func shown(_ person: PersonChoice, among everybody: [PersonChoice]) -> String {
    isDoubled(person, among: everybody)
      ? "\(person.name) (\(ShortID.text(person.id)))" : person.name
  }

  /// Whether somebody else has the person's name, without regard to case.
  static func isDoubled(_ person: PersonChoice, among everybody: [PersonChoice]) -> Bool {
    let folded = NameFolding.fold(person.name)
    return everybody.contains { $0.id != person.id && NameFolding.fold($0.name) == folded }
  }

  /// What to say where a newcomer has the name of somebody who is there; nil where nobody has it.
  static func warning(
    ofNewcomer name: String, _ id: PersonID?, in membership: Membership, _ household: String
  ) -> String? {
    let folded = NameFolding.fold(name)
    guard
      let other = membership.people.first(where: {
        $0.id != id && NameFolding.fold($0.name) == folded
      })
    else { return nil }
    return "hearth: warning: \(Style.safe(household)) has another \(Style.safe(other.name)) "
      + "(\(ShortID.text(other.id))): where one of them is meant, write digits of the id, which "
      + "`hearth member` shows, in place of the name"
  }
}

extension Membership.Person {
  var choice: PersonChoice { PersonChoice(id: id, name: name) }
}
