import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import HearthTransport
import Testing

@testable import Hearth

@Suite("What no way has taken")
struct UnsyncedTests {
  /// A node with a household that goes over no way yet.
  private func household(of family: Family) async throws -> (node: Node, home: ZoneID) {
    let node = try await Node.create(
      at: family.home("Anna"), person: "Anna", device: "laptop", passphrase: nil,
      schema: Family.schema)
    return (node, try await node.createHousehold(named: "Home"))
  }

  @Test("What a folder did not take is unsynced though it is sealed, and the failure is kept")
  func folderThatTakesNothing() async throws {
    let family = try Family()
    let (node, home) = try await household(of: family)
    try await node.note(Note.id(1), [.insert], in: home)
    let group = try #require(await node.dataZones().first { $0.id == home }?.group)
    func counts() async throws -> (data: Int, control: Int, unsealed: Int) {
      let statuses = try await node.diagnostics.zones().filter { $0.zone.group == group }
      func sum(_ kind: ZoneKind) -> Int {
        statuses.filter { $0.zone.kind == kind }.reduce(0) { $0 + $1.unsynced }
      }
      return (sum(.data), sum(.control), statuses.reduce(0) { $0 + $1.unsealed })
    }
    #expect(try await counts() == (1, 1, 2))
    let setting = try await node.transports.add(folder: family.folder)
    let inside = family.folder + "/z"
    try FileManager.default.removeItem(atPath: inside)
    try Data("in the way".utf8).write(to: URL(fileURLWithPath: inside))
    let failed = try await node.sync()
    #expect(failed.transports.first?.failure != nil)
    #expect(try await counts() == (1, 1, 0))
    #expect(
      try await node.looking { try $0.transportFailures.last(of: setting) }?.text
        == failed.transports.first?.failure)
    try FileManager.default.removeItem(atPath: inside)
    #expect(try await node.sync().transports.first?.failure == nil)
    #expect(try await counts() == (0, 0, 0))
    #expect(try await node.looking { try $0.transportFailures.last(of: setting) } == nil)
    // What was taken stays so where the way is forgotten; what is new is counted.
    try await node.transports.remove("1")
    try await node.note(Note.id(2), [.insert], in: home)
    #expect(try await counts() == (1, 0, 1))
    try await node.close()
  }

  @Test("A private database that is not shared goes over no way only where that is asked for")
  func unshared() async throws {
    let family = try Family()
    let (node, home) = try await household(of: family)
    let group = try #require(await node.dataZones().first { $0.id == home }?.group)
    _ = try await node.transports.add(
      folder:
        family.folder, carrying: TransportScope(households: [group], privateDatabase: false))
    #expect(try await node.transports.uncarriedZones().isEmpty)
    #expect(
      try await node.transports.uncarriedZones(withUnshared: true).map(\.database) == [.personal])
    _ = try await node.transports.extendScope(
      of: "1", by: TransportScope(households: [], privateDatabase: true))
    #expect(try await node.transports.uncarriedZones(withUnshared: true).isEmpty)
    try await node.close()
  }
}
