import Testing

@testable import HearthCrypto

@Suite("Keys at rest in the node's own database")
struct LocalProtectionTests {
  private let group = [UInt8](repeating: 1, count: 16)
  private let zone = [UInt8](repeating: 2, count: 16)

  private func epochs(_ count: Int) throws -> [EpochKey] {
    try (0..<count).map { _ in try EpochKey.random(groupID: group, zoneID: zone) }
  }

  private func sealed(
    _ epochs: [EpochKey], by device: DeviceIdentity
  ) throws -> [[UInt8]] {
    try epochs.map { try $0.protected(by: device) }
  }

  @Test("Epochs that share an allocation have the same keys as before, and outlive each other")
  func sharesMemory() throws {
    let device = try DeviceIdentity.generate().identity
    let before = try epochs(60)
    let protected = try sealed(before, by: device)
    var after = try EpochKey.recovered(protected, by: device, groupID: group, zoneID: zone)
    #expect(after.map(\.id) == before.map(\.id))
    #expect(after.map(\.tag) == before.map(\.tag))
    let (first, last) = (after[0], after[59])
    after.removeAll()
    let hash = [UInt8](repeating: 9, count: 32)
    for (own, other) in [(first, before[0]), (last, before[59])] {
      #expect(try own.link(hash) == other.link(hash))
      let (blob, otherBlob) = try (own.blobKey(), other.blobKey())
      #expect(
        blob.withUnsafeBytes { left in otherBlob.withUnsafeBytes { Array(left) == Array($0) } })
      #expect(
        try other.unwrapHistory(own.wrapHistory(previous: before[7]), expectingID: before[7].id).id
          == before[7].id)
    }
    #expect(try EpochKey.recovered([], by: device, groupID: group, zoneID: zone).isEmpty)
  }

  @Test("One altered key, another device or another zone is refused as a whole")
  func refuses() throws {
    let device = try DeviceIdentity.generate().identity
    let protected = try sealed(try epochs(4), by: device)
    var swapped = protected
    swapped[2] = Array(protected[1].prefix(32) + protected[2].dropFirst(32))
    var altered = protected
    altered[3][40] ^= 1
    for wrong in [swapped, altered, protected + [[]], protected + [Array(protected[0].dropLast())]]
    {
      #expect(throws: CryptoError.authentication) {
        try EpochKey.recovered(wrong, by: device, groupID: group, zoneID: zone)
      }
    }
    let other = try DeviceIdentity.generate().identity
    #expect(throws: CryptoError.authentication) {
      try EpochKey.recovered(protected, by: other, groupID: group, zoneID: zone)
    }
    #expect(throws: CryptoError.authentication) {
      try EpochKey.recovered(protected, by: device, groupID: group, zoneID: group)
    }
  }
}
