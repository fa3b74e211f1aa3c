import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync
@testable import HearthTransport

/// A relay that lets nobody but managers remove what others stored.
private final class RefusingLine: RelayClientConnection {
  let address: RelayAddress
  var rank = RelayRank.author
  /// How many names each question asked to remove.
  var batches: [Int] = []
  /// The names that this device stored itself.
  var own: Set<[UInt8]> = []

  init() throws {
    address = try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    switch question {
    case .open:
      let zero = Bytes32(exactly: [UInt8](repeating: 0, count: 32))
      let opened = RelayOpened(
        head: RelayCursor(generation: .zero, position: 9), chain: zero, standing: .none,
        accessGeneration: 1, rank: rank,
        roster: Bytes16(exactly: [UInt8](repeating: 0, count: 16)), usedBytes: 0, quotaBytes: 1)
      return .opened(
        RelayOpening(
          opened: opened, key: .own, isCreated: false, number: 1,
          wanted: RelayAccess.keyID(of: []), cursor: nil))
    case .remove(let names):
      batches.append(names.count)
      return .reply(.removed(names.map { rank == .manager || own.contains($0) ? 9 : 0 }))
    default: throw RelayFailure.refused
    }
  }
}

private final class Kept: RelayMemory {
  var kept: [String: [UInt8]] = [:]
  func load(_ name: String) throws -> [UInt8]? { kept[name] }
  func save(_ name: String, _ bytes: [UInt8]) throws { kept[name] = bytes }
}

@Suite("Files that a relay does not let a device remove")
struct RelayRemovalTests {
  private let zone = Identifier(high: 1, low: 2)
  private let line: RefusingLine
  private let memory = Kept()

  init() throws { line = try RefusingLine() }

  /// A transport of a program that begins anew, with what was remembered.
  private func transport() -> RelayTransport {
    var directory = RelayDirectory()
    directory.zones[zone] = MailboxAccess(mailbox: zone, keys: [], mayCreate: false)
    return RelayTransport(
      over: line, memory: memory, directory: directory, digest: { _ in .zero })
  }

  private func names(_ range: Range<Int>) -> [SegmentName] {
    range.map {
      SegmentName(
        zoneTag: zone, authorTag: zone, incarnation: 1, first: 1, last: 1,
        digest: Identifier(high: 7, low: UInt64($0)))
    }
  }

  @Test("They are asked for once, many at a time, and by no later program either")
  func refused() async throws {
    line.own = [RelayName.segment(names(3..<4)[0]).bytes]
    try await transport().remove(names(0..<RelayLimits.maximumBatchItems + 1))
    #expect(line.batches == [RelayLimits.maximumBatchItems, 1])
    // What went is asked for again where it comes back, and what is new is asked for.
    line.batches = []
    try await transport().remove(names(0..<RelayLimits.maximumBatchItems + 3))
    #expect(line.batches == [3])
    line.batches = []
    try await transport().remove(names(0..<3))
    #expect(line.batches == [])
    // Once this device manages the mailbox, nothing of that counts.
    line.rank = .manager
    try await transport().remove(names(0..<3))
    #expect(line.batches == [3])
  }

  @Test("Chunks of attachments are asked for many at a time, and once too")
  func chunks() async throws {
    let chunks = (0..<RelayLimits.maximumBatchItems + 1).map {
      BlobName(kind: .attachment, scope: zone, digest: Identifier(high: 7, low: UInt64($0)))
    }
    try await transport().remove(chunks)
    #expect(line.batches == [RelayLimits.maximumBatchItems, 1])
    try await transport().remove(chunks)
    #expect(line.batches.count == 2)
  }

  @Test("Of more than that, a device asks for so many at once, and a manager for all")
  func flood() async throws {
    let most = RelayNotes.maximumRefusedRemovals
    for _ in 0..<3 {
      line.batches = []
      try await transport().remove(names(0..<3 * most))
      #expect(line.batches.reduce(0, +) == most)
    }
    line.rank = .manager
    line.batches = []
    try await transport().remove(names(0..<3 * most))
    #expect(line.batches.reduce(0, +) == 3 * most)
  }

  @Test("So many are remembered, and of more those that were refused last")
  func bounds() async throws {
    let most = RelayNotes.maximumRefusedRemovals
    try await transport().remove(names(0..<most))
    #expect(try transport().notes.refusedRemovals(in: zone).count == most)
    try await transport().remove(names(most..<most + 1))
    let known = try transport().notes.refusedRemovals(in: zone)
    #expect(known.count == most && !known.contains(names(0..<1)[0].digest))
    line.batches = []
    try await transport().remove(names(1..<most + 1))
    #expect(line.batches == [])
  }
}
