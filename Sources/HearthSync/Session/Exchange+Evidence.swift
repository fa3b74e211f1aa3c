import HearthCRDT

// What proves that a log ends before a false claim is no part of any log: nobody would pass it on.
extension Engine {
  /// How many bytes of evidence are passed on for a zone, the shortest first: a member with many
  /// lives can make one piece in each.
  private static var evidenceBytes: Int { 4 * 1024 * 1024 }

  /// Gives a transport the changes for which logs are held back here, where it lacks them.
  ///
  /// Whoever made a false claim may have sent it to a few alone. All must come to hold it: it is
  /// part of what a zone's digest stands for, and who lacks it waits for what rests on the log's
  /// end.
  func giveEvidence(
    of zone: ZoneState, to transport: some Transport, holding listing: TransportListing,
    _ report: inout TransportReport
  ) throws {
    let listed = Set(listing.segments.map(\.digest))
    var room = Engine.evidenceBytes
    let evidence = try store.pendingEntries(in: zone.id).filter { $0.reason == .falseClaim }
      .sorted { ($0.byteCount, $0.digest) < ($1.byteCount, $1.digest) }
    for entry in evidence {
      room -= entry.byteCount
      guard room >= 0 else { return }
      guard !listed.contains(entry.digest),
        let bytes = try store.bytes(ofPending: entry.digest, in: zone.id)
      else { continue }
      let name = SegmentName(
        zoneTag: zone.tag, authorTag: entry.authorTag, incarnation: entry.incarnation,
        first: entry.first, last: entry.last, digest: entry.digest)
      try transport.publish(name, bytes)
      Probe.evidencePassedOn.hit()
      report.published += 1
      report.publishedBytes += bytes.count
    }
  }
}
