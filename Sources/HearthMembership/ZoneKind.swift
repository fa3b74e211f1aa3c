import HearthCRDT

/// What a zone holds.
package enum ZoneKind: UInt8, Sendable {
  /// A group's membership operations.
  case control = 0
  /// Records.
  case data = 1
}

/// Which of the three databases a zone belongs to.
package enum DatabaseKind: UInt8, Sendable {
  /// Readable by one person's devices.
  case personal = 0
  /// Shared by the members of a group.
  case shared = 1
  /// Signed and readable by everybody.
  case open = 2
}

extension DatabaseKind {
  /// The word people see.
  package var name: String {
    switch self {
    case .personal: "private"
    case .shared: "shared"
    case .open: "public"
    }
  }
}
