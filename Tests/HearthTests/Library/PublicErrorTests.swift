import Foundation
import Hearth
import Testing

@Suite("Errors of public calls")
struct PublicErrorTests {
  /// Runs a call that fails, and checks that its error is public and speaks to a program.
  private func expect(
    _ code: HearthError.Code, _ call: () async throws -> Void,
    at location: SourceLocation = #_sourceLocation
  ) async {
    do {
      try await call()
      Issue.record("no error", sourceLocation: location)
    } catch let error as HearthError {
      #expect(error.code == code, "\(error.message)", sourceLocation: location)
      #expect(
        !error.message.contains("`hearth") && !error.message.contains("--"),
        "\(error.message)", sourceLocation: location)
      #expect(!error.message.isEmpty, sourceLocation: location)
    } catch {
      Issue.record("\(type(of: error)): \(error)", sourceLocation: location)
    }
  }

  @Test("Opening fails with public errors, without commands")
  func opening() async throws {
    let shopping = try Shopping()
    let home = shopping.home("Anna")
    await expect(.noNode) { _ = try await HearthNode.open(at: home, Shopping.app) }
    let node = try await HearthNode.open(
      at: home, Shopping.app, as: .new(person: "Anna"), passphrase: "right")
    try await node.close()
    await expect(.passphrase) { _ = try await HearthNode.open(at: home, Shopping.app) }
    await expect(.passphrase) {
      _ = try await HearthNode.open(at: home, Shopping.app, passphrase: "wrong")
    }
    await expect(.passphrase) {
      _ = try await HearthNode.open(at: home, Shopping.app, passphrase: "")
    }
    let database = URL(fileURLWithPath: home).appendingPathComponent("node.db")
    try Data(repeating: 7, count: 5_000).write(to: database)
    await expect(.corrupt) {
      _ = try await HearthNode.open(at: home, Shopping.app, passphrase: "right")
    }
    try FileManager.default.removeItem(at: database)
    await expect(.corrupt) {
      _ = try await HearthNode.open(at: home, Shopping.app, passphrase: "right")
    }
    let file = shopping.home("file")
    try Data([1]).write(to: URL(fileURLWithPath: file))
    await expect(.io) {
      _ = try await HearthNode.open(at: file, Shopping.app, as: .new(person: "Anna"))
    }
  }

  @Test("Sharing fails with public errors, without commands")
  func sharing() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    await expect(.offline) { _ = try await zone.invite() }
    await expect(.invalid) { _ = try await anna.join("https://example.org") }
    await expect(.invalid) { _ = try await anna.join("hearth://join/v1/zzz") }
    await expect(.invalid) { try await anna.addRelay("nonsense") }
    await expect(.tooLarge) {
      _ = try await anna.shared.createZone(named: String(repeating: "x", count: 5_000))
    }
    try await anna.addFolder(shopping.folder)
    let link = try await zone.invite()
    let ben = try await shopping.open("Ben")
    await expect(.offline) { _ = try await ben.join(link, folder: "/nowhere/at/all") }
    _ = try await ben.join(link)
    let carl = try await shopping.open("Carl")
    await expect(.used) { _ = try await carl.join(link) }
    let reader = try await carl.joined(try await zone.invite(role: .reader))
    await expect(.notAllowed) { try await reader.insert(Item(name: "x")) }
    try await carl.close()
    await expect(.closed) { try await carl.sync() }
    await expect(.closed) { _ = try await reader.fetch(Item.all) }
    await expect(.closed) { _ = try await carl.shared.createZone(named: "x") }
  }

  @Test("Records fail with public errors, without commands")
  func records() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    let long = String(repeating: "x", count: 600_000)
    await expect(.tooLarge) { try await zone.insert(Item(name: long)) }
    await expect(.tooLarge) {
      try await zone.write { tx in for _ in 0..<10_001 { try tx.insert(Item(name: "x")) } }
    }
    #expect(try await zone.count(Item.all) == 0)
    await expect(.tooLarge) {
      _ = try await zone.fetch(Item.where(.isOne(\.name, of: (0..<1_001).map { "\($0)" })))
    }
    await expect(.notFound) { try await zone.update(Key<Item>()) { $0.name = "" } }
    await expect(.invalid) {
      let item = try await zone.insert(Item(name: "x"))
      try await zone.update(item.id) { $0.id = Key() }
    }
  }
}
