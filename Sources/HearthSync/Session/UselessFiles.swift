import HearthCRDT
import HearthMembership

/// Files on a transport that nobody can need.
package struct UselessFiles<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Whether a zone began from a snapshot; segments from before it are not here, and this node
  /// cannot publish them again.
  package func beganFromSnapshot(_ id: ZoneID) throws -> Bool {
    try engine.store.snapshots.base(of: id) != nil
  }

  /// The names of a zone's segments that are here, applied or pending.
  package func held(_ names: [SegmentName], in id: ZoneID) throws -> Set<SegmentName> {
    let digests = Set(try engine.store.log.segments(of: id).map(\.digest))
      .union(try engine.store.pending.entries(in: id).map(\.digest))
    return Set(names.filter { digests.contains($0.digest) })
  }

  /// The names of a zone's segments that nobody can need, as far as this node can tell.
  ///
  /// A file that is not here is useless in these cases: no device in the control log wrote it, it
  /// was examined and can never be used, it lies beyond what counts of a removed device, or other
  /// files here contain its changes. A file that was not read because it has no room here stays. If
  /// this node began from a snapshot, files that may be from before the snapshot stay. In the
  /// control zone, an unread file may be what makes its device known, so it stays too.
  package func useless(_ names: [SegmentName], in id: ZoneID) throws -> Set<SegmentName> {
    let zone = try engine.zone(id)
    let held = try held(names, in: id)
    let hasAll = try !beganFromSnapshot(id)
    let ordered = names.filter { !held.contains($0) }.sorted()
    let vain = PendingStorage(engine: engine).beyondCuts(ordered, in: zone)
    let refusals = try Refusals(of: id, in: engine.store)
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
