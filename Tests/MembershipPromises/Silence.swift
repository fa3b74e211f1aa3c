extension Act {
  /// The same act saying nothing.
  var silenced: Act {
    Act(id: id, device: device, sequence: sequence, deed: .heartbeat, claims: claims)
  }
}

extension Act {
  /// The same act with a deed that nobody may do: not even its author's knowledge counts.
  var meaningless: Act {
    Act(
      id: id, device: device, sequence: sequence, deed: .close(invite: 1_000_000_000),
      claims: claims)
  }
}

extension Standing {
  /// In words.
  var words: String {
    var parts = mayBeOut ? ["out"] : []
    for role in Role.allCases where allows(role) { parts.append("\(role)") }
    return parts.joined(separator: " or ")
  }
}
