import Foundation
import HearthCRDT
import HearthCrypto
import HearthSockets
import HearthStore
import HearthSync
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

/// A publisher's node, a reader's node, and what is offered.
private final class Bazaar {
  let family: Family
  let publisher: Node
  let reader: Node

  init() async throws {
    family = try Family()
    publisher = try await Bazaar.node("publisher", in: family)
    reader = try await Bazaar.node("reader", in: family)
    _ = try await publisher.publishing.makeKey()
  }

  /// What lies in the place of a catalogue of two items is refused, and the items stay.
  func refuse(_ data: Data?, at file: String, _ words: String) async throws {
    if let data {
      try data.write(to: URL(fileURLWithPath: file))
    } else {
      try FileManager.default.removeItem(atPath: file)
    }
    let result = try await refresh()
    #expect(result.problem?.contains(words) == true, "\(result)")
    #expect(result.kept.head?.version == 2)
    #expect(try await ids() == ["a", "b"])
  }

  /// Another publisher's catalogue of the same name, as a folder carries it.
  func foreignFile() async throws -> Data {
    let other = try await Bazaar.node("other", in: family)
    _ = try await other.publishing.makeKey()
    let elsewhere = family.home("elsewhere")
    try FileManager.default.createDirectory(
      atPath: elsewhere, withIntermediateDirectories: true)
    let foreign = try await other.publishing.publish(
      Bazaar.drafts("evil"), named: "hearth", leastVersion: 9, to: [elsewhere])
    return try Data(
      contentsOf: URL(
        fileURLWithPath: "\(elsewhere)/\(PublicPack.fileName(of: foreign.catalogue.id))"))
  }

  static func node(_ name: String, in family: Family) async throws -> Node {
    try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
  }

  static func draft(_ id: String, _ minutes: Int64 = 10, body: String = "{}") throws
    -> PublicRecord
  {
    try PublicRecord(
      type: "challenge", id: id, revision: 1, fields: [PublicField("minutes", .int(minutes))],
      body: body)
  }

  static func drafts(_ ids: String...) throws -> [PublicRecord] { try ids.map { try draft($0) } }

  func publish(
    _ drafts: [PublicRecord], named name: String = "hearth", to place: String? = nil
  ) async throws -> PublishReport {
    let report = try await publisher.publishing.publish(
      drafts, named: name, leastVersion: 1, to: place.map { [$0] } ?? [])
    #expect(report.places.allSatisfy { $0.failure == nil }, "\(report.places)")
    return report
  }

  /// The publisher's own keys, by way of a file.
  func identity() async throws -> PublisherIdentity {
    let file = family.home("saved.key")
    let words = Array("correct horse battery".utf8)
    try await publisher.publishing.exportKey(passphrase: words, to: file)
    var passphrase = words
    let secrets = try KeyFile.open(
      Array(try Data(contentsOf: URL(fileURLWithPath: file))),
      passphrase: Passphrase(consuming: &passphrase))
    return try PublisherIdentity(master: try #require(secrets.first).key())
  }

  func ids(_ node: Node? = nil) async throws -> [String] {
    try await (node ?? reader).catalogues.records(type: "challenge")
      .map(\.record.path.id)
  }

  /// What is told of the one catalogue that the reader follows.
  func refresh() async throws -> CatalogueRefresh {
    let results = try await reader.catalogues.refresh()
    return try #require(results.first)
  }
}

@Suite("Public catalogues between nodes")
struct PublicCatalogueTests {
  @Test("over a relay: published once, followed, changed, found, and read with the relay gone")
  func relay() async throws {
    let shelf = try RelayShelf()
    let bazaar = try await Bazaar()
    let first = try await bazaar.publish(Bazaar.drafts("a", "b", "c"), to: shelf.address)
    #expect(first.version == 1 && first.places[0].sent == 3 && first.isNew)
    let followed = try await bazaar.reader.catalogues.follow(
      first.places[0].address.description, folder: nil)
    #expect(followed.isNew && followed.kept.head?.count == 3)
    #expect(try await bazaar.ids() == ["a", "b", "c"])
    // The same again changes and sends nothing.
    let again = try await bazaar.publish(Bazaar.drafts("a", "b", "c"))
    #expect(again.version == 1 && !again.isNew && again.places[0].sent == 0)
    #expect(try await !bazaar.refresh().isNew)
    // One changed, one retired, one new: only those are sent.
    let second = try await bazaar.publish(
      [Bazaar.draft("a"), Bazaar.draft("b", 20), Bazaar.draft("d")])
    #expect(second.version == 2 && second.places[0].sent == 2 && second.places[0].removed == 1)
    let refreshed = try await bazaar.refresh()
    #expect(refreshed.isNew && refreshed.problem == nil && refreshed.kept.head?.version == 2)
    #expect(try await bazaar.ids() == ["a", "b", "d"])
    let long = [PublicCondition("minutes", .range(least: 15, most: nil))]
    let remote = try await bazaar.reader.catalogues.find(
      PublicQuery(type: "challenge", conditions: long), atMost: 10)
    #expect(remote.found.map(\.record.path.id) == ["b"] && remote.remarks.isEmpty)
    try shelf.kill()
    let offline = try await bazaar.refresh()
    #expect(offline.isOffline && offline.problem != nil && offline.kept.head?.version == 2)
    #expect(try await bazaar.ids() == ["a", "b", "d"])
    await #expect(throws: HearthError(.offline, "")) {
      try await bazaar.reader.catalogues.find(PublicQuery(type: "challenge"), atMost: 1)
    }
    let late = try await Bazaar.node("late", in: bazaar.family)
    let waiting = try await late.catalogues.follow(first.places[0].address.description, folder: nil)
    #expect(waiting.isOffline && waiting.kept.head == nil)
    try shelf.start()
    #expect(try await late.catalogues.refresh()[0].isNew)
    #expect(try await bazaar.ids(late) == ["a", "b", "d"])
  }

  @Test("a relay set back, wiped or robbed of a record: the copy stays, in words; then all is well")
  func dishonestRelay() async throws {
    let shelf = try RelayShelf()
    let bazaar = try await Bazaar()
    let report = try await bazaar.publish(Bazaar.drafts("a", "b"), to: shelf.address)
    _ = try await bazaar.reader.catalogues.follow(report.places[0].address.description, folder: nil)
    try shelf.back(up: "old")
    _ = try await bazaar.publish(Bazaar.drafts("a", "c"))
    #expect(try await bazaar.refresh().isNew)
    try shelf.restore("old")
    let older = try await bazaar.refresh()
    #expect(older.problem?.contains("old copy") == true && older.kept.head?.version == 2)
    #expect(try await bazaar.ids() == ["a", "c"])
    // Found records that are older than the copy are left out: b was retired since.
    let stale = try await bazaar.reader.catalogues.find(
      PublicQuery(type: "challenge"), atMost: 10)
    #expect(stale.found.map(\.record.path.id) == ["a"] && stale.remarks.count == 1)
    try shelf.wipe()
    #expect(try await bazaar.refresh().problem?.contains("no such catalogue") == true)
    #expect(try await bazaar.publish(Bazaar.drafts("a", "c")).places[0].sent == 2)
    #expect(try await bazaar.refresh().problem == nil)
    // A record is gone while the head says that it is there.
    let identity = try await bazaar.identity()
    let remote = RelayCatalogue(
      publishing: report.catalogue, by: identity,
      over: RelayLink(
        try RelayAddress(shelf.address),
        RelayLink.Owner(name: "robber", managerPair: { _ in identity.signingPair })))
    _ = try await remote.open()
    try await remote.remove([PublicName.entry(type: "challenge", id: "a")])
    let robbed = try await bazaar.refresh()
    #expect(robbed.problem?.contains("withholds records") == true, "\(robbed)")
    #expect(try await bazaar.ids() == ["a", "c"])
    _ = try await bazaar.publish(Bazaar.drafts("a", "c"))
    #expect(try await bazaar.refresh().problem == nil)
  }

  @Test("a folder carries a catalogue, and no damaged, foreign or older file is let in")
  func folder() async throws {
    let bazaar = try await Bazaar()
    let folder = bazaar.family.folder
    let first = try await bazaar.publish(Bazaar.drafts("a"), to: folder)
    let address = first.places[0].address
    await #expect(throws: HearthError(.invalid, "")) {
      try await bazaar.reader.catalogues.follow(address.description, folder: nil)
    }
    _ = try await bazaar.reader.catalogues.follow(address.description, folder: folder)
    let file = "\(folder)/\(PublicPack.fileName(of: first.catalogue.id))"
    let old = try Data(contentsOf: URL(fileURLWithPath: file))
    _ = try await bazaar.publish(Bazaar.drafts("a", "b"))
    #expect(try await bazaar.refresh().isNew)
    let good = try Data(contentsOf: URL(fileURLWithPath: file))
    try await bazaar.refuse(old, at: file, "old copy")
    try await bazaar.refuse(good.dropLast(), at: file, "damaged")
    try await bazaar.refuse(Data(), at: file, "damaged")
    for place in [60, 200, good.count - 1] {
      var flipped = good
      flipped[place] ^= 0x20
      try flipped.write(to: URL(fileURLWithPath: file))
      #expect(try await bazaar.refresh().problem != nil, "byte \(place)")
      #expect(try await bazaar.ids() == ["a", "b"])
    }
    try await bazaar.refuse(try await bazaar.foreignFile(), at: file, "another publisher")
    try await bazaar.refuse(nil, at: file, "does not hold")
    try good.write(to: URL(fileURLWithPath: file))
    #expect(try await bazaar.refresh().problem == nil)
    // Following it anew lets no older version in.
    _ = try await bazaar.reader.catalogues.unfollow("hearth")
    #expect(try await bazaar.reader.catalogues.list().isEmpty)
    #expect(try await bazaar.ids().isEmpty)
    try old.write(to: URL(fileURLWithPath: file))
    await #expect(throws: SyncError(.catalogueOlder, "")) {
      try await bazaar.reader.catalogues.follow(address.description, folder: folder)
    }
  }

  @Test("a publisher's key moves in a file, and what was published goes on")
  func movedPublisher() async throws {
    let bazaar = try await Bazaar()
    let folder = bazaar.family.folder
    _ = try await bazaar.publish(Bazaar.drafts("a"), to: folder)
    let second = try await bazaar.publish(Bazaar.drafts("b"))
    let file = bazaar.family.home("publisher.key")
    let words = Array("correct horse battery".utf8)
    try await bazaar.publisher.publishing.exportKey(passphrase: words, to: file)
    let heir = try await Bazaar.node("heir", in: bazaar.family)
    await #expect(throws: HearthError(.passphrase, "")) {
      try await heir.publishing.importKey(passphrase: Array("wrong".utf8), from: file)
    }
    #expect(
      try await heir.publishing.importKey(passphrase: words, from: file)
        == second.catalogue.fingerprint)
    await #expect(throws: HearthError(.exists, "")) { try await heir.publishing.makeKey() }
    // The heir never saw version 2, and goes on from it.
    let third = try await heir.publishing.publish(
      Bazaar.drafts("c"), named: "hearth", leastVersion: 1, to: [folder])
    #expect(third.version == 3 && third.catalogue == second.catalogue)
  }

  @Test("a feature flag has the value of its highest version, and none where nobody knows it")
  func flags() async throws {
    let bazaar = try await Bazaar()
    func flag(_ version: Int64, _ value: Bool) throws -> PublicRecord {
      try PublicRecord(
        type: "flag", id: "social_sharing", revision: 1,
        fields: [PublicField("value", .bool(value)), PublicField("version", .int(version))],
        body: "{}")
    }
    for (name, record) in [("one", try flag(1, false)), ("two", try flag(2, true))] {
      let report = try await bazaar.publish([record], named: name, to: bazaar.family.folder)
      _ = try await bazaar.reader.catalogues.follow(
        report.places[0].address.description, folder: bazaar.family.folder)
    }
    #expect(try await bazaar.reader.catalogues.flag("social_sharing") == true)
    #expect(try await bazaar.reader.catalogues.flag("other") == nil)
    _ = try await bazaar.reader.catalogues.unfollow("two")
    #expect(try await bazaar.reader.catalogues.flag("social_sharing") == false)
  }
}
