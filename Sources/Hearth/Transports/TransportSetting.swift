import HearthCRDT
import HearthMembership

/// A transport of a node.
package struct TransportSetting: Codable, Equatable, Sendable {
  /// The kinds of transports.
  package enum Kind: String, Codable, Sendable {
    case folder
    case relay
  }

  private enum CodingKeys: String, CodingKey {
    case number, kind, path, token
    case scope = "cargo"
  }

  package let number: Int
  package let kind: Kind
  /// The folder's path or the relay's address.
  package let path: String
  /// The token with which this node may create mailboxes at the relay, if it needs one.
  package var token: String?
  /// The scope of the transport; nil for everything, including future groups.
  package internal(set) var scope: TransportScope?

  /// The number of the next one.
  static func nextNumber(after present: [TransportSetting]) -> Int {
    (present.map(\.number).max() ?? 0) + 1
  }
}

/// The scope of a transport that does not carry everything.
package struct TransportScope: Codable, Equatable, Sendable {
  /// The households' ids in hexadecimal digits, sorted.
  package internal(set) var households: [String]
  /// Whether it includes the person's private database.
  package internal(set) var privateDatabase: Bool

  package init(households: [GroupID], privateDatabase: Bool) {
    self.households = Set(households.map(\.hex)).sorted()
    self.privateDatabase = privateDatabase
  }

  /// Returns the union of two scopes.
  func joined(with other: TransportScope) -> TransportScope {
    var joined = self
    joined.households = Set(households + other.households).sorted()
    joined.privateDatabase = privateDatabase || other.privateDatabase
    return joined
  }
}
