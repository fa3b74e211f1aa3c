import HearthCRDT

/// What a person may do in a group.
package enum Role: UInt8, Sendable, CaseIterable {
  /// Sees, changes nothing.
  case reader = 0
  /// Completes and proposes.
  case child = 1
  /// Reads and writes.
  case member = 2
  /// Also invites and removes those below.
  case admin = 3
  /// The one who answers for the group.
  case owner = 4

  /// The word people use.
  package var name: String {
    switch self {
    case .reader: "reader"
    case .child: "child"
    case .member: "member"
    case .admin: "admin"
    case .owner: "owner"
    }
  }

  package init?(name: String) {
    guard let role = Role.allCases.first(where: { $0.name == name }) else { return nil }
    self = role
  }

  /// The place in the hierarchy; child and reader share one.
  package var rank: Int { self == .reader ? 1 : Int(rawValue) }
}

/// A device's public half, as it is enrolled.
package struct DeviceCard: ControlCodable {
  package let signKey: [UInt8]
  package let boxKey: [UInt8]
  package let name: String

  package init(signKey: [UInt8], boxKey: [UInt8], name: String) {
    self.signKey = signKey
    self.boxKey = boxKey
    self.name = name
  }

  package static let codec = ControlCodec(
    Self.init, (\.signKey, .raw(32, "sign key")), (\.boxKey, .raw(32, "box key")),
    (\.name, .name("device's name")))
}
