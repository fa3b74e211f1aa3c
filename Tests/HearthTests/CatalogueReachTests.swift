import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import HearthTransport
import Synchronization
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

/// A catalogue's relay with an endless log, by what it answers.
private final class ScriptedRelay: RelayClientConnection {
  let address: RelayAddress
  private let answer: (RelayQuestion) throws -> RelayReply
  private(set) var asked = 0

  init(_ answer: @escaping (RelayQuestion) throws -> RelayReply) throws {
    address = try CatalogueReachTests.relay()
    self.answer = answer
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    if case .open = question { return .opened(CatalogueReachTests.opening(1 << 40)) }
    asked += 1
    return .reply(try answer(question))
  }
}

/// What a test sees of a relay that keeps a call waiting, and lets it do.
private final class Watch: Sendable {
  /// Gets an element with each question.
  let asked = AsyncStream<Void>.makeStream()
  /// Ends when the relay is to answer.
  let held = AsyncStream<Void>.makeStream()
  /// Ends when the place has had its time.
  let time = AsyncStream<Void>.makeStream()
  /// Whether the place has had its time.
  let isOver = Mutex(false)

  /// Waits until the place has had its time, which only a test that fails waits for.
  func end() async throws {
    DispatchQueue.global().asyncAfter(deadline: .now() + 60) { self.time.continuation.finish() }
    for await _ in time.stream {}
    try Task.checkCancellation()
    isOver.withLock { $0 = true }
  }
}

/// A catalogue's relay that answers when it is let, with a log.
private final class HeldRelay: RelayClientConnection {
  let address: RelayAddress
  private let watch: Watch
  private let entries: [RelayEntry]

  init(_ address: RelayAddress, _ watch: Watch, _ entries: [RelayEntry]) {
    self.address = address
    self.watch = watch
    self.entries = entries
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) async throws -> RelayOutcome {
    let head = UInt64(entries.count)
    guard case .open = question else {
      return .reply(
        .entries(RelayPage(entries: entries, head: head, chain: CatalogueReachTests.zero)))
    }
    watch.asked.continuation.yield()
    for await _ in watch.held.stream {}
    try Task.checkCancellation()
    return .opened(CatalogueReachTests.opening(head))
  }
}

@Suite("Catalogues at relays that answer too much or too late")
struct CatalogueReachTests {
  fileprivate static let zero = Bytes32(exactly: [UInt8](repeating: 0, count: 32))

  fileprivate static func relay() throws -> RelayAddress {
    try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
  }

  fileprivate static func opening(_ head: UInt64) -> RelayOpening {
    let opened = RelayOpened(
      head: RelayCursor(generation: .zero, position: head), chain: zero, standing: .none,
      accessGeneration: 1, rank: .guest,
      roster: Bytes16(exactly: [UInt8](repeating: 0, count: 16)), usedBytes: 0, quotaBytes: 1)
    return RelayOpening(
      opened: opened, key: .access(0), isCreated: false, number: 1,
      wanted: RelayAccess.keyID(of: []), cursor: nil)
  }

  private func catalogue() throws -> CatalogueReference {
    try CatalogueReference(publisher: PublisherIdentity.generate().publicKey, name: "hearth")
  }

  private func node(_ name: String, in family: Family) async throws -> Node {
    try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
  }

  /// A reach for a relay that is held, with its log and the end of its time.
  private func reach(
    _ watch: Watch, _ entries: [RelayEntry] = [],
    end: @escaping @Sendable () async throws -> Void
  ) throws -> CatalogueReach {
    let relay = try Self.relay()
    return CatalogueReach(
      source: { address, _, _ in
        CatalogueSource(
          catalogue: address.catalogue,
          place: .relay(
            RelayCatalogue(
              reading: address.catalogue, over: HeldRelay(relay, watch, entries))))
      }, end: end)
  }

  private func expectExcess(
    _ words: String, _ call: () async throws -> Void
  ) async throws {
    do {
      try await call()
      Issue.record("more than any catalogue has was taken")
    } catch let error as TransportError {
      #expect(error.code == .relayInconsistent && error.message.contains(words), "\(error)")
      #expect(error.message.contains("relay:1") && !error.remedy.isEmpty)
    }
  }

  // MARK: Too much

  @Test("A query whose answers do not end is given up")
  func answers() async throws {
    var number = 1_000_000
    let relay = try ScriptedRelay { _ in
      number += 1
      return .found(PublicAnswer(head: nil, records: [], next: "a\(number)"))
    }
    let catalogue = try catalogue()
    let source = CatalogueSource(
      catalogue: catalogue, place: .relay(RelayCatalogue(reading: catalogue, over: relay)))
    try await expectExcess("answers to one query") {
      _ = try await source.find(
        PublicQuery(type: "challenge"), atMost: 10, present: [], head: nil)
    }
    #expect(relay.asked == CatalogueSource.maximumAnswers)
  }

  @Test("A log whose pages do not end is given up")
  func pages() async throws {
    let relay = try ScriptedRelay { question in
      guard case .fetchAfter(let position, _) = question else { throw RelayFailure.refused }
      let header = RelayHeader(
        removing: PublicName.entry(type: "challenge", id: "a"), at: position + 1)
      return .entries(
        RelayPage(
          entries: [RelayEntry(header: header, blob: [])], head: 1 << 40, chain: Self.zero))
    }
    let catalogue = try catalogue()
    let source = CatalogueSource(
      catalogue: catalogue, place: .relay(RelayCatalogue(reading: catalogue, over: relay)))
    try await expectExcess("pages") {
      _ = try await source.fetch(since: nil, cursor: nil, greatest: nil)
    }
    #expect(relay.asked == CatalogueSource.maximumPages)
  }

  @Test("A publisher gives up a listing whose pages or names do not end", arguments: [0, 2_000])
  func listing(names: Int) async throws {
    let relay = try ScriptedRelay { question in
      guard case .list(let after, _) = question else { throw RelayFailure.refused }
      let headers = (0..<names).map { number in
        let position = after + UInt64(number) + 1
        return RelayHeader(
          of: RelayPut(
            name: PublicName.entry(type: "challenge", id: "a\(position)"), blob: [1]),
          at: position)
      }
      return .listing(
        RelayListing(
          headers: headers, through: after + UInt64(max(1, names)), head: 1 << 40,
          chain: Self.zero))
    }
    let catalogue = try catalogue()
    try await expectExcess(names == 0 ? "pages" : "names") {
      _ = try await CatalogueDelivery.listed(
        at: RelayCatalogue(reading: catalogue, over: relay))
    }
    let most = CatalogueDelivery.maximumNames / 2_000 + 1
    #expect(relay.asked == (names == 0 ? CatalogueDelivery.maximumPages : most))
  }

  // MARK: Too late

  /// What waits for a catalogue's relay.
  enum Call: CaseIterable {
    case follow, refresh, find, publish

    fileprivate func run(
      _ node: Node, _ reach: CatalogueReach, _ address: CatalogueAddress
    ) async throws {
      let catalogues = Catalogues(node: node, reach: reach)
      switch self {
      case .follow: _ = try await catalogues.follow(address.description, folder: nil)
      case .refresh: _ = try await catalogues.refresh()
      case .find: _ = try await catalogues.find(PublicQuery(type: "challenge"), atMost: 1)
      case .publish:
        let draft = try PublicRecord(
          type: "challenge", id: "a", revision: 1, fields: [], body: "{}")
        _ = try await Publishing(node: node, reach: reach).publish(
          [draft], named: "hearth", leastVersion: 1, to: [CatalogueReachTests.relay().description])
      }
    }
  }

  @Test(
    "No sync waits for a catalogue's relay that does not answer, and a call ends when it is told",
    arguments: Call.allCases)
  func silent(call: Call) async throws {
    let family = try Family()
    let node = try await node("reader", in: family)
    _ = try await node.publishing.makeKey()
    let address = CatalogueAddress(relay: try Self.relay(), catalogue: try catalogue())
    // What takes too long is followed, and fetched later.
    let early = Catalogues(node: node, reach: try reach(Watch(), end: {}))
    let followed = try await early.follow(address.description, folder: nil)
    #expect(followed.isOffline && followed.problem?.contains("takes too long") == true)
    let watch = Watch()
    let slow = try reach(watch, end: { try await watch.end() })
    let task = Task { try await call.run(node, slow, address) }
    for await _ in watch.asked.stream { break }
    _ = try await node.sync()
    let isOver = watch.isOver.withLock { $0 }
    #expect(!isOver)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await node.catalogues.list().map(\.problem) == [followed.problem])
    withExtendedLifetime(family) {}
  }

  /// A catalogue with the record `a`, and the log of a relay that has it.
  private func published(
    in family: Family
  ) async throws -> (catalogue: CatalogueReference, entries: [RelayEntry]) {
    let publisher = try await node("publisher", in: family)
    _ = try await publisher.publishing.makeKey()
    let draft = try PublicRecord(
      type: "challenge", id: "a", revision: 1, fields: [], body: "{}")
    let report = try await publisher.publishing.publish(
      [draft], named: "hearth", leastVersion: 1, to: [family.folder])
    let file = "\(family.folder)/\(PublicPack.fileName(of: report.catalogue.id))"
    let pack = try PublicPack(decoding: Array(try Data(contentsOf: URL(fileURLWithPath: file))))
    let puts =
      pack.records.map { RelayPut(name: $0.entryName, blob: $0.bytes) }
      + [RelayPut(name: PublicName.head, blob: pack.head.bytes)]
    let entries = puts.enumerated().map { place, put in
      RelayEntry(header: RelayHeader(of: put, at: UInt64(place) + 1), blob: put.blob)
    }
    return (report.catalogue, entries)
  }

  /// What a node does with a relay that is held until the test lets it answer.
  private func held(
    _ node: Node, _ entries: [RelayEntry]
  ) throws -> (watch: Watch, catalogues: Catalogues) {
    let watch = Watch()
    let reach = try reach(watch, entries, end: { try await watch.end() })
    return (watch, Catalogues(node: node, reach: reach))
  }

  @Test("A catalogue that is no longer followed when it arrives is not followed again")
  func unfollowed() async throws {
    let family = try Family()
    let (catalogue, entries) = try await published(in: family)
    let reader = try await node("reader", in: family)
    let address = CatalogueAddress(relay: try Self.relay(), catalogue: catalogue)
    for isUnfollowed in [true, false] {
      let early = Catalogues(node: reader, reach: try reach(Watch(), end: {}))
      _ = try await early.follow(address.description, folder: nil)
      let (watch, slow) = try held(reader, entries)
      let task = Task { try await slow.refresh() }
      for await _ in watch.asked.stream { break }
      if isUnfollowed { _ = try await reader.catalogues.unfollow("hearth") }
      watch.held.continuation.finish()
      let refreshed = try await task.value
      #expect(refreshed.map(\.isNew) == [!isUnfollowed])
      #expect(try await reader.catalogues.list().count == (isUnfollowed ? 0 : 1))
      let records = try await reader.catalogues.records(type: "challenge")
      #expect(records.map(\.record.path.id) == (isUnfollowed ? [] : ["a"]))
    }
    withExtendedLifetime(family) {}
  }

  // MARK: Another place meanwhile

  private func addresses(
    of catalogue: CatalogueReference
  ) throws -> (old: CatalogueAddress, new: CatalogueAddress) {
    let other = try RelayAddress(
      host: "other", port: 2, pin: Bytes32(exactly: [UInt8](repeating: 8, count: 32)))
    return (
      CatalogueAddress(relay: try Self.relay(), catalogue: catalogue),
      CatalogueAddress(relay: other, catalogue: catalogue)
    )
  }

  @Test("A check for news at the old place, good or bad, does not undo a new place")
  func moved() async throws {
    let family = try Family()
    let (catalogue, entries) = try await published(in: family)
    let reader = try await node("reader", in: family)
    let (old, new) = try addresses(of: catalogue)
    // What the old place has is a version, and then a log that is not whole.
    for entries in [entries, []] {
      let early = Catalogues(node: reader, reach: try reach(Watch(), end: {}))
      _ = try await early.follow(old.description, folder: nil)
      let (watch, slow) = try held(reader, entries)
      let task = Task { try await slow.refresh() }
      for await _ in watch.asked.stream { break }
      // Each call waits for a relay of its own: a stream whose reader was cancelled has ended.
      let other = Catalogues(node: reader, reach: try reach(Watch(), end: {}))
      let followed = try await other.follow(new.description, folder: nil)
      #expect(followed.isOffline)
      watch.held.continuation.finish()
      let refreshed = try await task.value
      #expect(refreshed.map(\.isNew) == [false] && refreshed[0].problem == nil)
      let kept = try await reader.catalogues.list()
      #expect(kept.map(\.address) == [new] && kept[0].problem == followed.problem)
      #expect(kept[0].head == nil)
    }
    withExtendedLifetime(family) {}
  }

  @Test(
    "What the user follows is followed, whatever is stored or forgotten while its place is asked",
    arguments: [false, true])
  func overtakenFollow(isUnfollowed: Bool) async throws {
    let family = try Family()
    let (catalogue, entries) = try await published(in: family)
    let reader = try await node("reader", in: family)
    let (old, new) = try addresses(of: catalogue)
    let early = Catalogues(node: reader, reach: try reach(Watch(), end: {}))
    _ = try await early.follow(old.description, folder: nil)
    let (watch, slow) = try held(reader, entries)
    let task = Task { try await slow.follow(new.description, folder: nil) }
    for await _ in watch.asked.stream { break }
    if isUnfollowed {
      _ = try await reader.catalogues.unfollow("hearth")
    } else {
      let (prompt, quick) = try held(reader, entries)
      prompt.held.continuation.finish()
      #expect(try await quick.refresh().map(\.isNew) == [true])
    }
    watch.held.continuation.finish()
    let followed = try await task.value
    #expect(followed.isNew == isUnfollowed && followed.kept.head?.version == 1)
    #expect(try await reader.catalogues.list().map(\.address) == [new])
    let records = try await reader.catalogues.records(type: "challenge")
    #expect(records.map(\.record.path.id) == ["a"])
    withExtendedLifetime(family) {}
  }
}
