import HearthCRDT
import HearthCrypto
import HearthMembership

// Whose snapshot a newcomer believes; decisions 0058 and 0065 say why it is so.
extension Engine {
  /// What a snapshot says, by its first chunk, its heads and what it holds back.
  func word(
    of first: [UInt8], _ heads: [LogHead], _ heldBack: [Dot], in zone: ZoneState
  ) throws -> SnapshotWord {
    let header = try Envelope.parseHeader(
      first, minimumSuite: membership(of: zone.group).acceptedSuite)
    return word(
      of: KnownSnapshot(
        group: .zero, isOwn: false, maker: Identifier(header.authorTag),
        epoch: Identifier(header.epochTag), mark: Engine.mark(of: heads, heldBack),
        link: header.linkBefore,
        frontier: Frontier(heads.map { ($0.author, $0.sequence) })), in: zone)
  }

  /// What a snapshot says that was looked into before.
  func word(of known: KnownSnapshot, in zone: ZoneState) -> SnapshotWord {
    let maker = zone.deviceByTag[known.maker]
    return SnapshotWord(
      maker: maker, person: maker.flatMap { membership(of: zone.group).person(of: $0)?.id },
      epoch: known.epoch, mark: known.mark, link: known.link, frontier: known.frontier)
  }

  /// Stands for the end of every log: its author, number and chain hash, and the change
  /// that is held back.
  static func mark(of heads: [LogHead], _ heldBack: [Dot]) -> Identifier {
    var writer = ByteWriter(capacity: heads.count * 64)
    for head in heads.filter({ $0.sequence > 0 }).sorted(by: { $0.author < $1.author }) {
      writer.author(head.author)
      writer.varint(head.sequence)
      writer.raw(head.hash)
    }
    for change in heldBack.sorted(by: { $0.author < $1.author }) {
      writer.author(change.author)
      writer.varint(change.sequence)
    }
    return derivedIdentifier("HRTH/point/v1", writer.bytes)
  }

  // MARK: Belief

  /// Those whose word alone this device believes, its own person included.
  ///
  /// Where keys are withheld from newcomers nobody could take the changes one by one instead. So if
  /// nobody who let this device in can make a snapshot any more, the owner speaks for them.
  func introducers(in group: GroupID) -> [PersonID] {
    let membership = membership(of: group)
    let introducers = membership.entries.introducers(of: device)
    guard membership.history.withholdsKeys, let owner = membership.owner,
      let own = membership.person(of: device)?.id, !introducers.contains(owner)
    else { return introducers }
    let canSpeak = introducers.contains { person in
      person != own
        && membership.people.contains { $0.id == person && $0.role.rank >= Role.admin.rank }
    }
    return canSpeak ? introducers : (introducers + [owner]).sorted()
  }

  /// The others whose word alone this device believes and who can give it, in order of id.
  package func awaitedVoices(in group: GroupID) -> [Member] {
    let membership = membership(of: group)
    let own = membership.person(of: device)?.id
    let introducers = introducers(in: group)
    return membership.people.filter {
      $0.id != own && introducers.contains($0.id) && $0.role.rank >= Role.admin.rank
    }
  }

  /// Whether a snapshot is by somebody whose word this device believes alone, or was attested by
  /// one, or by somebody whose word adds to the maker's.
  func isBelieved(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    let introducers = introducers(in: zone.group)
    if word.maker == device { return true }
    guard let maker = word.person else { return false }
    if introducers.contains(maker) || Mutant.believesAnySnapshot.isActive { return true }
    let membership = membership(of: zone.group)
    return try voices(for: word, in: zone).contains {
      introducers.contains($0) || membership.isIndependent($0, of: maker)
    }
  }

  /// Who attested what a snapshot says, the maker left out.
  private func voices(for word: SnapshotWord, in zone: ZoneState) throws -> [PersonID] {
    guard let epoch = zone.epochs.first(where: { Identifier($0.tag) == word.epoch }) else {
      return []
    }
    return try membership(of: zone.group).attestations(of: zone.id).filter {
      try $0.mark == word.mark && $0.person != word.person && epoch.link($0.digest) == word.link
    }.map(\.person)
  }

  /// Whether a snapshot is by somebody whose word adds to another one's, and reaches just as far.
  func mayVouch(_ other: SnapshotWord, for word: SnapshotWord, _ zone: ZoneState) -> Bool {
    guard let maker = word.person, let second = other.person else { return false }
    return other.mark == word.mark
      && membership(of: zone.group).isIndependent(second, of: maker)
  }

  /// Whether another person's snapshot says the same, whatever key it is under.
  ///
  /// The link in the other's signed first chunk is over the digest of the whole, so nothing more of
  /// it is fetched.
  func isVouched(
    _ word: SnapshotWord, _ chunks: [[UInt8]], by words: [SnapshotWord], in zone: ZoneState
  ) throws -> Bool {
    var container = ByteWriter(capacity: chunks.reduce(0) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    let digest = Engine.digest(
      ofStream: try openSnapshot(container.bytes, zone: zone, isAccepted: false))
    return try words.contains { other in
      guard mayVouch(other, for: word, zone),
        let epoch = zone.epochs.first(where: { Identifier($0.tag) == other.epoch })
      else { return false }
      return try epoch.link(digest) == other.link
    }
  }

  /// For whom a newcomer waits where it does not believe a snapshot and cannot take the changes one
  /// by one; nil where it can.
  func problemWithBelief(
    in snapshot: SnapshotPlan.Complete, _ word: SnapshotWord, of zone: ZoneState,
    _ listing: TransportListing
  ) throws -> TransportProblem? {
    guard
      try !closedTags(in: zone).isEmpty
        || !SnapshotPlan.holdsBeginnings(of: word.frontier, in: zone, listing)
    else { return nil }
    Probe.snapshotUnbelieved.hit()
    let maker = word.maker.flatMap { membership(of: zone.group).person(of: $0)?.name }
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

  /// Whether those who rely on this person believe a snapshot: it is this person's, attested by
  /// this person, or attested by somebody whose word adds to the maker's.
  func isSaid(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    let membership = membership(of: zone.group)
    guard let own = membership.person(of: device)?.id, let maker = word.person else { return false }
    if maker == own { return true }
    return try voices(for: word, in: zone).contains {
      $0 == own || membership.isIndependent($0, of: maker)
    }
  }

  /// Whether those whom this person lets in need a snapshot of this person's own: a transport holds
  /// somebody else's, and not the changes that it sums up.
  func isOwnWordNeeded(
    of zone: ZoneState, known: [KnownSnapshot], holding listing: TransportListing
  ) throws -> Bool {
    let membership = membership(of: zone.group)
    guard !membership.history.withholdsKeys, try store.snapshots.base(of: zone.id) != nil else {
      return false
    }
    let isSaid = try known.contains {
      try !$0.frontier.isEmpty && self.isSaid(word(of: $0, in: zone), in: zone)
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
        TagAuthor(tag: $0.authorTag, incarnation: $0.incarnation)
      })
    return frontier.entries.allSatisfy { entry in
      first.contains(
        TagAuthor(
          tag: zone.authorTag(of: entry.author.device), incarnation: entry.author.incarnation))
    }
  }

  /// How far the snapshot reaches that covers most; nowhere if there is none.
  static func furthest(of known: [KnownSnapshot]) -> Frontier {
    known.max { weight(of: $0.frontier) < weight(of: $1.frontier) }?.frontier ?? Frontier()
  }
}
