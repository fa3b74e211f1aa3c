import HearthCRDT
import HearthCrypto
import HearthMembership

/// Whose snapshot a newcomer believes.
///
/// Decisions 0058 and 0065 explain the reasons.
package struct SnapshotTrust<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  // MARK: Belief

  /// The people whose word alone this device believes, including its own person.
  ///
  /// If keys are withheld from newcomers, a newcomer cannot fetch the changes one by one instead.
  /// So if nobody who let this device in can still make a snapshot, the owner speaks for them.
  private func introducers(in group: GroupID) -> [PersonID] {
    let membership = engine.membership(of: group)
    let introducers = membership.entries.introducers(of: engine.device)
    guard membership.history.withholdsKeys, let owner = membership.owner,
      let own = membership.person(of: engine.device)?.id, !introducers.contains(owner)
    else { return introducers }
    let canSpeak = introducers.contains { person in
      person != own
        && membership.people.contains { $0.id == person && $0.role.rank >= Role.admin.rank }
    }
    return canSpeak ? introducers : (introducers + [owner]).sorted()
  }

  /// The other people whose word alone this device believes and who can give it, in order of id.
  package func awaitedVoices(in group: GroupID) -> [Member] {
    let membership = engine.membership(of: group)
    let own = membership.person(of: engine.device)?.id
    let introducers = introducers(in: group)
    return membership.people.filter {
      $0.id != own && introducers.contains($0.id) && $0.role.rank >= Role.admin.rank
    }
  }

  /// Whether this device believes a snapshot: its maker's or an attestor's word alone is enough, or
  /// an attestor's word adds to the maker's.
  func isBelieved(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    let introducers = introducers(in: zone.group)
    if word.maker == engine.device { return true }
    guard let maker = word.person else { return false }
    if introducers.contains(maker) || Mutant.believesAnySnapshot.isActive { return true }
    let membership = engine.membership(of: zone.group)
    return try voices(for: word, in: zone).contains {
      introducers.contains($0) || membership.isIndependent($0, of: maker)
    }
  }

  /// The people who attested what a snapshot says, without its maker.
  private func voices(for word: SnapshotWord, in zone: ZoneState) throws -> [PersonID] {
    guard let epoch = zone.epochs.first(where: { Identifier($0.tag) == word.epoch }) else {
      return []
    }
    return try engine.membership(of: zone.group).attestations(of: zone.id).filter {
      try $0.mark == word.mark && $0.person != word.person && epoch.link($0.digest) == word.link
    }.map(\.person)
  }

  /// Whether a snapshot's maker adds to another maker's word, and both snapshots reach equally far.
  func mayVouch(_ other: SnapshotWord, for word: SnapshotWord, _ zone: ZoneState) -> Bool {
    guard let maker = word.person, let second = other.person else { return false }
    return other.mark == word.mark
      && engine.membership(of: zone.group).isIndependent(second, of: maker)
  }

  /// Whether another person's snapshot says the same, whatever key it is under.
  ///
  /// The link in the other snapshot's signed first chunk covers the digest of the whole, so no more
  /// of it is fetched.
  ///
  /// - Parameter digest: The digest of the snapshot's content, which was opened.
  func isVouched(
    _ word: SnapshotWord, _ digest: [UInt8], by words: [SnapshotWord], in zone: ZoneState
  ) throws -> Bool {
    try words.contains { other in
      guard mayVouch(other, for: word, zone),
        let epoch = zone.epochs.first(where: { Identifier($0.tag) == other.epoch })
      else { return false }
      return try epoch.link(digest) == other.link
    }
  }

  /// The problem of a newcomer that does not believe a snapshot and cannot fetch the changes one by
  /// one; nil if it can.
  func problemWithBelief(
    in snapshot: SnapshotPlan.Complete, _ word: SnapshotWord, of zone: ZoneState,
    _ listing: TransportListing
  ) throws -> TransportProblem? {
    guard
      try !ClosedSegments(engine: engine).closedTags(in: zone).isEmpty
        || !SnapshotPlan.holdsBeginnings(of: word.frontier, in: zone, listing)
    else { return nil }
    Probe.snapshotUnbelieved.hit()
    let maker = word.maker.flatMap { engine.membership(of: zone.group).person(of: $0)?.name }
    let names = awaitedVoices(in: zone.group).map(\.name)
    let wanted = names.isEmpty ? "" : "a snapshot by \(names.joined(separator: " or ")), or "
    return TransportProblem(
      place: SnapshotPlan.place(of: snapshot.group),
      fault: "\(maker ?? "somebody") made this snapshot and did not let this device in: this "
        + "device does not trust it, and cannot read the changes that it sums up",
      remedy: "this device waits for \(wanted)a second person who attests this one: ask them to "
        + "sync",
      hidesData: true)
  }

  // MARK: Own word

  /// Whether the people who rely on this person believe a snapshot: this person made it or attested
  /// it, or somebody attested it whose word adds to the maker's.
  func isSaid(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    let membership = engine.membership(of: zone.group)
    guard let own = membership.person(of: engine.device)?.id, let maker = word.person else {
      return false
    }
    if maker == own { return true }
    return try voices(for: word, in: zone).contains {
      $0 == own || membership.isIndependent($0, of: maker)
    }
  }

  /// Whether newcomers whom this person lets in need this person's own snapshot: a transport has
  /// somebody else's, and not the changes in it.
  func isOwnWordNeeded(
    of zone: ZoneState, known: [KnownSnapshot], holding listing: TransportListing
  ) throws -> Bool {
    let membership = engine.membership(of: zone.group)
    guard !membership.history.withholdsKeys, try engine.store.snapshots.base(of: zone.id) != nil
    else {
      return false
    }
    let isSaid = try known.contains {
      try !$0.frontier.isEmpty
        && self.isSaid(SnapshotWords.word(of: $0, in: zone, by: engine), in: zone)
    }
    return !isSaid && !SnapshotPlan.holdsBeginnings(of: zone.frontier, in: zone, listing)
  }
}

extension SnapshotPlan {
  /// Whether a transport has the first change of each log in a snapshot.
  static func holdsBeginnings(
    of frontier: Frontier, in zone: ZoneState, _ listing: TransportListing
  ) -> Bool {
    let first = Set(
      listing.segments.filter { $0.first == 1 }.map {
        TagAuthor(tag: $0.authorTag, incarnation: $0.incarnation)
      })
    return frontier.entries.allSatisfy { entry in
      first.contains(
        TagAuthor(
          tag: zone.authorTag(of: entry.author.device), incarnation: entry.author.incarnation))
    }
  }

  /// How far the snapshot that covers most reaches; the empty frontier if there is none.
  static func furthest(of known: [KnownSnapshot]) -> Frontier {
    known.max { weight(of: $0.frontier) < weight(of: $1.frontier) }?.frontier ?? Frontier()
  }
}
