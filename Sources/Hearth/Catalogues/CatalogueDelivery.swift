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

  /// Sends what the place lacks, unless a newer version is there.
  ///
  /// Another process, or another node with the publisher's key, may have sent one since this one
  /// was signed. Readers who have it would refuse this one.
  ///
  /// - Throws: `HearthError` with `exists` if a newer version is there; `TransportError`;
  ///   `relayInconsistent` for a relay that lists more than a catalogue can have; why a file cannot
  ///   be written.
  func send() async throws -> Done {
    guard let relay = address.relay else { return try await write() }
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

  private func write() async throws -> Done {
    let folder = CatalogueFolder(path: place, catalogue: address.catalogue)
    let isWritten = try await folder.write(version) { try requireNewer(than: $0) }
    return Done(sent: isWritten ? version.records.count : 0)
  }

  /// Stores the differences, removes retired records, and puts the head last.
  ///
  /// - Throws: `HearthError` with `exists` if a newer version is there, or comes there meanwhile.
  func send(to remote: RelayCatalogue) async throws -> Done {
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
      if head != nil { try await requireNewer(at: remote) }
      items.append(
        RelayPut(name: PublicName.head, isReplaceable: true, blob: version.head.bytes))
    }
    let retired = there.keys.sorted { $0.lexicographicallyPrecedes($1) }
    done.removed = retired.count
    for start in stride(from: 0, to: retired.count, by: RelayLimits.maximumBatchItems) {
      let end = min(start + RelayLimits.maximumBatchItems, retired.count)
      try await remote.remove(Array(retired[start..<end]))
    }
    let batches = CatalogueDelivery.batches(of: items)
    for batch in batches.dropLast() { try await remote.put(batch) }
    guard let last = batches.last else { return done }
    // The records took their time, and the head is in the last batch.
    try await requireNewer(at: remote)
    try await remote.put(last)
    return done
  }

  /// Requires that the version at a relay is none that comes after this one.
  private func requireNewer(at remote: RelayCatalogue) async throws {
    let blobs = try await remote.fetch([PublicName.head])
    guard let bytes = blobs.first.flatMap({ $0 }), let head = try? SignedPublicHead(decoding: bytes)
    else { return }
    try requireNewer(than: head)
  }

  /// Requires that a version at the place does not come after this one; a false one is replaced.
  private func requireNewer(than present: SignedPublicHead) throws {
    let (own, other) = (version.head.head.version, present.head.version)
    guard other > own, (try? present.verify(of: address.catalogue)) != nil else { return }
    throw HearthError(
      .exists,
      "\(place) has version \(other) of the catalogue \(address.catalogue.name) already, so "
        + "version \(own) was not sent: publish again, with a higher version in the file if it "
        + "stays so")
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

  /// The batches in which entries are sent, in the same order.
  private static func batches(of items: [RelayPut]) -> [[RelayPut]] {
    var batches: [[RelayPut]] = []
    var batch: [RelayPut] = []
    var byteCount = 0
    for item in items {
      let size = item.name.count + item.blob.count
      if batch.count == PublicLimits.maximumBatchItems
        || byteCount + size > RelayLimits.maximumBatchBytes
      {
        batches.append(batch)
        batch = []
        byteCount = 0
      }
      batch.append(item)
      byteCount += size
    }
    if !batch.isEmpty { batches.append(batch) }
    return batches
  }
}
