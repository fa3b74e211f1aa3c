import Foundation
import Hearth
import Testing

@Suite("Transports of a program")
struct TransportListTests {
  @Test("Transports are listed with their last success and failure, and removed")
  func folders() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    #expect(try await anna.transports().isEmpty)
    #expect(try await anna.sync().isOffline == false)
    try await anna.addFolder(shopping.folder)
    let fresh = try #require(try await anna.transports().first)
    #expect(fresh.address == .folder(shopping.folder) && fresh.scope == .everything)
    #expect(fresh.lastSuccess == nil && fresh.failure == nil)
    let result = try await anna.sync()
    #expect(result.transports.map(\.address) == [fresh.address] && result.problems.isEmpty)
    #expect(result.published > 0 && result.transports[0].published == result.published)
    let synced = try #require(try await anna.transports().first?.lastSuccess)
    #expect(abs(synced.timeIntervalSinceNow) < 600)
    let away = shopping.home("away")
    try FileManager.default.moveItem(atPath: shopping.folder, toPath: away)
    let failed = try await anna.sync()
    #expect(failed.isOffline && failed.transports.map(\.failure?.code) == [.offline])
    #expect(failed.problems.count == 1)
    let offline = try #require(try await anna.transports().first)
    #expect(offline.failure?.message.contains(shopping.folder) == true)
    #expect(offline.lastSuccess == synced)
    // It is known after a restart too.
    try await anna.close()
    let again = try await shopping.open("Anna")
    let kept = try #require(try await again.transports().first)
    #expect(kept.failure == offline.failure && kept.lastSuccess != nil)
    try FileManager.default.moveItem(atPath: away, toPath: shopping.folder)
    #expect(try await !again.sync().isOffline)
    #expect(try await again.transports().first?.failure == nil)
    try await again.removeTransport(kept.id)
    #expect(try await again.transports().isEmpty)
    #expect(await fault { try await again.removeTransport(kept.id) }?.code == .notFound)
    _ = zone
  }

  @Test("A relay is listed without its token, and a joined zone's place carries that zone alone")
  func relay() async throws {
    let shelf = try RelayShelf()
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addRelay(shelf.address)
    let listed = try #require(try await anna.transports().first)
    guard case .relay(let place) = listed.address else {
      Issue.record("a relay is shown as a folder")
      return
    }
    #expect(place.hasPrefix("127.0.0.1:") && !place.contains("#") && !place.contains("/"))
    let ben = try await shopping.open("Ben")
    try await ben.addFolder(shopping.folder)
    let bens = try await ben.joined(try await zone.invite())
    let transports = try await ben.transports()
    #expect(transports.map(\.scope) == [.everything, .zones([bens.id], personal: false)])
    #expect(transports.map(\.id) == [1, 2] && transports[1].address == listed.address)
  }
}
