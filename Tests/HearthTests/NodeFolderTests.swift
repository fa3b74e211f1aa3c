import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@Suite("The files of a node")
struct NodeFolderTests {
  private func open(_ home: String) async throws -> Node {
    try await Node.open(at: home, schema: Family.schema)
  }

  private func create(_ home: String) async throws -> Node {
    try await Node.create(
      at: home, person: "Nia", device: "n", passphrase: nil, schema: Family.schema)
  }

  private func code(_ body: () async throws -> Void) async -> HearthError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? HearthError)?.code
    }
  }

  @Test("A new node's device makes the id of its person; with words the person keeps theirs")
  func person() async throws {
    let family = try Family()
    let node = try await create(family.home("nia"))
    let made = personID(madeBy: await node.device)
    #expect(await node.person == made)
    let household = try await node.createHousehold(named: "Home")
    let group = try #require(await node.dataZones().first { $0.id == household }).group
    #expect(try await node.membership(of: group).people.map(\.id) == [made])
    try await node.close()
    let recovered = try await Node.create(
      at: family.home("again"), person: "Nia", personID: made, device: "n", passphrase: nil,
      schema: Family.schema)
    #expect(await recovered.person == made)
    try await recovered.close()
  }

  @Test("A home that cannot be searched is not said to hold no node")
  func unsearchable() async throws {
    let family = try Family()
    let home = family.home("nia")
    // A link to itself: unlike a mode, it also stops a test that runs as root.
    try FileManager.default.createSymbolicLink(atPath: home, withDestinationPath: home)
    #expect(await code { _ = try await open(home) } == .io)
    #expect(await code { _ = try await open(family.home("nobody")) } == .noNode)
  }

  @Test("Nothing takes the place of data whose key is missing; with the key back all is there")
  func keyGone() async throws {
    let family = try Family()
    let home = family.home("nia")
    var node = try await create(home)
    let device = await node.device
    try await node.close()
    let (key, saved) = (home + "/key", family.home("saved"))
    try FileManager.default.moveItem(atPath: key, toPath: saved)
    let before = try Data(contentsOf: URL(fileURLWithPath: home + "/node.db"))
    #expect(await code { _ = try await open(home) } == .corrupt)
    #expect(await code { _ = try await create(home) } == .corrupt)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home + "/node.db")) == before)
    try FileManager.default.moveItem(atPath: saved, toPath: key)
    node = try await open(home)
    #expect(await node.device == device)
    try await node.close()
  }

  @Test("A beginning that was cut off before there was a key is begun again")
  func cutOff() async throws {
    let family = try Family()
    let home = family.home("nia")
    try await create(home).close()
    // As a crash leaves it right before the key is there.
    try FileManager.default.removeItem(atPath: home + "/key")
    try Data().write(to: URL(fileURLWithPath: home + "/beginning"))
    #expect(await code { _ = try await open(home) } == .noNode)
    let node = try await create(home)
    #expect(!FileManager.default.fileExists(atPath: home + "/beginning"))
    try await node.close()
    try await open(home).close()
  }

  @Test("The mark of a beginning that a crash left behind goes at the next opening")
  func markLeft() async throws {
    let family = try Family()
    let home = family.home("nia")
    try await create(home).close()
    try Data().write(to: URL(fileURLWithPath: home + "/beginning"))
    try await open(home).close()
    try FileManager.default.removeItem(atPath: home + "/key")
    #expect(await code { _ = try await create(home) } == .corrupt)
  }
}
