import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync
@testable import HearthTransport

/// A relay that shuts a device out of its mailboxes, and in each handoff holds the key of another.
private final class LeadingLine: RelayClientConnection {
  let address: RelayAddress
  private let shut: Set<Identifier>
  private let recipient: BoxPublicKey
  private(set) var handoffs: Set<Identifier> = []
  /// More than any honest relay holds, so that a device that never stops does.
  private static let most = 2_000

  init(_ control: Identifier, to recipient: BoxPublicKey) throws {
    address = try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
    self.recipient = recipient
    let access = MailboxAccess(mailbox: control, keys: [], mayCreate: false)
    shut = Set((0...RelayMoves.maximum).map { access.moved($0).mailbox })
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    guard !shut.contains(mailbox), handoffs.count < LeadingLine.most else {
      throw RelayFailure.refused
    }
    switch question {
    case .open:
      handoffs.insert(mailbox)
      let opened = RelayOpened(
        head: RelayCursor(generation: .zero, position: 0),
        chain: RelayChain.start(mailbox: mailbox, generation: .zero), standing: .none,
        accessGeneration: 1, rank: .guest,
        roster: Bytes16(exactly: [UInt8](repeating: 0, count: 16)), usedBytes: 0, quotaBytes: 1)
      return .opened(
        RelayOpening(
          opened: opened, key: .access(0), isCreated: false, number: 1,
          wanted: RelayAccess.keyID(of: []), cursor: nil))
    case .fetch:
      let number = UInt8(truncatingIfNeeded: handoffs.count)
      let half = UInt8(truncatingIfNeeded: handoffs.count >> 8)
      let root = try RelayAccessRoot.ofJoinRequests(sign: [number], box: [half])
      let epoch = [number, half] + [UInt8](repeating: 5, count: 30)
      return .reply(.blobs([try root.seal(epoch: epoch, to: recipient)]))
    default: throw RelayFailure.refused
    }
  }
}

private final class Kept: RelayMemory {
  var kept: [String: [UInt8]] = [:]
  func load(_ name: String) throws -> [UInt8]? { kept[name] }
  func save(_ name: String, _ bytes: [UInt8]) throws { kept[name] = bytes }
}

private final class NoAnchor: AnchorFile {
  func read(atMost limit: Int) -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) {}
  func identity() -> [UInt8] { [] }
}

@Suite("Ways into a relay's mailboxes")
struct RelayReadmissionTests {
  @Test("Handoffs that lead from one to the next without end are left")
  func endless() async throws {
    let family = try EngineFamily(1)
    let engine = family.members[0]
    let line = try LeadingLine(
      engine.zone(family.control).tag, to: engine.identity.publicKeys.boxKey)
    let relay = RelayTransport(over: line, memory: Kept(), digest: { segmentDigest($0) })
    let readmission = RelayReadmission(
      to: RelayMailboxes(at: relay, with: OwnTurns(engine)))
    try await readmission.admit(
      to: [family.group], anchorFile: NoAnchor(), nowMilliseconds: EngineFamily.now)
    // The present mailbox and those ahead are looked for, each through so many handoffs.
    let most = MailboxAccess.maximumKeys + RelayLimits.maximumHandoffs + 1
    #expect(line.handoffs.count > 16)
    #expect(line.handoffs.count <= most * (1 + Int(RelayMoves.maximumAhead)))
  }
}
