import HearthCRDT
import HearthStore
import Testing

@testable import Hearth

@Suite("Checks and notices of a program")
struct CheckingTests {
  @Test("Sound data is found sound, and damaged records are rebuilt from their log")
  func repairing() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let item = try await zones[0].insert(Item(name: "Milk"))
    try await Shopping.settle(nodes)
    let sound = try await nodes[0].verify()
    #expect(sound.isSound && sound.segments > 0 && sound.changes > 0)
    try await nodes[0].node.working { core in
      try core.store.transaction {
        try core.store.records.removeAll(of: zones[0].zone)
      }
    }
    let damaged = try await nodes[0].verify()
    #expect(!damaged.isSound && damaged.faults.contains { $0.zone == zones[0].id })
    #expect(try await nodes[0].repair().isSound)
    #expect(try await zones[0].get(item.id)?.name == "Milk")
  }

  @Test("Notices say what others did, without commands")
  func notices() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let carl = try await shopping.open("Carl")
    _ = try await carl.joined(try await zones[0].invite())
    try await Shopping.settle(nodes + [carl])
    let notices = try await nodes[1].notices()
    let joined = try #require(notices.last { $0.kind == .people })
    #expect(joined.zone == zones[1].id && joined.message.contains("Carl"))
    #expect(notices.allSatisfy { !$0.message.contains("`hearth") })
  }
}
