import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

@Suite("Opening a segment")
struct SegmentOpenerTests {
  private func opener(_ family: EngineFamily, _ member: Int = 0) throws -> SegmentOpener {
    let engine = family.members[member]
    return SegmentOpener(
      zone: try engine.zone(family.zone), membership: engine.membership(of: family.group))
  }

  private func reason(_ opener: SegmentOpener, _ bytes: [UInt8]) throws -> PendingReason? {
    if case .waits(let reason) = try opener.open(bytes) { reason } else { nil }
  }

  @Test("A good one is opened, with its author, range and chain")
  func good() throws {
    let family = try EngineFamily(2)
    var forge = try Forge(family.members[1], family.zone)
    let changes = [forge.change(), forge.change(), forge.change()]
    guard case .opened(let opened) = try opener(family).open(forge.seal(changes)) else {
      Issue.record("not opened")
      return
    }
    #expect(opened.changes == changes)
    #expect(opened.author == forge.author)
    #expect([opened.first, opened.last] == [1, 3])
    #expect(opened.chain.last == forge.head.hash)
    #expect(opened.hash(after: 0) == [UInt8](repeating: 0, count: 32))
  }

  @Test("Each lie is refused, whatever else is true")
  func lies() throws {
    let family = try EngineFamily(3)
    let opener = try opener(family)
    var forge = try Forge(family.members[1], family.zone)
    let changes = [forge.change(), forge.change()]
    let stranger = try DeviceIdentity.generate().0
    let other = try Forge(family.members[2], family.zone)
    var shifted = changes
    shifted[0].previousHash = [UInt8](repeating: 9, count: 32)
    shifted[1].previousHash = forge.hash(shifted[0])
    let control = try Forge(family.members[1], family.control)
    let zeros = [UInt8](repeating: 0, count: 32)
    let wrong: [(String, [UInt8])] = [
      ("a chunk of a snapshot", try forge.seal(changes, .init(type: .snapshotChunk))),
      ("another zone", try control.seal(changes)),
      ("another member's signature", try forge.seal(changes, .init(signer: other.identity))),
      ("another life outside", try forge.seal(changes, .init(incarnation: 5 << 32))),
      ("fewer changes outside", try forge.seal(changes, .init(last: 1))),
      ("more changes outside", try forge.seal(changes, .init(last: 3))),
      ("numbers shifted", try forge.seal(changes, .init(first: 2, last: 3))),
      ("a wrong link before", try forge.seal(changes, .init(before: forge.head.hash))),
      ("a wrong link after", try forge.seal(changes, .init(after: zeros))),
      ("a log that does not begin", try forge.seal(shifted)),
      ("an empty body", try forge.seal(changes, .init(body: []))),
      ("a body of version 0", try forge.seal(changes, .init(body: [0]))),
      ("a trailing byte", try forge.seal(changes, .init(body: ChangeBatch.encode(changes) + [0]))),
    ]
    for (what, bytes) in wrong {
      #expect(throws: (any Error).self, "\(what)") { try opener.open(bytes) }
    }
    // A stranger cannot be told from a member who is not known yet: that waits, and never applies.
    #expect(try reason(opener, forge.seal(changes, .init(signer: stranger))) == .author)
  }

  @Test("A flipped bit anywhere is refused, or waits as a key, author or version not known")
  func flips() throws {
    let family = try EngineFamily(2)
    let opener = try opener(family)
    var forge = try Forge(family.members[1], family.zone)
    let good = try forge.seal([forge.change()])
    for place in good.indices {
      var bad = good
      bad[place] ^= 1 << UInt8(place % 8)
      let opened = try? opener.open(bad)
      if case .opened = opened { Issue.record("flipped at \(place)") }
      if case .waits(let reason) = opened {
        let isExpected =
          switch place {
          case 4, 5: reason == .format
          case 22..<38: reason == .author
          default: false
          }
        #expect(isExpected, "flipped at \(place): waits for \(reason)")
      }
    }
  }

  @Test("A known author's signature counts before its key is asked for")
  func order() throws {
    let family = try EngineFamily(2)
    let opener = try opener(family)
    var forge = try Forge(family.members[1], family.zone)
    let epoch = try EpochKey.random(groupID: family.group.bytes, zoneID: family.zone.bytes)
    let changes = [forge.change()]
    #expect(try reason(opener, forge.seal(changes, .init(epoch: epoch))) == .epoch)
    var forged = try forge.seal(changes, .init(epoch: epoch))
    forged[forged.count - 1] ^= 1
    #expect(throws: CryptoError.self) { try opener.open(forged) }
  }

  @Test("Nobody writes in the name of a device before the log admits it")
  func ownDevice() throws {
    let family = try EngineFamily(2)
    var joiner = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &joiner, nowMilliseconds: EngineFamily.now)
    let member = try Forge(family.members[1], family.control)
    var forge = member
    forge.author = Author(device: joiner.device, incarnation: joiner.incarnation)
    forge.head = LogHead(author: forge.author)
    let change = forge.change()
    // Sealed with the joiner's tag outside and another's signature.
    let bytes = try forge.seal([change], .init(signer: joiner.identity))
    var forged = bytes
    for place in bytes.count - 64..<bytes.count { forged[place] = 0 }
    for blob in [bytes, forged] {
      let report = try joiner.receive(
        [blob], in: family.control, nowMilliseconds: EngineFamily.now)
      #expect(report.applied == 0)
    }
    #expect(try joiner.zone(family.control).frontier.isEmpty)
  }
}
