import Dispatch
import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

/// A catalogue's relay, by what it answers.
private final class AnsweringRelay: RelayClientConnection {
  let address: RelayAddress
  private let answer: (RelayQuestion) throws -> RelayReply

  init(_ address: RelayAddress, _ answer: @escaping (RelayQuestion) throws -> RelayReply) {
    self.address = address
    self.answer = answer
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    .reply(try answer(question))
  }
}

@Suite("Catalogues in folders that do not answer, and at places that others write to")
struct CatalogueDeliveryTests {
  private func node(_ name: String, in family: Family) async throws -> Node {
    try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
  }

  private func drafts(_ ids: String...) throws -> [PublicRecord] {
    try ids.map {
      try PublicRecord(type: "challenge", id: $0, revision: 1, fields: [], body: "{}")
    }
  }

  // MARK: Folders

  @Test("A folder that does not answer keeps neither a call nor the next one waiting")
  func hanging() async throws {
    let family = try Family()
    let folder = try SharedFolderPath.named(family.folder)
    let node = try await node("publisher", in: family)
    _ = try await node.publishing.makeKey()
    let reached = AsyncStream<Void>.makeStream()
    let letGo = DispatchSemaphore(value: 0)
    let hanging = Task {
      try await CatalogueFolder.thread(of: folder).run {
        reached.continuation.yield()
        letGo.wait()
      }
    }
    for await _ in reached.stream { break }
    let reach = CatalogueReach(source: CatalogueReach.standard.source, end: {})
    let catalogue = try CatalogueReference(
      publisher: PublisherIdentity.generate().publicKey, name: "other")
    let address = CatalogueAddress(relay: nil, catalogue: catalogue)
    let followed = try await Catalogues(node: node, reach: reach).follow(
      address.description, folder: folder)
    #expect(followed.isOffline && followed.problem?.contains("takes too long") == true)
    // The second one gets the gate of the first.
    for _ in 0..<2 {
      let report = try await Publishing(node: node, reach: reach).publish(
        drafts("a"), named: "hearth", leastVersion: 1, to: [folder])
      #expect(report.places.map(\.isOffline) == [true])
    }
    _ = try await node.sync()
    letGo.signal()
    try await hanging.value
    withExtendedLifetime(family) {}
  }

  @Test("A pipe in the place of a catalogue's file is refused at once", .timeLimit(.minutes(1)))
  func pipes() async throws {
    let family = try Family()
    let node = try await node("publisher", in: family)
    _ = try await node.publishing.makeKey()
    let first = try await node.publishing.publish(
      drafts("a"), named: "hearth", leastVersion: 1, to: [family.folder])
    let file = "\(family.folder)/\(PublicPack.fileName(of: first.catalogue.id))"
    try FileManager.default.removeItem(atPath: file)
    for path in [file, file + ".new"] { #expect(mkfifo(path, 0o600) == 0) }
    let reader = try await self.node("reader", in: family)
    await #expect(throws: HearthError(.corrupt, "")) {
      _ = try await reader.catalogues.follow(
        first.places[0].address.description, folder: family.folder)
    }
    let second = try await node.publishing.publish(
      drafts("b"), named: "hearth", leastVersion: 1, to: [])
    #expect(second.places.count == 1 && second.places[0].failure != nil)
    withExtendedLifetime(family) {}
  }

  // MARK: Newer versions

  /// Three versions of one catalogue, and the second on its way.
  private func overtaken(
    at place: String, _ relay: RelayAddress?
  ) throws -> (versions: [PublicCatalogue], delivery: CatalogueDelivery) {
    let publisher = try PublisherIdentity.generate()
    let catalogue = try CatalogueReference(publisher: publisher.publicKey, name: "hearth")
    var versions: [PublicCatalogue] = []
    for records in [try drafts("a"), try drafts("a", "b"), try drafts("a", "c")] {
      versions.append(
        try PublicCatalogue.next(
          after: versions.last, of: catalogue, drafts: records, publishedAt: 1, by: publisher))
    }
    let delivery = CatalogueDelivery(
      version: versions[1], address: CatalogueAddress(relay: relay, catalogue: catalogue),
      place: place, publisher: publisher, sender: Identifier(high: 1, low: 1), credential: [])
    return (versions, delivery)
  }

  @Test(
    "A version is not put over a newer one, not even over one that comes at the last moment",
    arguments: [true, false])
  func relay(isThere: Bool) async throws {
    let place = try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
    let (versions, delivery) = try overtaken(at: place.description, place)
    let zero = Bytes32(exactly: [UInt8](repeating: 0, count: 32))
    let before = versions[isThere ? 2 : 0].head.bytes
    var (fetched, changed) = (0, 0)
    let relay = AnsweringRelay(place) { question in
      switch question {
      case .list:
        let head = RelayPut(name: PublicName.head, blob: before)
        return .listing(
          RelayListing(
            headers: [RelayHeader(of: head, at: 1)], through: 1, head: 1, chain: zero))
      case .fetch:
        fetched += 1
        return .blobs([fetched == 1 ? before : versions[2].head.bytes])
      default:
        changed += 1
        throw RelayFailure.refused
      }
    }
    await #expect(throws: HearthError(.exists, "")) {
      _ = try await delivery.send(
        to: RelayCatalogue(
          publishing: delivery.address.catalogue, by: delivery.publisher, over: relay))
    }
    #expect(changed == 0 && fetched == (isThere ? 1 : 2))
  }

  @Test("A folder's newer version is not replaced by an older one")
  func folder() async throws {
    let family = try Family()
    let (versions, delivery) = try overtaken(at: family.folder, nil)
    let folder = CatalogueFolder(path: family.folder, catalogue: delivery.address.catalogue)
    let isFirstWritten = try await folder.write(versions[0]) { _ in }
    #expect(isFirstWritten)
    #expect(try await delivery.send().sent == 2)
    let isLastWritten = try await folder.write(versions[2]) { _ in }
    #expect(isLastWritten)
    await #expect(throws: HearthError(.exists, "")) { _ = try await delivery.send() }
    #expect(try await folder.read(nil) == versions[2])
    withExtendedLifetime(family) {}
  }
}

@Suite("The gate that one call passes at a time")
struct ExchangeGateTests {
  @Test("A call that is cancelled waits no longer, and the gate goes to the next one")
  func cancelled() async throws {
    let gate = ExchangeGate()
    await gate.take()
    let cancelled = Task { try await gate.takeUnlessCancelled() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let next = Task { try await gate.takeUnlessCancelled() }
    gate.giveBack()
    try await next.value
    gate.giveBack()
    await gate.take()
  }
}
