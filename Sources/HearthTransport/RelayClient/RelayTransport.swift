import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// A transport over a relay: each zone and each rendezvous is a mailbox there.
///
/// The relay need not be honest. Names contain digests, which the transport checks; the client
/// checks the logs. Where a log was lost, set back or exchanged, the transport reports a problem
/// and lists the log anew, and the engine stores again what is missing. Not thread-safe: it belongs
/// to a node.
package final class RelayTransport: Transport {
  /// The mailboxes.
  package let client: RelayMailboxClient
  /// Their rosters.
  package let rosters: RelayRosters
  /// What this device remembers about the relay.
  package let notes: RelayNotes
  /// Host and port, for people.
  package let place: String
  /// The groups in the relay's scope; set by the node.
  package var carried = CarriedGroups.everything
  /// Problems of this round to report to the user.
  var notices: [TransportProblem] = []
  private let memory: any RelayMemory
  private let digest: ([UInt8]) -> Identifier
  /// The segments that the engine will request, in order, and those that arrived early.
  private var expected: [SegmentName] = []
  private var early: [SegmentName: [UInt8]] = [:]
  /// Segments whose bytes do not match their names, up to a maximum number.
  private(set) var spoilt: Set<SegmentName> = []
  /// The most mismatching segments to remember.
  private static let maximumSpoilt = 65_536
  /// What the last listing of each zone made of its mailbox's log.
  private var listings: [Identifier: Listed] = [:]
  /// The listener and the counts for the progress of transfers.
  var listener: TransferListener?
  var meter: TransferMeter

  package init(
    over connection: any RelayClientConnection, memory: any RelayMemory,
    directory: RelayDirectory = RelayDirectory(), digest: @escaping ([UInt8]) -> Identifier
  ) {
    place = connection.address.place
    notes = RelayNotes(memory, of: connection.address)
    client = RelayMailboxClient(connection, notes, directory)
    rosters = RelayRosters(client)
    meter = TransferMeter(place: place)
    self.memory = memory
    self.digest = digest
  }

  /// Returns another view of the same relay, with the same connection and memory but other
  /// mailboxes.
  package func view(_ directory: RelayDirectory) -> RelayTransport {
    RelayTransport(
      over: client.connection, memory: memory, directory: directory, digest: digest)
  }

  package func place(of name: SegmentName) -> String { "\(place), \(name.digest)" }

  // MARK: Listing

  /// A zone's listing, and the point of the log to which it belongs.
  private struct Listed {
    let cursor: RelayCursor?
    let chain: Bytes32
    let listing: TransportListing
  }

  /// Lists what the relay holds of a zone; requests only new entries.
  package func list(zoneTag: Identifier) async throws -> TransportListing {
    let follower = RelayLogFollower(client: client)
    let (index, problem) = try await follower.update(client.access(zoneTag))
    var listing = listing(of: index, zoneTag)
    if let problem { listing.problems.insert(problem, at: 0) }
    return listing
  }

  /// The names of a log as a listing.
  ///
  /// A mailbox may hold hundreds of thousands, and most rounds bring nothing new: it is made anew
  /// only where the log is another one.
  private func listing(of index: RelayMailboxIndex, _ zoneTag: Identifier) -> TransportListing {
    if let known = listings[zoneTag], known.cursor == index.cursor, known.chain == index.chain {
      return known.listing
    }
    var listing = TransportListing()
    var strange = 0
    for bytes in index.sortedNames {
      switch RelayName(bytes, zoneTag: zoneTag) {
      case .segment(let name): listing.segments.append(name)
      case .chunk(let name): listing.snapshots.append(name)
      case .attachment(let name): listing.attachments.append(name)
      case .grant, .capsule: break
      case nil: strange += 1
      }
    }
    listing.segments.sort()
    listing.snapshots.sort()
    listing.attachments.sort()
    if strange > 0 {
      listing.problems.append(
        TransportProblem(
          place: place, fault: "\(strange) entries have names that this program does not know",
          remedy: "update this program if others use a newer one", hidesData: false))
    }
    listings[zoneTag] = Listed(cursor: index.cursor, chain: index.chain, listing: listing)
    return listing
  }

  // MARK: Segments

  package func expect(_ names: [SegmentName]) {
    expected = names.reversed()
    early = [:]
    if listener != nil { report(meter.expect(files: names.count, bytes: byteCount(of: names))) }
  }

  /// Reads a segment, together with some of the segments expected next.
  package func fetch(_ name: SegmentName) async throws -> [UInt8] {
    if let bytes = early.removeValue(forKey: name) { return bytes }
    let access = try client.access(name.zoneTag)
    let (batch, byteCount) = try batch(from: name, access.mailbox)
    try await client.open(access)
    let question = RelayQuestion.fetch(batch.map { RelayName.segment($0).bytes })
    let reply = try await reply(access.mailbox, moving: question, .receiving, atMost: byteCount)
    guard case .blobs(let blobs) = reply else {
      throw client.wrongAnswer()
    }
    let came = blobs.compactMap(\.self)
    report(meter.receive(files: came.count, bytes: came.reduce(0) { $0 + $1.count }))
    for (name, blob) in zip(batch, blobs).dropFirst() {
      if let blob, digest(blob) == name.digest { early[name] = blob }
    }
    guard let blob = blobs.first ?? nil else {
      throw TransportError(
        .notFound, place: place(of: name), message: "the relay lacks a segment that it listed",
        remedy: "sync again; its author puts it back")
    }
    guard digest(blob) == name.digest else {
      if spoilt.count < RelayTransport.maximumSpoilt { spoilt.insert(name) }
      throw TransportError(
        .contentMismatch, place: place(of: name),
        message: "the relay's bytes do not match the name",
        remedy: "sync again; if that does not help, use another relay")
    }
    return blob
  }

  /// Returns a name, the names expected after it that fit into one answer, and their total size.
  private func batch(
    from name: SegmentName, _ mailbox: Identifier
  ) throws -> (names: [SegmentName], byteCount: Int) {
    let index = try client.log(of: mailbox).index
    var batch = [name]
    var byteCount = index.byteCount(of: RelayName.segment(name).bytes) ?? 0
    while let next = expected.last {
      guard next != name else {
        expected.removeLast()
        continue
      }
      let length = index.byteCount(of: RelayName.segment(next).bytes) ?? 0
      guard next.zoneTag == name.zoneTag, batch.count < RelayLimits.maximumBatchItems,
        byteCount + length <= RelayLimits.maximumBatchBytes
      else { break }
      byteCount += length
      batch.append(next)
      expected.removeLast()
    }
    return (batch, byteCount)
  }

  package func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await publish([(name, bytes)])
  }

  /// Stores segments, as many per request as it holds.
  package func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    var batch: [RelayPut] = []
    var byteCount = 0
    var zoneTag: Identifier?
    for (name, bytes) in segments {
      let put = RelayPut(name: RelayName.segment(name).bytes, blob: bytes)
      guard digest(bytes) == name.digest, bytes.count <= RelayLimits.maximumBlobBytes else {
        throw TransportError(
          .invalidName, place: place, message: "a name that does not match these bytes",
          remedy: "report this as a fault of Hearth")
      }
      let cost = put.name.count + put.blob.count
      if zoneTag != name.zoneTag || batch.count == RelayLimits.maximumBatchItems
        || byteCount + cost > RelayLimits.maximumBatchBytes
      {
        if let zoneTag { try await store(batch, in: client.access(zoneTag)) }
        batch = []
        byteCount = 0
        zoneTag = name.zoneTag
      }
      batch.append(put)
      byteCount += cost
    }
    if let zoneTag { try await store(batch, in: client.access(zoneTag)) }
  }

  package var keepsAuthorsApart: Bool { true }

  package func remove(_ name: SegmentName) async throws { try await remove([name]) }

  // MARK: Blobs

  package func fetch(_ name: BlobName) async throws -> [UInt8]? {
    let (access, bytes) = try place(of: name)
    guard let access else { return nil }
    do {
      try await client.open(access)
      if listener != nil { report(meter.expect(name) { byteCount(from: name) }) }
      let reply = try await reply(
        access.mailbox, moving: .fetch([bytes]), .receiving,
        atMost: client.index(of: access.mailbox)?.byteCount(of: bytes) ?? 0)
      guard case .blobs(let blobs) = reply, let blob = blobs.first ?? nil else { return nil }
      if name.kind != .capsule { report(meter.receive(files: 1, bytes: blob.count)) }
      guard !name.kind.hasDigest || digest(blob) == name.digest else {
        throw TransportError(
          .contentMismatch, place: place, message: "the relay's bytes do not match the name",
          remedy: "sync again; if that does not help, use another relay")
      }
      return blob
    } catch let error as TransportError where error.code == .relayRefused && name.kind == .capsule {
      return nil
    }
  }

  package func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    let (access, place) = try place(of: name)
    guard let access else { throw client.refused() }
    let put = RelayPut(name: place, isReplaceable: !name.kind.hasDigest, blob: bytes)
    try await store([put], in: access)
  }

  package func remove(_ name: BlobName) async throws {
    if name.kind == .attachment { return try await remove([name]) }
    let (access, place) = try place(of: name)
    guard let access else { return }
    try await remove([place], in: access)
  }

  /// Returns the grant for a recipient in a rekey handoff; nil if there is none.
  package func grant(_ name: RelayName, in access: MailboxAccess) async throws -> [UInt8]? {
    try await client.open(access)
    guard case .blobs(let blobs) = try await client.reply(access.mailbox, .fetch([name.bytes]))
    else {
      return nil
    }
    return blobs.first ?? nil
  }

  /// Stores grants in a rekey handoff, replacing existing ones.
  package func give(_ grants: [(name: RelayName, bytes: [UInt8])], in access: MailboxAccess)
    async throws
  {
    let puts = grants.map { RelayPut(name: $0.name.bytes, isReplaceable: true, blob: $0.bytes) }
    for start in stride(from: 0, to: puts.count, by: RelayLimits.maximumBatchItems) {
      try await store(
        Array(puts[start..<min(puts.count, start + RelayLimits.maximumBatchItems)]), in: access)
    }
  }

  private func place(of name: BlobName) throws -> (MailboxAccess?, [UInt8]) {
    switch name.kind {
    case .capsule: (client.directory.capsules[name.scope], RelayName.capsule(name.scope).bytes)
    case .snapshot: (try client.access(name.scope), RelayName.chunk(name).bytes)
    case .attachment: (try client.access(name.scope), RelayName.attachment(name).bytes)
    }
  }
}
