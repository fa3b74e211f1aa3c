import HearthCRDT
import HearthMembership
import HearthSync

/// The keys of mailboxes that were handed to this device in handoffs, each sealed to it.
package enum RelayGrants {
  /// The most keys of one group that are kept.
  static let maximumCount = 16

  /// The fact that holds the keys of a group.
  package static func fact(of group: GroupID) -> Fact<[[UInt8]]> {
    Fact("relay.granted.\(group.hex)") { sealed, writer in
      writer.varint(sealed.count)
      for key in sealed { writer.blob(key) }
    } read: { reader in
      let count = try reader.count("granted keys", itemBytes: 1, atMost: maximumCount)
      return try (0..<count).map { _ in try reader.blob("granted key", atMost: 256) }
    }
  }
}
