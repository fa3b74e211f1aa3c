import HearthMembership

/// The history that newcomers may read, in words.
enum NewcomerWords {
  /// Returns the rule of a word.
  static func rule(_ text: String) throws -> ControlOperation.Newcomers {
    switch text.lowercased() {
    case "everything": return .full
    case "from-joining": return .fromJoin
    default:
      throw CommandFailure(
        .usage, "\(Style.safe(text)) is not a rule for newcomers",
        hint: "use everything or from-joining")
    }
  }

  static func word(_ rule: ControlOperation.Newcomers) -> String {
    rule == .full ? "everything" : "from-joining"
  }

  static func words(_ rule: ControlOperation.Newcomers) -> String {
    rule == .full
      ? "newcomers read everything" : "newcomers read the present state and later changes"
  }
}
