import HearthCRDT
import HearthCrypto
import HearthMembership

// Whose snapshot a newcomer believes; decision 0058 says why it is so.
extension Engine {
  /// A snapshot whose first chunk was verified.
  func candidate(
    _ snapshot: SnapshotPlan.Complete, _ first: [UInt8], reaching frontier: Frontier,
    in zone: ZoneState
  ) throws -> Candidate {
    let header = try Envelope.parseHeader(
      first, minimumSuite: membership(of: zone.group).acceptedSuite)
    let maker = zone.deviceByTag[Identifier(header.authorTag)]
    return Candidate(
      snapshot: snapshot, first: first, header: header, maker: maker,
      person: maker.flatMap { membership(of: zone.group).person(of: $0)?.id }, frontier: frontier,
      weight: SnapshotPlan.weight(of: frontier))
  }

  /// Those whose snapshot this device believes alone; nil where it believes every owner and admin.
  ///
  /// Where keys are withheld from newcomers nobody could take the changes one by one instead.
  func introducers(in group: GroupID) -> [PersonID]? {
    let membership = membership(of: group)
    return membership.withholdsKeys ? nil : membership.introducers(of: device)
  }

  /// Whether a snapshot is by this device, its person, or who let one of them in.
  func isIntroduced(_ candidate: Candidate, _ introducers: [PersonID]?) -> Bool {
    guard let introducers else { return true }
    return candidate.maker == device || candidate.person.map(introducers.contains) ?? false
  }

  /// Whether a snapshot is another person's and reaches just as far.
  func mayVouch(_ other: Candidate, for candidate: Candidate) -> Bool {
    guard let maker = candidate.person, let second = other.person else { return false }
    return maker != second && other.frontier == candidate.frontier
  }

  /// Whether another person's snapshot says the same, whatever key it is under.
  ///
  /// The link in the other's signed first chunk is over the digest of the whole, so nothing more of
  /// it is fetched.
  func isVouched(
    _ candidate: Candidate, _ chunks: [[UInt8]], by candidates: [Candidate], in zone: ZoneState
  ) throws -> Bool {
    var container = ByteWriter(capacity: chunks.reduce(0) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    let digest = Engine.digest(
      ofStream: try openSnapshot(container.bytes, zone: zone, isAccepted: false))
    return try candidates.contains { other in
      guard mayVouch(other, for: candidate),
        let link = try zone.epoch(tag: other.header.epochTag)?.link(digest)
      else { return false }
      return other.header.linkBefore == link && other.header.linkAfter == link
    }
  }

  /// Tells for whom a newcomer waits, where it cannot take the changes one by one.
  func tellUnbelieved(
    _ candidate: Candidate, _ introducers: [PersonID]?, in zone: ZoneState,
    _ listing: TransportListing, _ report: inout TransportReport
  ) throws {
    guard !SnapshotPlan.holdsBeginnings(of: candidate.frontier, in: zone, listing) else { return }
    let membership = membership(of: zone.group)
    let maker = candidate.maker.flatMap { membership.person(of: $0)?.name } ?? "somebody"
    let names = (introducers ?? []).compactMap { membership.person($0) }
      .filter { $0.role.rank >= Role.admin.rank }.map(\.name)
    let wanted = names.isEmpty ? "" : "a snapshot by \(names.joined(separator: " or ")), or "
    report.problems.append(
      TransportProblem(
        place: SnapshotPlan.place(of: candidate.snapshot.group),
        fault: "\(maker) made this snapshot, who did not let this device in: it is not believed, "
          + "and the changes that it sums up are not here",
        remedy: "awaits \(wanted)the same from a second owner or admin: let them sync",
        hidesData: true))
  }

  /// Whether those whom this person lets in need a snapshot of this person's own: a transport holds
  /// somebody else's, and not the changes that it sums up.
  func isOwnWordNeeded(
    of zone: ZoneState, known: [KnownSnapshot], holding listing: TransportListing
  ) throws -> Bool {
    let membership = membership(of: zone.group)
    guard !membership.withholdsKeys, try store.baseSnapshot(of: zone.id) != nil,
      let own = membership.person(of: device)?.id
    else { return false }
    let isSaid = known.contains { snapshot in
      !snapshot.frontier.isEmpty
        && zone.deviceByTag[snapshot.maker].flatMap { membership.person(of: $0)?.id } == own
    }
    return !isSaid && !SnapshotPlan.holdsBeginnings(of: zone.frontier, in: zone, listing)
  }
}

extension SnapshotPlan {
  /// Whether a transport has the first change of each log that a snapshot sums up.
  static func holdsBeginnings(
    of frontier: Frontier, in zone: ZoneState, _ listing: TransportListing
  ) -> Bool {
    let first = Set(
      listing.segments.filter { $0.first == 1 }.map {
        SyncPlan.TagAuthor(tag: $0.authorTag, incarnation: $0.incarnation)
      })
    return frontier.entries.allSatisfy { entry in
      first.contains(
        SyncPlan.TagAuthor(
          tag: zone.authorTag(of: entry.author.device), incarnation: entry.author.incarnation))
    }
  }
}
