extension Act {
  /// The same act saying nothing.
  var silenced: Act { changing(deed: .heartbeat) }
}

extension Act {
  /// A link that nobody ever made.
  private static let noLink = 1_000_000_000

  /// The same act as if it had never been: not even its author's knowledge counts.
  var meaningless: Act { changing(deed: .close(invite: Act.noLink)) }

  /// Whether it is there only for others to have been seen.
  package var isMeaningless: Bool { deed == .close(invite: Act.noLink) }
}

extension Standing {
  /// In words.
  var words: String {
    var parts = mayBeOut ? ["out"] : []
    for role in Role.allCases where allows(role) { parts.append("\(role)") }
    return parts.joined(separator: " or ")
  }
}
