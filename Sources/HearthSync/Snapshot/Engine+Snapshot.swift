import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// The zone's digest: equal on every replica with the same changes and the same evidence.
  ///
  /// The digest is BLAKE2b-256 over the canonical stream of the whole state. The cost is O(size of
  /// the zone).
  package func digest(of zone: ZoneID) throws -> [UInt8] {
    let state = try self.zone(zone)
    var hasher = Engine.digestHasher()
    try SnapshotWriter(zone: state, heldBack: heldBack(in: state))
      .write(from: store.records) { hasher.update($0) }
    return hasher.finalize()
  }

  static func digest(ofStream stream: [UInt8]) -> [UInt8] {
    var hasher = digestHasher()
    hasher.update(stream)
    return hasher.finalize()
  }

  private static func digestHasher() -> Blake2b.Hasher {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update(Array("HRTH/digest/v1".utf8))
    return hasher
  }

  /// The number of bytes of the stream in one chunk before compression: a size that always fits.
  static var chunkBytes: Int { Envelope.guaranteedBodyBytes }

  /// Writes a snapshot of a zone as sealed chunks.
  package func snapshot(of zone: ZoneID) throws -> [[UInt8]] {
    let state = try self.zone(zone)
    guard let epoch = state.currentEpoch else {
      throw SyncError(.corrupt, "zone \(state.name) has no key to seal with")
    }
    var hasher = Engine.digestHasher()
    var pieces: [[UInt8]] = [[]]
    try SnapshotWriter(zone: state, heldBack: heldBack(in: state)).write(from: store.records) {
      block in
      hasher.update(block)
      var rest = block[...]
      while !rest.isEmpty {
        let room = Engine.chunkBytes - pieces[pieces.count - 1].count
        pieces[pieces.count - 1] += rest.prefix(room)
        rest = rest.dropFirst(room)
        if !rest.isEmpty { pieces.append([]) }
      }
    }
    let digest = hasher.finalize()
    return try pieces.enumerated().map { index, piece in
      try Envelope.seal(
        type: .snapshotChunk, zoneID: zone.bytes, device: identity, incarnation: incarnation,
        epoch: epoch, zone: state.secret, firstSeq: UInt64(index + 1),
        lastSeq: UInt64(pieces.count), chainBefore: digest, chainAfter: digest, body: piece)
    }
  }

  /// The largest accepted snapshot, before decompression of its records.
  package static var maximumSnapshotBytes: Int { 1024 * 1024 * 1024 }

  /// Bootstraps an empty zone from a snapshot's chunks, in order.
  ///
  /// - Throws: If a chunk is missing, damaged, or not by an owner or admin of the group, or if the
  ///   state inside does not have the digest outside. The zone is then unchanged.
  package mutating func bootstrap(
    _ zone: ZoneID, from chunks: [[UInt8]], nowMilliseconds: UInt64
  ) throws {
    let place = try place(of: zone)
    guard zones[place].frontier.isEmpty else {
      throw SyncError(.exists, "zone \(zones[place].name) already has changes")
    }
    var container = ByteWriter(capacity: chunks.reduce(0) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    let before = zones[place]
    do {
      try store.transaction {
        zones[place] = before
        try load(
          snapshot: container.bytes, into: zone, isAccepted: false,
          nowMilliseconds: nowMilliseconds)
        try store.snapshots.saveBase(container.bytes, of: zone)
        try compareSoon(before, nowMilliseconds: nowMilliseconds)
      }
    } catch {
      zones[place] = before
      throw error
    }
    if before.kind == .control { try refreshMembership(of: before.group) }
  }

  /// Loads a container of chunks into a zone whose records and heads are empty.
  ///
  /// - Parameter isAccepted: Whether this node has accepted the snapshot before. Its author then
  ///   need no longer be an admin.
  mutating func load(
    snapshot container: [UInt8], into zone: ZoneID, isAccepted: Bool, nowMilliseconds: UInt64
  ) throws {
    let place = try place(of: zone)
    let stream = try openSnapshot(container, zone: zones[place], isAccepted: isAccepted)
    var reader = try SnapshotReader(stream, zone: zone)
    try store.zones.learn(reader.authors)
    try insertRecords(from: &reader, into: zone)
    for head in reader.heads where !Mutant.snapshotWithoutFrontier.isActive {
      zones[place].set(head)
      _ = clock.receive(head.time, nowMilliseconds: nowMilliseconds)
    }
    try store.zones.save(zones[place].heads, of: zone)
    try save(heldBack: reader.heldBack, ofBaseOf: zone)
  }

  private func insertRecords(
    from reader: inout SnapshotReader, into zone: ZoneID
  ) throws {
    var keys: [RecordKey] = []
    while let block = try reader.nextBlock() {
      var changes: [RecordChange] = []
      var events: [(RecordKey, EventState)] = []
      for (key, record) in block {
        switch record {
        case .record(let state):
          if Mutant.snapshotDropsDeletes.isActive, state.life.isDeleted { continue }
          changes.append(RecordChange(key: key, state: state, isNew: true))
        case .event(let event): events.append((key, event))
        }
        keys.append(key)
      }
      try store.records.save(changes, in: zone)
      try store.records.insert(events, in: zone)
    }
    try store.projections.update(for: keys, in: zone)
  }

  /// Verifies, opens and joins the chunks, each of which must link to the digest of the whole.
  func openSnapshot(
    _ container: [UInt8], zone: ZoneState, isAccepted: Bool
  ) throws -> [UInt8] {
    var stream: [UInt8] = []
    var links: Set<Bytes32> = []
    var usedEpoch: EpochKey?
    let chunks = try Engine.chunks(of: container)
    for (index, bytes) in chunks.enumerated() {
      let chunk = try open(
        chunk: bytes, at: index, of: chunks.count, zone: zone, isAccepted: isAccepted)
      stream += chunk.body
      guard stream.count <= Engine.maximumSnapshotBytes else {
        throw SyncError(.tooLarge, "the snapshot is larger than this program accepts")
      }
      links.formUnion([chunk.header.linkBefore, chunk.header.linkAfter])
      usedEpoch = chunk.epoch
    }
    let digest = Engine.digest(ofStream: stream)
    guard let usedEpoch, links == [try usedEpoch.link(digest)] else {
      throw SyncError(.notAuthentic, "the snapshot's content does not match its digest")
    }
    return stream
  }

  static func chunks(of container: [UInt8]) throws -> [[UInt8]] {
    var reader = ByteReader(container)
    var chunks: [[UInt8]] = []
    for _ in 0..<(try reader.count("chunks", itemBytes: 64)) {
      chunks.append(try reader.blob("chunk", atMost: Envelope.maximumEnvelopeBytes))
    }
    try reader.finish()
    return chunks
  }

  private func open(
    chunk: [UInt8], at index: Int, of number: Int, zone: ZoneState, isAccepted: Bool
  ) throws -> (header: EnvelopeHeader, epoch: EpochKey, body: [UInt8]) {
    let header = try Envelope.parseHeader(
      chunk, minimumSuite: membership(of: zone.group).acceptedSuite)
    guard header.type == .snapshotChunk, Identifier(header.zoneTag) == zone.tag,
      header.firstSeq == UInt64(index + 1), header.lastSeq == UInt64(number)
    else { throw SyncError(.malformed, "chunk \(index + 1) does not belong to this snapshot") }
    guard let epoch = zone.epoch(tag: header.epochTag) else {
      throw SyncError(.notFound, "this device does not know the key of the snapshot")
    }
    if !isAccepted { try checkAuthor(of: chunk, header, zone: zone) }
    let body = try Envelope.open(chunk, zoneID: zone.id.bytes, epoch: epoch)
    return (header, epoch, body)
  }

  /// Rejects a chunk that is not signed by an owner or admin of the group, or by this device.
  private func checkAuthor(
    of chunk: [UInt8], _ header: EnvelopeHeader, zone: ZoneState
  ) throws {
    let membership = membership(of: zone.group)
    guard let device = zone.deviceByTag[Identifier(header.authorTag)],
      let card = membership.device(device)?.card
    else { throw SyncError(.notFound, "this device does not know the snapshot's author") }
    guard let role = membership.role(of: device),
      role.rank >= Role.admin.rank || device == self.device
    else {
      throw SyncError(
        .notAllowed, "\(card.name) made it, but only snapshots by an owner or admin are used")
    }
    try Envelope.verifySignature(
      chunk, zoneID: zone.id.bytes,
      keys: try membership.keys(of: device, showing: card))
  }

  /// Verifies a snapshot's first chunk and reads the snapshot's heads and held-back changes.
  ///
  /// - Parameters:
  ///   - chunk: The first chunk.
  ///   - number: The number of chunks.
  func heads(
    ofSnapshot chunk: [UInt8], of number: Int, zone: ZoneState, isAccepted: Bool
  ) throws -> (heads: [LogHead], heldBack: [Dot], isOwn: Bool) {
    let chunk = try open(
      chunk: chunk, at: 0, of: number, zone: zone, isAccepted: isAccepted)
    let isOwn = Identifier(chunk.header.authorTag) == zone.authorTag(of: device)
    let reader = try SnapshotReader(chunk.body, zone: zone.id)
    return (reader.heads, reader.heldBack, isOwn)
  }
}
