import HearthCRDT
import HearthCrypto
import HearthMembership

/// The examination of a transport's snapshots.
struct SnapshotLooks<S: Store> {
  let engine: Engine<S>

  /// What is known of a listing's snapshots, and which of them must be examined.
  func snapshotLook(of id: ZoneID, _ listing: TransportListing) throws -> SnapshotLook {
    let complete = SnapshotPlan.sorted(listing.snapshots).complete
    let listed = Set(complete.map(\.group))
    // A snapshot whose publication was begun and not noted as finished is examined like any other.
    let remembered = try SnapshotMemory.remembered(of: engine.zone(id), in: engine.store).filter {
      listed.contains($0.group) && !($0.isOwn && $0.frontier.isEmpty)
    }
    let seen = Set(remembered.map(\.group))
    return SnapshotLook(
      known: remembered,
      unknown: Array(
        complete.lazy.filter { !seen.contains($0.group) }.prefix(SnapshotPlan.fetchedSnapshots)))
  }

  /// Examines the first chunks of a snapshot; nil if no lasting verdict is possible yet.
  func known(
    _ snapshot: SnapshotPlan.Complete, _ beginning: [[UInt8]], of id: ZoneID
  ) throws -> KnownSnapshot? {
    let zone = try engine.zone(id)
    let closed = try ClosedSegments(engine: engine).closedTags(in: zone)
    var (epoch, maker) = (Identifier.zero, Identifier.zero)
    do {
      let header = try Envelope.parseHeader(
        beginning.first ?? [],
        minimumSuite: engine.membership(of: zone.group).acceptedSuite)
      (epoch, maker) = (Identifier(header.epochTag), Identifier(header.authorTag))
      let (heads, heldBack, isOwn) = try SnapshotOpening(of: zone, in: engine)
        .heads(of: beginning, of: snapshot.chunks.count)
      return KnownSnapshot(
        group: snapshot.group, isOwn: isOwn, maker: maker, epoch: epoch,
        mark: SnapshotMark.mark(of: heads, heldBack), link: header.linkBefore,
        frontier: Frontier(heads.map { ($0.author, $0.sequence) }))
    } catch {
      guard SnapshotMemory.isOfSnapshot(error) else { throw error }
      guard SnapshotMemory.isLasting(error) || closed.contains(epoch) else { return nil }
      return KnownSnapshot(
        group: snapshot.group, isOwn: false, maker: maker, epoch: epoch, mark: .zero,
        link: SnapshotMemory.noLink, frontier: Frontier())
    }
  }

  /// Stores the examined snapshots, and returns the known ones without those whose maker has since
  /// lost the role of an owner or admin, because no newcomer begins from them.
  func finish(_ look: SnapshotLook, of id: ZoneID) throws -> [KnownSnapshot] {
    let zone = try engine.zone(id)
    if look.hasNews { try SnapshotMemory.remember(look.known, of: zone, in: engine.store) }
    return look.known.filter { $0.frontier.isEmpty || mayStillMake($0, of: zone) }
  }

  /// Whether the maker of a snapshot that was good once is still an owner or admin.
  private func mayStillMake(_ snapshot: KnownSnapshot, of zone: ZoneState) -> Bool {
    if snapshot.isOwn || Mutant.trustsFormerMakers.isActive { return true }
    let maker = zone.deviceByTag[snapshot.maker]
    let role = maker.flatMap { engine.membership(of: zone.group).role(of: $0) }
    let isSo = role?.rank ?? 0 >= Role.admin.rank
    Probe.snapshotOfFormerAdmin.hit(if: !isSo)
    return isSo
  }
}
