import Hearth

/// The end of a membership in words.
enum EndingText {
  static func line(_ ending: Ending, household: String) -> String {
    let name = Style.safe(ending.personName)
    let place = Style.safe(household)
    switch ending.kind {
    case .removed: return "you were removed from \(place) by \(name)"
    case .revoked: return "this device was revoked in \(place) by \(name)"
    case .left: return "you have left \(place)"
    case .recovered: return "this device was replaced in \(place) by \(name)'s recovery words"
    case .overruled:
      return
        "this device does not belong to \(place): the operation that admitted it has no effect, "
        + "because " + Style.safe(ending.reason ?? "another operation overrides it")
    }
  }

  /// The remedy if a device does not share its person's private database.
  static let remedyWithoutPrivate =
    "`hearth device add` on another device of yours, then `hearth join -` with that link here"

  static let recovering = "recover with your words (`hearth recover`, into an empty --home)"

  /// The remedy for a removed person.
  ///
  /// - Parameter hasOthers: whether another device of the person is known to be a member.
  static func remedy(_ ending: Ending, hasOthers: Bool) -> String {
    let words = recovering + ", or ask an owner or admin for an invitation"
    switch ending.kind {
    case .revoked, .recovered:
      return hasOthers
        ? "if you still use this device, `hearth device add` on another one, then `hearth join -` "
          + "with that link here; if you have no other one, \(words)"
        : words
    case .removed, .left, .overruled:
      return
        "to come back, ask an owner or admin for an invitation, then run `hearth join -` with it "
        + "here"
    }
  }
}
