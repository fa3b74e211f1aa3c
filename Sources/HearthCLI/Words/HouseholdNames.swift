import Foundation
import HearthCRDT
import HearthSync
import Household

/// Which household a typed name means.
enum HouseholdNames {
  /// How many digits of an id name a household.
  private static let leastDigits = 8

  /// The households that a name fits: those called so, otherwise the one of such an id, otherwise
  /// those that were founded by the name.
  ///
  /// Names are compared without regard to case. The name of the founding serves who has it in a
  /// script or a setting while somebody else gave the household another.
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

  /// The one household that is meant.
  ///
  /// - Throws: a failure where there is none, a usage failure where there are several.
  static func zone(_ text: String, among zones: [ZoneState]) throws -> ZoneState {
    let found = self.zones(text, among: zones)
    guard let first = found.first else {
      throw CommandFailure(
        .failed, "this node is in no household named \(ShownText.quoted(text))",
        hint: "see `hearth household list`")
    }
    guard found.count == 1 else {
      let ids = found.map { "\(Style.safe($0.name)) (\(ShortID.text($0.id)))" }
      throw CommandFailure(
        .usage,
        "\(ShownText.quoted(text)) is the name of \(found.count) households: "
          + ids.joined(separator: ", "),
        hint: "write its id in place of the name, as \(ShortID.text(first.id))")
    }
    return first
  }

  /// The name without spaces around it.
  ///
  /// - Throws: a usage failure where a household cannot be called so, a failure where another one
  ///   on this node is.
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
