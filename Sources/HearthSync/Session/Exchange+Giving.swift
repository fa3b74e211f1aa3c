import HearthCRDT
import HearthMembership

// Publishing what a transport lacks, and removing what larger files have replaced.
extension Exchange {
  /// The most bytes of segments that are published at a time, which bounds memory.
  private static var givenBytes: Int { 1024 * 1024 }

  /// Publishes what the transport lacks of a zone.
  ///
  /// - Parameter isAlone: Whether no other copy of this node was noticed in this round.
  mutating func push(
    _ id: ZoneID, holding listing: TransportListing, isAlone: Bool
  ) async throws {
    let anchorFile = ports.anchorFile
    let (stored, sealed) = try ports.turn { engine in
      _ = try Compaction.compact(id, in: &engine)
      try Publications(engine: engine).keepUp(anchorFile)
      return (
        try engine.store.log.segments(of: id),
        try AcknowledgedChanges.sealedChanges(of: id, in: engine)
      )
    }
    let publications = try await NameExamination(ports: ports).publications(
      of: id, holding: listing, stored: stored, &report)
    var held = listing
    if Mutant.removesBeforeMerged.isActive, isAlone {
      held.segments += publications.map(\.name)
      try await tidy(id, holding: held)
      held = listing
    }
    held.segments += try await give(publications, of: id)
    try await giveEvidence(of: id, holding: held)
    try ports.turn { try AcknowledgedChanges.note(sealed, of: id, in: $0.store) }
    try await SnapshotPublishing(ports: ports).publish(
      of: id, holding: held, stored: stored, &report)
    // Another copy of this node may have what this one lacks, so nothing is published in such a
    // round.
    guard isAlone else { return }
    try await tidy(id, holding: held)
  }

  /// Publishes stored segments, a bounded number of bytes at a time.
  ///
  /// - Returns: The segments that were published; others may have been merged meanwhile.
  @discardableResult
  private mutating func give(
    _ segments: [(segment: StoredSegment, name: SegmentName)], of id: ZoneID
  ) async throws -> [SegmentName] {
    var given: [SegmentName] = []
    var rest = segments[...]
    while !rest.isEmpty {
      let (batch, count) = try ports.turn {
        try Publications(engine: $0).batch(rest, of: id, atMost: Exchange.givenBytes)
      }
      rest = rest.dropFirst(count)
      guard !batch.isEmpty else { continue }
      try await ports.transport.publish(batch)
      report.published += batch.count
      report.publishedBytes += batch.reduce(0) { $0 + $1.bytes.count }
      given += batch.map(\.name)
      if Mutant.forgetsPublished.isActive {
        try ports.turn { engine in
          for (name, _) in batch {
            try engine.store.transaction { try engine.store.log.removeSegment(name.digest, in: id) }
          }
        }
      }
    }
    return given
  }

  /// Publishes the changes for which logs are held back here, if the transport lacks them.
  ///
  /// The author of a false claim may have sent it to a few devices alone. All must receive it: it
  /// is part of a zone's digest, and a device without it waits for what depends on the log's end.
  private mutating func giveEvidence(of id: ZoneID, holding listing: TransportListing) async throws
  {
    let listed = Set(listing.segments.map(\.digest))
    for (name, bytes) in try ports.turn({
      try Publications(engine: $0).evidence(of: id, except: listed)
    }) {
      try await ports.transport.publish(name, bytes)
      Probe.evidencePassedOn.hit()
      report.published += 1
      report.publishedBytes += bytes.count
    }
  }

  /// Publishes the own segments that the transport lacks, under the last key that was known here.
  ///
  /// What a device had not published when it was removed does not count, but an admin may adopt it.
  /// So it must reach the others, if the transport still takes it. No segments of others and no
  /// snapshot are published, and nothing is removed: the members do that. A relay that knows of the
  /// removal takes nothing any more; then there is no listing.
  mutating func giveLeft(of id: ZoneID, holding listing: TransportListing) async throws {
    let anchorFile = ports.anchorFile
    let (own, sealed) = try ports.turn { engine in
      try Publications(engine: engine).keepUp(anchorFile)
      return (
        try Publications(engine: engine).ownPublications(of: id, to: listing),
        try AcknowledgedChanges.sealedChanges(of: id, in: engine)
      )
    }
    try await give(own, of: id)
    try ports.turn { try AcknowledgedChanges.note(sealed, of: id, in: $0.store) }
  }

  /// Removes the files that larger files there have replaced.
  private mutating func tidy(
    _ id: ZoneID, holding listing: TransportListing
  ) async throws {
    let keepsAuthorsApart = ports.transport.keepsAuthorsApart
    let (stored, known, unknown) = try ports.turn { engine in
      let stored = try engine.store.log.segments(of: id)
      let (known, unknown) = try Publications(engine: engine).superseded(
        on: listing, of: id, stored: stored, keepsAuthorsApart: keepsAuthorsApart)
      return (stored, known, unknown)
    }
    let dropped =
      known
      + (try await NameExamination(ports: ports).examine(
        unknown, of: id, stored: stored, listing, &report))
    guard !dropped.isEmpty else { return }
    Probe.supersededDropped.hit()
    try await ports.transport.remove(dropped)
  }
}
