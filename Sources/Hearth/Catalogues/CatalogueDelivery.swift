import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSockets
import HearthSync
import HearthTransport

/// A signed version of a catalogue on its way to one place.
struct CatalogueDelivery: Sendable {
  /// The version.
  let version: PublicCatalogue
  /// The address that readers follow.
  let address: CatalogueAddress
  /// The relay's address or the folder's path.
  let place: String
  /// Whose catalogue it is.
  let publisher: PublisherIdentity
  /// Distinguishes the nodes of one process.
  let sender: DeviceID
  /// The relay's registration token; empty if it needs none.
  let credential: [UInt8]

  /// What was done at a place: the numbers of sent and of removed records.
  struct Done: Sendable {
    var sent = 0
    var removed = 0
  }

  /// The most pages of a listing: as many as a relay's most entries fill, twice.
  static let maximumPages = 1_000
  /// The most names of a listing: those of a full catalogue, twice.
  static let maximumNames = 2 * PublicLimits.maximumRecords

  /// Sends what the place lacks.
  ///
  /// - Throws: `TransportError`; `relayInconsistent` for a relay that lists more than a catalogue
  ///   can have; why a file cannot be written.
  func send() async throws -> Done {
    guard let relay = address.relay else { return try write() }
    let publisher = publisher
    let link = RelayLink.shared(
      relay,
      RelayLink.Owner(
        name: "publisher \(sender.hex)", credential: credential,
        managerPair: { _ in publisher.signingPair }))
    let remote = RelayCatalogue(publishing: address.catalogue, by: publisher, over: link)
    _ = try await remote.open()
    return try await send(to: remote)
  }

  private func write() throws -> Done {
    let name = PublicPack.fileName(of: address.catalogue.id)
    let path = URL(fileURLWithPath: place).appendingPathComponent(name).path
    let bytes = PublicPack(version).encoded
    let present = try? DurableFile.read(path, atMost: PublicLimits.maximumPackBytes)
    guard present != bytes else { return Done() }
    try DurableFile.write(bytes, to: path, mode: 0o644)
    return Done(sent: version.records.count)
  }

  /// Stores the differences, removes retired records, and puts the head last.
  private func send(to remote: RelayCatalogue) async throws -> Done {
    var there = try await CatalogueDelivery.listed(at: remote)
    var items: [RelayPut] = []
    for record in version.records {
      let before = there.removeValue(forKey: record.entryName)
      guard before != RelayChain.digest(of: record.bytes) else { continue }
      items.append(
        RelayPut(name: record.entryName, isReplaceable: true, blob: record.bytes))
    }
    var done = Done(sent: items.count)
    let head = there.removeValue(forKey: PublicName.head)
    if head != RelayChain.digest(of: version.head.bytes) {
      items.append(
        RelayPut(name: PublicName.head, isReplaceable: true, blob: version.head.bytes))
    }
    let retired = there.keys.sorted { $0.lexicographicallyPrecedes($1) }
    done.removed = retired.count
    for start in stride(from: 0, to: retired.count, by: RelayLimits.maximumBatchItems) {
      let end = min(start + RelayLimits.maximumBatchItems, retired.count)
      try await remote.remove(Array(retired[start..<end]))
    }
    try await put(items, to: remote)
    return done
  }

  /// The digests of what a relay holds of a catalogue, by name.
  static func listed(at remote: RelayCatalogue) async throws -> [[UInt8]: Bytes32] {
    var there: [[UInt8]: Bytes32] = [:]
    var position: UInt64 = 0
    for _ in 0..<maximumPages {
      let page = try await remote.list(after: position)
      for header in page.headers where header.isLive { there[header.name] = header.digest }
      guard there.count <= maximumNames else {
        throw remote.excess(of: "more than \(maximumNames) names")
      }
      guard page.through > position, page.through < page.head else { return there }
      position = page.through
    }
    throw remote.excess(of: "a log of more than \(maximumPages) pages")
  }

  private func put(_ items: [RelayPut], to remote: RelayCatalogue) async throws {
    var batch: [RelayPut] = []
    var byteCount = 0
    for item in items {
      let size = item.name.count + item.blob.count
      if batch.count == PublicLimits.maximumBatchItems
        || byteCount + size > RelayLimits.maximumBatchBytes
      {
        try await remote.put(batch)
        batch = []
        byteCount = 0
      }
      batch.append(item)
      byteCount += size
    }
    if !batch.isEmpty { try await remote.put(batch) }
  }
}
