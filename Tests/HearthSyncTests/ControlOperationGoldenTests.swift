import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let page = "reference/control-operations.md"

/// Bytes that must never change: they are signed, hashed into chains, and name the group.
///
/// A failure here means a new kind of operation, not new vectors.
@Suite("Golden bytes of control operations")
struct ControlOperationGoldenTests {
  private func expect(_ operation: ControlOperation, is name: String) throws {
    let golden = try GoldenFile(name)
    #expect(hex(operation.encoded) == golden.hex, "\(name)")
    #expect(golden.hasTrueOffsets, "\(name)")
    #expect(try golden.isQuoted(in: page), "\(name) is not on the page")
    let again = try ControlOperation(decoding: try #require(bytes(golden.hex)))
    #expect(again == operation, "\(name)")
  }

  @Test("each kind has the bytes of the page")
  func kinds() throws {
    let home = try GoldenHousehold()
    try expect(.genesis(home.genesis), is: "control-genesis")
    let shopping = try #require(ApplicationIdentifier("org.example.shopping"))
    try expect(.genesis(home.genesis(of: shopping)), is: "control-genesis-application")
    try expect(.epoch(try home.grant()), is: "control-epoch")
    try expect(.inviteCreate(try home.inviteCreate()), is: "control-invite-create")
    try expect(.inviteClose(invite: try home.inviteID()), is: "control-invite-close")
    try expect(.join(try home.join()), is: "control-join")
    try expect(
      .incarnate(
        previous: 1 << 32 | 0xaaaa_aaaa, reason: "this node's folder was copied or restored"),
      is: "control-incarnate")
    for (name, operation) in try home.later() { try expect(operation, is: "control-\(name)") }
  }

  @Test("an unknown kind is recognised and its content passed over")
  func unknownKind() throws {
    for kind in [0, 27, 255] as [UInt8] {
      #expect(try ControlOperation(decoding: [kind, 1, 2, 3]) == .unknown(kind: kind))
    }
  }

  @Test("every truncation and every trailing byte is refused")
  func truncation() throws {
    let names =
      ["genesis", "epoch", "invite-create", "invite-close", "join", "incarnate"]
      + (try GoldenHousehold().later().map(\.name))
    for name in names {
      let whole = try #require(bytes(try GoldenFile("control-\(name)").hex))
      #expect(whole.count > 2, "\(name)")
      for count in whole.indices {
        #expect(throws: CodecError.self, "\(name) cut to \(count)") {
          try ControlOperation(decoding: Array(whole.prefix(count)))
        }
      }
      #expect(throws: CodecError.self, "\(name) and a byte") {
        try ControlOperation(decoding: whole + [0])
      }
    }
  }

  @Test("names of 256 bytes are read, of 257 refused")
  func nameLimit() throws {
    #expect(ControlLimits.maximumNameBytes == 256)
    for (count, isRead) in [(256, true), (257, false)] {
      let operation = ControlOperation.incarnate(
        previous: 1, reason: String(repeating: "x", count: count))
      #expect(((try? ControlOperation(decoding: operation.encoded)) != nil) == isRead)
    }
  }

  @Test("the derived values are those of the page, and the proof holds")
  func derived() throws {
    let home = try GoldenHousehold()
    let join = try home.join()
    let joinHash = ControlSignature.joinHash(of: join, group: home.group)
    let author = Author(
      device: try #require(ControlIdentity.deviceID(of: join.device)), incarnation: 1 << 32)
    let dot = Dot(author: author, sequence: 1)
    let values = [
      home.group.hex, author.device.hex, personID(madeBy: author.device).hex,
      hex(joinHash), hex(join.proof),
      eventID(
        in: GoldenHousehold.controlZone, type: ControlOperation.type, dot: dot, index: 0
      ).hex,
      naturalID(in: GoldenHousehold.zone, type: .record(4), key: Array("time-zone".utf8)).hex,
    ]
    let golden = try GoldenFile("control-derived")
    #expect(values == golden.parts)
    #expect(try golden.isQuoted(in: page))
    try home.invite.publicKeys.verifyJoin(join.proof, joinHash)
    var other = join
    other.proof[0] ^= 1
    #expect(throws: CryptoError.self) {
      try home.invite.publicKeys.verifyJoin(other.proof, joinHash)
    }
  }
}
