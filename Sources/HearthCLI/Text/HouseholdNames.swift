import Foundation
import HearthCRDT
import HearthSync
import Household

/// Resolves the typed name of a household.
enum HouseholdNames {
  /// The least number of digits of an id that identify a household.
  private static let leastDigits = 8

  /// Returns the households that a name matches.
  ///
  /// A present name wins, then an id, then the name at creation. Names are compared without regard
  /// to case. The name at creation serves a user who has it in a script or a setting while somebody
  /// else renamed the household.
  static func zones(_ text: String, among zones: [ZoneState]) -> [ZoneState] {
    let wanted = NameFolding.fold(text)
    let called = zones.filter { NameFolding.fold($0.name) == wanted }
    guard called.isEmpty else { return called }
    if wanted.utf8.count >= leastDigits, wanted.allSatisfy(\.isHexDigit) {
      let found = zones.filter { $0.id.hex.hasPrefix(wanted) }
      if !found.isEmpty { return found }
    }
    return zones.filter { NameFolding.fold($0.foundingName) == wanted }
  }

  /// Returns the one matching household.
  ///
  /// - Throws: a failure that lists the names if there is none, or the ids if there are several.
  static func zone(_ text: String, among zones: [ZoneState]) throws -> ZoneState {
    let found = self.zones(text, among: zones)
    guard let first = found.first else {
      throw CommandFailure(
        .failed, "this node is in no household named \(ShownText.quoted(text))",
        hint: hint(zones))
    }
    guard found.count == 1 else {
      let ids = found.map { "\(Style.safe($0.name)) (\(ShortID.text($0.id)))" }
      throw CommandFailure(
        .failed,
        "\(ShownText.quoted(text)) is the name of \(found.count) households: "
          + ids.joined(separator: ", "),
        hint: "write its id in place of the name, as \(ShortID.text(first.id))")
    }
    return first
  }

  /// The names to choose from.
  private static func hint(_ zones: [ZoneState]) -> String {
    guard !zones.isEmpty else {
      return "it is in none yet: `hearth household create NAME`, or `hearth join -`"
    }
    let names = zones.map { Style.safe($0.name) }.sorted()
    let more = names.count > shownNames ? ", and \(names.count - shownNames) more" : ""
    return "its households: " + names.prefix(shownNames).joined(separator: ", ") + more
  }

  private static let shownNames = 20

  /// Returns the name without surrounding spaces.
  ///
  /// - Throws: a usage failure if the name is invalid, a failure if another household on this node
  ///   has it.
  static func checked(
    _ text: String, besides own: ZoneID? = nil, among zones: [ZoneState]
  ) throws -> String {
    let name = ShownText.normal(text).trimmingCharacters(in: .whitespacesAndNewlines)
    guard HouseholdSettings.isName(name), Style.safe(name) == name else {
      throw CommandFailure(
        .usage, "a household cannot be called \(ShownText.quoted(text))",
        hint: "use \(HouseholdSettings.nameAdvice), and no control characters")
    }
    let folded = NameFolding.fold(name)
    guard !zones.contains(where: { $0.id != own && NameFolding.fold($0.name) == folded }) else {
      throw CommandFailure(
        .failed, "this node is in a household named \(Style.safe(name)) already",
        hint: "choose another name")
    }
    return name
  }
}
