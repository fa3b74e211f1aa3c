import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Recovery listing")
struct RecoveryListingTests {
  private func identifier(_ number: Int) -> Identifier {
    Identifier(high: 7, low: UInt64(number))
  }

  private func listing(groups: Int, epochs: Int) throws -> RecoveryListing {
    let tag = try Bytes16([UInt8](repeating: 3, count: 16))
    return RecoveryListing(
      person: identifier(1), personName: "Anna",
      groups: (0..<groups).map { number in
        RecoveryListing.Group(
          id: identifier(number), database: .shared, name: "Home",
          zones: [
            InvitationCapsule.ZoneGrant(
              id: identifier(100 + number), kind: .control, name: "control", tag: tag,
              sealedSecret: [UInt8](repeating: 4, count: 80),
              epochs: (0..<epochs).map {
                ([UInt8](repeating: UInt8($0 & 255), count: 32), [UInt8](repeating: 5, count: 80))
              })
          ])
      })
  }

  @Test("A listing is read as it was written, and everything cut or longer is refused")
  func roundTrip() throws {
    let bytes = try listing(groups: 2, epochs: 3).encoded
    #expect(try RecoveryListing(decoding: bytes).encoded == bytes)
    for count in 0..<bytes.count {
      #expect(throws: SyncError.self) {
        try RecoveryListing(decoding: Array(bytes.prefix(count)))
      }
    }
    #expect(throws: SyncError.self) { try RecoveryListing(decoding: bytes + [0]) }
    var newer = bytes
    newer[0] = 2
    #expect(throws: SyncError.self) { try RecoveryListing(decoding: newer) }
  }

  @Test("Two capsules say together what either says, of a group in both the one with more keys")
  func joined() throws {
    let (first, second) = (try listing(groups: 2, epochs: 1), try listing(groups: 3, epochs: 2))
    for joined in [first.joined(with: second), second.joined(with: first)] {
      #expect(joined.groups.map(\.id) == second.groups.map(\.id))
      #expect(joined.groups.allSatisfy { $0.zones[0].epochs.count == 2 })
    }
    let stranger = RecoveryListing(
      person: identifier(2), personName: "Mallory", groups: second.groups)
    #expect(first.joined(with: stranger).groups.count == 2, "another person's says nothing")
  }

  @Test("Groups and epochs are read up to their limits and not beyond")
  func limits() throws {
    let most = RecoveryListing.maximumGroups
    #expect(
      try RecoveryListing(decoding: listing(groups: most, epochs: 1).encoded).groups.count == most)
    #expect(throws: SyncError.self) {
      try RecoveryListing(decoding: listing(groups: most + 1, epochs: 1).encoded)
    }
    let epochs = RecoveryListing.maximumEpochs
    let read = try RecoveryListing(decoding: listing(groups: 1, epochs: epochs).encoded)
    #expect(read.groups[0].zones[0].epochs.count == epochs)
    #expect(throws: SyncError.self) {
      try RecoveryListing(decoding: listing(groups: 1, epochs: epochs + 1).encoded)
    }
  }

  @Test("No byte that somebody changes makes reading trap")
  func changedBytes() throws {
    let bytes = try listing(groups: 1, epochs: 2).encoded
    for place in bytes.indices {
      for mask in [1, 0x80, 0xff] as [UInt8] {
        var changed = bytes
        changed[place] ^= mask
        if let read = try? RecoveryListing(decoding: changed) {
          #expect(read.encoded == changed, "byte \(place)")
        }
      }
    }
  }
}
