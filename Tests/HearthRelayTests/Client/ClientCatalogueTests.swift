import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

@Suite("Catalogues over client sessions")
struct ClientCatalogueTests {
  private func publisher(
    _ world: ClientWorld, _ shelf: CatalogueShelf
  ) throws -> (ClientWorld.Client, MailboxAccess) {
    let pair = shelf.publisher.signingPair
    return (
      try world.client(managerPair: { _ in pair }),
      .publishing(shelf.reference, by: shelf.publisher)
    )
  }

  private func entries(_ result: Result<RelayOutcome, RelayFailure>) -> [RelayEntry]? {
    if case .success(.reply(.entries(let page))) = result { page.entries } else { nil }
  }

  @Test("a publisher makes its catalogue, and anybody reads it, as themselves and not as others")
  func roles() throws {
    let world = try ClientWorld()
    let shelf = try CatalogueShelf()
    let reader = try world.client(7)
    let reading = MailboxAccess.reading(shelf.reference)
    guard case .failure(.refused) = world.ask(reader, reading, .open) else {
      Issue.record("there is no catalogue yet")
      return
    }
    let (author, publishing) = try publisher(world, shelf)
    let put = CatalogueShelf.put(try shelf.record("a"))
    guard case .success(.reply(.stored)) = world.ask(author, publishing, .put([put])) else {
      Issue.record("not stored")
      return
    }
    #expect(
      entries(world.ask(reader, reading, .fetchAfter(0, limit: 9)))?.map(\.blob) == [put.blob])
    let query = try PublicQuery(type: "challenge")
    guard case .success(.reply(.found(let answer))) = world.ask(reader, reading, .query(query))
    else {
      Issue.record("not found")
      return
    }
    #expect(answer.records == [put.blob])
    // Who reads cannot write; the same session as the publisher's can, and back again.
    guard case .failure(.fault(let fault)) = world.ask(reader, reading, .put([put])) else {
      Issue.record("a reader wrote")
      return
    }
    #expect(fault.code == .notAllowed)
    #expect(entries(world.ask(author, reading, .fetchAfter(0, limit: 9))) != nil)
    guard case .success(.reply(.removed)) = world.ask(author, publishing, .remove([put.name]))
    else {
      Issue.record("not removed")
      return
    }
    #expect(entries(world.ask(reader, reading, .fetchAfter(1, limit: 9)))?.count == 1)
  }

  @Test("over lines that break, everything is stored once and read whole", arguments: 0..<6)
  func breakingLines(_ seed: UInt64) throws {
    let world = try ClientWorld()
    let shelf = try CatalogueShelf()
    var random = SplitMix64(seed: seed)
    world.breaksAfter = { random.next() % 3 == 0 ? nil : Int(random.next() % 6_000) }
    let (author, publishing) = try publisher(world, shelf)
    let records = try (0..<30).map { try shelf.record("\(10 + $0)") }
    for record in records {
      for _ in 0..<50 {
        let result = world.ask(author, publishing, .put([CatalogueShelf.put(record)]))
        if case .success = result { break }
      }
    }
    let reader = try world.client(7)
    let reading = MailboxAccess.reading(shelf.reference)
    var assembly: [RelayEntry] = []
    for _ in 0..<400 where assembly.count < records.count {
      let after = assembly.last?.header.position ?? 0
      assembly += entries(world.ask(reader, reading, .fetchAfter(after, limit: 4))) ?? []
    }
    #expect(assembly.map(\.blob) == records.map(\.bytes), "seed \(seed)")
  }
}
