import Foundation
import HearthCRDT
import HearthStore
import HearthSync
import HearthTransport
import Synchronization
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

/// A receipt as an earlier version of the application knew it: without attachments.
private struct PlainReceipt: Record {
  var id = Key<PlainReceipt>()
  var shop = ""

  static let schema = Schema<PlainReceipt>("receipt", 1) {
    Field(1, \.shop, .indexed)
  }
}

@Suite("Attachments on folders and relays")
struct AttachmentTransportTests {
  private let app = AppSchema("org.example.receipts", [Receipt.self]) {
    Rule(Receipt.self, .child, may: .change(\.shop))
  }

  private func receipt(_ zone: HearthZone, _ bytes: [UInt8]) async throws -> Receipt {
    try await zone.write { tx in try tx.insert(Receipt(scan: tx.attach(bytes))) }
  }

  @Test("A damaged file is repaired by whoever has its content, and shown by nobody")
  func damage() async throws {
    let family = try Family()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addFolder(family.folder)
    let ben = try await HearthNode.open(at: family.home("Ben"), app, as: .new(person: "Ben"))
    guard case .joined(let bens) = try await ben.join(try await zone.invite()) else { return }
    let receipt = try await zone.write { tx in
      try tx.insert(Receipt(scan: tx.attach([UInt8](repeating: 7, count: 5_000))))
    }
    let scan = try #require(receipt.scan)
    try await anna.sync()
    try await ben.sync()
    let root = URL(fileURLWithPath: family.folder).appendingPathComponent("a")
    let files = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".att") }
    let file = root.appendingPathComponent(try #require(files.first))
    #expect(files.count == 1)
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
    #expect(await fault { _ = try await bens.attachments.content(of: scan) }?.code == .offline)
    try await anna.sync()
    #expect(try await bens.attachments.content(of: scan).count == 5_000)
    try FileManager.default.removeItem(at: file)
    try await ben.sync()
    #expect(FileManager.default.fileExists(atPath: file.path))
  }

  @Test("Two transports without a person in common get content from whoever uses both")
  func relay() async throws {
    let family = try Family()
    let relay = try RelayShelf()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addRelay(relay.address)
    let ben = try await HearthNode.open(at: family.home("Ben"), app, as: .new(person: "Ben"))
    guard case .joined(let bens) = try await ben.join(try await zone.invite(role: .admin)) else {
      return
    }
    let large = [UInt8](repeating: 5, count: 2_300_000)
    let scan = try #require(try await receipt(zone, large).scan)
    for node in [anna, ben, anna] { try await node.sync() }
    #expect(try await !bens.attachments.isHere(scan))
    #expect(Array(try await bens.attachments.content(of: scan)) == large)
    // Cleo knows only the folder.
    try await ben.addFolder(family.folder)
    for node in [ben, anna, ben] { try await node.sync() }
    let cleo = try await HearthNode.open(at: family.home("Cleo"), app, as: .new(person: "Cleo"))
    let link = try await bens.invite()
    guard case .joined(let cleos) = try await cleo.join(link, folder: family.folder) else { return }
    #expect(Array(try await cleos.attachments.content(of: scan)) == large)
    // Without the relay, Ben's device cannot know whether it has what Anna attached.
    try relay.kill()
    #expect(try await bens.attachments.content(of: scan).count == large.count)
    let other = try #require(try await receipt(zone, [1, 2, 3]).scan)
    #expect(await fault { _ = try await bens.attachments.content(of: other) }?.code == .offline)
    try await bens.attachments.free(scan)
    #expect(try await bens.attachments.content(of: scan).count == large.count)
  }

  @Test("A repair clears at once what no record names, and nothing that one names")
  func repaired() async throws {
    let family = try Family()
    let relay = try RelayShelf()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addRelay(relay.address)
    let ben = try await HearthNode.open(at: family.home("Ben"), app, as: .new(person: "Ben"))
    guard case .joined(let bens) = try await ben.join(try await zone.invite()) else { return }
    let receipts = [try await receipt(zone, [1, 2, 3]), try await receipt(bens, [4, 5, 6])]
    let scans = try receipts.map { try #require($0.scan) }
    for node in [anna, ben, anna] { try await node.sync() }
    // Anna's device looks once a day what is needed, and has done so.
    for number in [1, 2] as [UInt8] {
      try await ben.node.storeChunk([9, number], in: zone.zone, at: relay.address)
      try await anna.sync()
    }
    let repaired = try await anna.node.transports.repair(relay: relay.address)
    let lines = repaired.repairs.flatMap { report -> [String] in
      guard case .cleared(let lines) = report.repair else { return [] }
      return lines
    }
    #expect(lines.contains { $0.hasPrefix("2 files") }, "\(lines)")
    let left = try await anna.node.listed(in: zone.zone, at: relay.address)
    #expect(left == Set(scans.flatMap(\.reference.chunks)))
    // A deleted record can be restored with its content for a month.
    try await zone.delete(receipts[0].id)
    try await anna.sync()
    _ = try await anna.node.transports.repair(relay: relay.address)
    #expect(try await anna.node.listed(in: zone.zone, at: relay.address) == left)
  }

  @Test("A transaction that is refused leaves no content behind")
  func denied() async throws {
    let family = try Family()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addFolder(family.folder)
    let cleo = try await HearthNode.open(at: family.home("Cleo"), app, as: .new(person: "Cleo"))
    let link = try await zone.invite(role: .child)
    guard case .joined(let cleos) = try await cleo.join(link) else { return }
    let known = try await zone.insert(Receipt(shop: "Market"))
    try await anna.sync()
    try await cleo.sync()
    let error = await fault {
      try await cleos.write { tx in
        let scan = try tx.attach([1, 2, 3])
        try tx.update(known.id) { $0.scan = scan }
      }
    }
    #expect(error?.code == .notAllowed)
    let left = try await cleo.node.working { core in
      try core.store.attachments.chunks(of: cleos.zone)
    }
    #expect(left == [])
  }

  @Test("An earlier version of an application removes nothing that it does not know")
  func earlier() async throws {
    let now = Mutex<UInt64>(1_790_000_000_000)
    let clock = HearthClock { now.withLock { $0 } }
    let family = try Family()
    let anna = try await HearthNode.open(
      at: family.home("Anna"), app, as: .new(person: "Anna"), clock: clock)
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addFolder(family.folder)
    let old = AppSchema("org.example.receipts", [PlainReceipt.self])
    let oldest = AppSchema("org.example.receipts", [])
    let homes = [("Ben", old), ("Cleo", oldest)]
    for (name, app) in homes {
      let node = try await HearthNode.open(
        at: family.home(name), app, as: .new(person: name), clock: clock)
      _ = try await node.join(try await zone.invite(expires: .days(1)))
      try await node.close()
    }
    let (kept, gone) = (try await receipt(zone, [1, 2, 3]), try await receipt(zone, [4]))
    try await anna.sync()
    try await zone.delete(gone.id)
    try await anna.sync()
    try await anna.close()
    for (name, app) in homes {
      let node = try await HearthNode.open(at: family.home(name), app, clock: clock)
      for _ in 0..<35 {
        try await node.sync()
        now.withLock { $0 += 24 * 60 * 60 * 1_000 + 1 }
      }
      try await node.close()
      let files = try FileManager.default.subpathsOfDirectory(atPath: family.folder)
        .filter { $0.hasSuffix(".att") }
      #expect(files.count == 1, "after \(name)")
    }
    let again = try await HearthNode.open(at: family.home("Anna"), self.app, clock: clock)
    let annas = try #require(await again.shared.zones().first)
    let scan = try #require(try await annas.get(kept.id)?.scan)
    #expect(Array(try await annas.attachments.content(of: scan)) == [1, 2, 3])
  }
}

extension Node {
  /// Stores a chunk that no record names at a relay, as a changed program may.
  fileprivate func storeChunk(_ bytes: [UInt8], in zone: ZoneID, at address: String) async throws {
    let name = BlobName(
      kind: .attachment, scope: try engine.zone(zone).tag, digest: segmentDigest(bytes))
    try await relay(address).publish(name, bytes)
  }

  /// The chunks of attachments that a relay holds.
  fileprivate func listed(in zone: ZoneID, at address: String) async throws -> Set<Identifier> {
    let listing = try await relay(address).list(zoneTag: engine.zone(zone).tag)
    return Set(listing.attachments.map(\.digest))
  }
}
