import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync
@testable import HearthTransport

/// A relay that admits a device until it is told otherwise.
private final class ClosingLine: RelayClientConnection {
  let address: RelayAddress
  var failure: RelayFailure?

  init() throws {
    address = try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    guard case .open = question, failure == nil else { throw failure ?? RelayFailure.refused }
    let opened = RelayOpened(
      head: RelayCursor(generation: .zero, position: 0),
      chain: RelayChain.start(mailbox: mailbox, generation: .zero), standing: .none,
      accessGeneration: 1, rank: .guest,
      roster: Bytes16(exactly: [UInt8](repeating: 0, count: 16)), usedBytes: 0, quotaBytes: 1)
    return .opened(
      RelayOpening(
        opened: opened, key: .access(0), isCreated: false, number: 1,
        wanted: RelayAccess.keyID(of: []), cursor: nil))
  }
}

private final class Kept: RelayMemory {
  var kept: [String: [UInt8]] = [:]
  func load(_ name: String) throws -> [UInt8]? { kept[name] }
  func save(_ name: String, _ bytes: [UInt8]) throws { kept[name] = bytes }
}

@Suite("Why a relay does not admit a device, in words")
struct RelayWordsTests {
  private static let key: [UInt8] = [0xab, 0xcd]
  private static let denials: [RelayFailure] = [
    .refused, .unregistered, .unlisted(key: key), .tokenUsedUp, .struckOff,
  ]
  private static let list = "hearth-relay token --allow abcd"
  private static let token = "`hearth transport add relay ADDRESS --token TOKEN`"

  private func said(_ failure: RelayFailure, _ tie: RelayWords.Tie) -> TransportError {
    RelayWords(place: "relay:1", tie: tie).words(failure)
  }

  @Test("Who never had a mailbox open is told who has to let it, and of no removal or changed key")
  func new() {
    let none = "the relay relay:1 does not admit this device: none of its keys opens "
    let rows: [(RelayFailure, String, String)] = [
      (.refused, "the mailbox", "`hearth transport repair`"),
      (
        .unregistered,
        "a mailbox of the household there, and the relay's operator lets nobody make one without "
          + "a token", RelayWordsTests.token
      ),
      (
        .unlisted(key: RelayWordsTests.key),
        "a mailbox of the household there, and the relay's operator has not listed its key",
        RelayWordsTests.list
      ),
      (
        .tokenUsedUp,
        "a mailbox of the household there, and its token has made all mailboxes that it allows",
        RelayWordsTests.token
      ),
    ]
    for (failure, reason, remedy) in rows {
      let error = said(failure, .new)
      #expect(error.code == .relayRefused && error.message == none + reason)
      #expect(error.remedy.hasSuffix(remedy), "\(error.remedy)")
    }
  }

  @Test("Who had the mailbox open is told that its key was changed, whoever may make mailboxes")
  func known() {
    for failure in RelayWordsTests.denials where failure != .struckOff {
      let error = said(failure, .known)
      #expect(
        error.message
          == "the relay relay:1 does not admit this device: the access key was changed, and this "
          + "device is not on the mailbox's list")
      #expect(error.remedy.hasPrefix("ask an owner or admin of the household to sync and, if that"))
    }
    let listing = said(.unlisted(key: RelayWordsTests.key), .known).remedy
    #expect(
      listing.hasSuffix(
        "if the relay has lost its data, send this line to the relay's operator, then sync again: "
          + RelayWordsTests.list))
    #expect(said(.unregistered, .known).remedy.hasSuffix(RelayWordsTests.token))
    #expect(said(.refused, .known).remedy.hasSuffix("`hearth transport repair`"))
  }

  @Test("Who was struck off is told that, and whose log says so that it belongs no more")
  func removed() {
    for tie in [RelayWords.Tie.new, .known] {
      let error = said(.struckOff, tie)
      #expect(error.message.hasSuffix(": a manager of the mailbox there removed it"))
      #expect(error.remedy.contains("if you were not removed"))
    }
    for failure in RelayWordsTests.denials {
      let error = said(failure, .former)
      #expect(
        error.message
          == "the relay relay:1 does not admit this device: it no longer belongs to the household")
      #expect(error.remedy.hasPrefix("`hearth status`"))
    }
  }

  /// Why a program that begins anew is not admitted, by the relay's line and what it remembers.
  private func refusal(
    by line: ClosingLine, _ memory: Kept, isOver: Bool = false
  ) async throws -> String {
    let zone = Identifier(high: 1, low: 2)
    var access = MailboxAccess(mailbox: zone, keys: [], mayCreate: !isOver)
    access.isOver = isOver
    var directory = RelayDirectory()
    directory.zones[zone] = access
    let transport = RelayTransport(
      over: line, memory: memory, directory: directory, digest: { _ in .zero })
    do {
      _ = try await transport.list(zoneTag: zone)
      return "admitted"
    } catch let error as TransportError {
      return error.message
    }
  }

  @Test("A transport knows which of these holds, also in a later program")
  func transport() async throws {
    let line = try ClosingLine()
    let memory = Kept()
    line.failure = .unlisted(key: RelayWordsTests.key)
    #expect(try await refusal(by: line, memory).contains("has not listed its key"))
    line.failure = nil
    #expect(try await refusal(by: line, memory) == "admitted")
    line.failure = .unlisted(key: RelayWordsTests.key)
    #expect(try await refusal(by: line, memory).contains("the access key was changed"))
    #expect(try await refusal(by: line, memory, isOver: true).contains("no longer belongs"))
  }
}
