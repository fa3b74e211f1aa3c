import HearthCRDT
import HearthMembership

// What a device had not given to anybody when it was removed. It counts for nothing, but an admin
// may adopt it: so it must reach the others, where the transport still takes it.
extension Engine {
  /// Whether this device belonged to a zone's group and does not any more.
  func isFormer(of id: ZoneID) -> Bool {
    guard let zone = try? zone(id) else { return false }
    let membership = membership(of: zone.group)
    return membership.device(device) != nil && !membership.isActive(device)
  }

  /// Gives a transport the own segments that it lacks, under the last key that was held here.
  ///
  /// Nothing of others, no snapshot, nothing taken away: those who belong to the group see to that.
  /// Nothing can be added to it, as writing is refused. A relay gives and takes nothing any more
  /// once it has heard of the removal; then there is no listing, and nothing is given.
  func giveLeft(
    of id: ZoneID, to transport: some Transport, holding listing: TransportListing?,
    _ report: inout TransportReport
  ) throws {
    guard let listing else { return }
    let state = try zone(id)
    let own = try store.segments(of: id).filter { $0.author.device == device }
    let plan = SyncPlan(zone: state, stored: own, pending: [])
    let trusted = try trustedNames(of: state, in: listing, stored: own)
    var batch: [(name: SegmentName, bytes: [UInt8])] = []
    for (segment, name) in plan.publications(
      to: listing, stored: own, trusted: trusted, of: state, by: device)
    where segment.author.device == device {
      guard let bytes = try store.bytes(of: segment.digest, in: id) else { continue }
      batch.append((name, bytes))
      report.publishedBytes += bytes.count
    }
    if !batch.isEmpty {
      try transport.publish(batch)
      report.published += batch.count
    }
    try noteGiven(of: id)
  }
}
