import HearthCRDT
import HearthCrypto
import HearthMembership

// Checking what others sum up, and saying so; decision 0065 says why it is so.
extension Engine {
  /// Whether this device looks at what snapshots of a zone say: it has the changes themselves, and
  /// rank enough where newcomers can take the changes one by one.
  func looksAtSnapshots(of id: ZoneID) throws -> Bool {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    let least = membership.history.withholdsKeys ? Role.member : .admin
    guard zone.kind == .data, membership.person(of: device) != nil,
      let role = membership.role(of: device)
    else { return false }
    return role.rank >= least.rank
  }

  /// Attests what a zone holds here where a snapshot of somebody else's ends at the same point.
  ///
  /// Done by itself, and once for each point: a small operation in the members' log. Only by who
  /// has the changes themselves: whoever began from a snapshot knows no more than its maker said.
  /// Costs a digest of the zone for each such snapshot.
  ///
  /// - Returns: what is to be told of snapshots that say something else.
  mutating func attest(
    _ id: ZoneID, beside known: [KnownSnapshot], nowMilliseconds: UInt64
  ) throws -> [TransportProblem] {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    guard let own = membership.person(of: device) else { return [] }
    let mark = Engine.mark(of: zone.heads, try heldBack(in: zone))
    let others = known.filter { !$0.frontier.isEmpty && $0.mark == mark }
      .map { (place: SnapshotPlan.place(of: $0.group), word: word(of: $0, in: zone)) }
      .filter { $0.word.person != own.id }
    guard !others.isEmpty, let current = zone.currentEpoch,
      try store.snapshots.base(of: id) == nil
    else { return [] }
    let digest = try checkedDigest(of: zone, at: mark, under: Identifier(current.tag))
    let attest = ControlOperation.ZoneDigest(zone: id, mark: mark, digest: digest)
    if !membership.hasAttested(device, attest) {
      Probe.snapshotAttested.hit()
      _ = try perform([.snapshotAttest(attest)], in: zone.group, nowMilliseconds: nowMilliseconds)
    }
    return try others.compactMap { place, word in
      guard try isRefuted(word, in: zone) else { return nil }
      return TransportProblem(
        place: place,
        fault: "\(try nameOfMaker(word, in: zone)) made this snapshot, but it does not match "
          + "the changes that it sums up",
        remedy: "tell the household's owner: a device that begins from it shows wrong records",
        hidesData: false)
    }
  }

  /// The fact that keeps the digest worked out last; building the zone anew drops it.
  static func checkedDigestFact(of zone: ZoneID) -> String { "attested.\(zone.hex)" }

  /// The digest of a zone at a point, worked out once for a point and an epoch.
  private func checkedDigest(
    of zone: ZoneState, at mark: Identifier, under epoch: Identifier
  ) throws -> [UInt8] {
    let name = Engine.checkedDigestFact(of: zone.id)
    let key = mark.bytes + epoch.bytes
    if let fact = try store.facts.value(of: name), fact.starts(with: key),
      fact.count == key.count + ControlOperation.ZoneDigest.digestBytes
    {
      return Array(fact.dropFirst(key.count))
    }
    let digest = try digest(of: zone.id)
    try store.transaction { try store.facts.set(name, to: key + digest) }
    return digest
  }

  // MARK: What is wrong

  /// Whether this person attested something else than a snapshot says, where both judged alike.
  func isRefuted(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    guard let own = membership(of: zone.group).person(of: device)?.id, word.person != own else {
      return false
    }
    return try refuters(of: word, in: zone, heads: zone.heads).contains(own)
  }

  /// The people who attested something else than a snapshot says, at the same point.
  ///
  /// What a removal takes back counts for one who knew of it and not for another. So where anything
  /// of before the point is void, nobody is accused.
  private func refuters(
    of word: SnapshotWord, in zone: ZoneState, heads: [LogHead]
  ) throws -> [PersonID] {
    let membership = membership(of: zone.group)
    let said = membership.attestations(of: zone.id).filter {
      $0.mark == word.mark && $0.person != word.person
    }
    guard !said.isEmpty, let epoch = zone.epochs.first(where: { Identifier($0.tag) == word.epoch })
    else { return [] }
    let links = try said.map { (person: $0.person, link: try epoch.link($0.digest)) }
    let agreeing = Set(links.filter { $0.link == word.link }.map(\.person))
    let refuting = Set(links.map(\.person)).subtracting(agreeing).sorted()
    guard !refuting.isEmpty, !isAnythingVoid(in: zone, heads: heads) else { return [] }
    return refuting
  }

  func isAnythingVoid(in zone: ZoneState, heads: [LogHead]) -> Bool {
    let membership = membership(of: zone.group)
    return !zone.forkEnds.isEmpty
      || heads.contains {
        membership.changes.isOverruled(
          Dot(author: $0.author, sequence: $0.sequence), in: zone.id, at: $0.controlSeen)
      }
  }

  /// Tells where somebody who has the changes says something else than the snapshot that a zone
  /// began from.
  func problemsWithBase(of id: ZoneID) throws -> [TransportProblem] {
    guard let refuted = try refutedBase(of: id) else { return [] }
    return [
      TransportProblem(
        place: "zone \(try zone(id).name)",
        fault: "it began from a snapshot by \(refuted.maker) that does not match the changes, as "
          + "attested by \(refuted.others.joined(separator: " and "))",
        remedy: "ask both, and compare with `hearth digest`; then join again with a link from the "
          + "one whom you trust",
        hidesData: true)
    ]
  }

  /// Who made the snapshot that a zone began from, and who attests something else; nil where nobody
  /// does.
  package func refutedBase(of id: ZoneID) throws -> (maker: String, others: [String])? {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    guard zone.kind == .data, !membership.attestations(of: id).isEmpty,
      let base = try base(of: zone)
    else { return nil }
    let word = try word(of: base.chunk, base.heads, base.heldBack, in: zone)
    let others = try refuters(of: word, in: zone, heads: base.heads)
    guard !others.isEmpty else { return nil }
    return (
      try nameOfMaker(word, in: zone), others.compactMap { membership.person($0)?.name }
    )
  }

  private func nameOfMaker(_ word: SnapshotWord, in zone: ZoneState) throws -> String {
    word.maker.flatMap { membership(of: zone.group).person(of: $0)?.name } ?? "somebody unknown"
  }

  /// The name of the person whose device made a snapshot.
  func nameOfMaker(of first: [UInt8], in zone: ZoneState) throws -> String {
    let membership = membership(of: zone.group)
    let header = try Envelope.parseHeader(first, minimumSuite: membership.acceptedSuite)
    let maker = zone.deviceByTag[Identifier(header.authorTag)]
    return maker.flatMap { membership.person(of: $0)?.name } ?? "somebody unknown"
  }
}
