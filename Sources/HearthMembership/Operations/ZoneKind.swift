import HearthCRDT

/// The kind of content that a zone holds.
package enum ZoneKind: UInt8, Sendable {
  /// A group's membership operations.
  case control = 0
  /// Records of an application.
  case data = 1
}

/// Which of the three databases a zone belongs to.
package enum DatabaseKind: UInt8, Sendable {
  /// Private: one person's devices can read it.
  case personal = 0
  /// Shared by the members of a group.
  case shared = 1
  /// Public: signed and readable by everybody.
  case open = 2

  /// The name that people see.
  package var name: String {
    switch self {
    case .personal: "private"
    case .shared: "shared"
    case .open: "public"
    }
  }
}
