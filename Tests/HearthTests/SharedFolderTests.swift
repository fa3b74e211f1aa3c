import Foundation
import Hearth
import HearthCRDT
import HearthSync
import Testing

@Suite("What can be a shared folder, and what a home needs")
struct SharedFolderTests {
  @Test("a folder that holds a key, or may come to, is refused, by links too")
  func keys() async throws {
    let family = try Family()
    let home = family.home("anna")
    let node = try await Node.create(
      at: home, person: "Anna", device: "phone", passphrase: nil, schema: Family.schema)
    let other = try await Node.create(
      at: family.home("ben"), person: "Ben", device: "phone", passphrase: nil,
      schema: Family.schema)
    try await other.close()
    try FileManager.default.createDirectory(
      atPath: home + "/below", withIntermediateDirectories: false)
    let alias = family.home("alias")
    try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: home)
    let inner = family.home("inner")
    try FileManager.default.createSymbolicLink(
      atPath: inner, withDestinationPath: family.root.path)
    for place in [
      "", home, home + "/", home + "/below", home + "/below/../../anna", home + "/none/yet",
      family.root.path, "/", alias, alias + "/below", inner, family.home("ben"),
    ] {
      await #expect(throws: HearthError(.invalid, ""), "\(place)") {
        try await node.transports.add(folder: place)
      }
    }
    #expect(try await node.transports.list().isEmpty)
    // A name that only begins like the home's is another folder.
    let beside = home + "-shared"
    try FileManager.default.createDirectory(atPath: beside, withIntermediateDirectories: false)
    _ = try await node.transports.add(folder: beside)
    _ = try await node.transports.add(folder: family.folder)
    #expect(try await node.transports.list().map(\.path) == [beside, family.folder])
  }

  @Test("a home without its database is refused, and no empty one is put there")
  func database() async throws {
    let family = try Family()
    let home = family.home("anna")
    let node = try await Node.create(
      at: home, person: "Anna", device: "phone", passphrase: nil, schema: Family.schema)
    try await node.close()
    try FileManager.default.removeItem(atPath: home + "/node.db")
    for isEmpty in [false, false, true, true] {
      if isEmpty { try Data().write(to: URL(fileURLWithPath: home + "/node.db")) }
      let error = await #expect(throws: HearthError.self) {
        _ = try await Node.open(at: home, schema: Family.schema)
      }
      #expect(error?.code == .corrupt && error?.message.contains("keep the folder") == true)
      #expect(FileManager.default.fileExists(atPath: home + "/node.db") == isEmpty)
    }
  }

  @Test("another device's key is told from a damaged one, and an empty passphrase from both")
  func foreignKey() async throws {
    let family = try Family()
    for name in ["anna", "ben"] {
      let node = try await Node.create(
        at: family.home(name), person: name, device: "phone",
        passphrase: name == "ben" ? Array("correct horse".utf8) : nil, schema: Family.schema)
      try await node.close()
    }
    await #expect(throws: HearthError(.passphrase, "")) {
      _ = try await Node.open(at: family.home("ben"), passphrase: [], schema: Family.schema)
    }
    try Family.copy(family.home("anna") + "/key", family.home("ben") + "/key")
    let error = await #expect(throws: HearthError.self) {
      _ = try await Node.open(at: family.home("ben"), schema: Family.schema)
    }
    #expect(error?.code == .corrupt && error?.message.contains("another device's") == true)
  }
}
