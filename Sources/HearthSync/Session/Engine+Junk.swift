import HearthCRDT
import HearthMembership

// What lies on a transport that nobody can need.
extension Engine {
  /// Whether what is known of a zone began with a snapshot: then segments from before it are not
  /// here, and this node cannot give them again.
  package func beganFromSnapshot(_ id: ZoneID) throws -> Bool {
    try store.snapshots.base(of: id) != nil
  }

  /// Those of the names of a zone's segments that are here, applied or waiting.
  package func held(_ names: [SegmentName], in id: ZoneID) throws -> Set<SegmentName> {
    let digests = Set(try store.log.segments(of: id).map(\.digest))
      .union(try store.pending.segments(in: id).map(\.digest))
    return Set(names.filter { digests.contains($0.digest) })
  }

  /// Those of the names of a zone's segments that nobody can need, as far as this node can tell.
  ///
  /// That is what is not here and either is of no device that the members' log knows, or was looked
  /// into and can never be used, by whatever program of this node, or lies beyond what counts of a
  /// device that was removed, or holds changes that are here in other files. What was not read, as
  /// it has no room here yet, stays; and so does, where this node began from a snapshot, what may
  /// be from before it. In the members' log a file that was not read may be what makes its device
  /// known, so it stays too.
  package func useless(_ names: [SegmentName], in id: ZoneID) throws -> Set<SegmentName> {
    let zone = try zone(id)
    let held = try held(names, in: id)
    let hasAll = try !beganFromSnapshot(id)
    let ordered = names.filter { !held.contains($0) }.sorted()
    let vain = beyondCuts(ordered, in: zone)
    let refusals = try Refusals(of: id, in: store)
    return Set(
      ordered.filter { name in
        guard let device = zone.deviceByTag[name.authorTag] else {
          return zone.kind == .data || refusals.contains(name.digest)
        }
        if refusals.isForever(name.digest) || vain.contains(name) { return true }
        let author = Author(device: device, incarnation: name.incarnation)
        return hasAll && name.last <= zone.frontier[author]
      })
  }
}
