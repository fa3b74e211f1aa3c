import HearthCRDT
import HearthCrypto
import HearthMembership

/// What attestations say about snapshots.
package struct AttestationCheck<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Whether this device looks at what snapshots of a zone say.
  ///
  /// It does if it has the changes themselves, and enough rank where newcomers can fetch the
  /// changes one by one.
  func looksAtSnapshots(of id: ZoneID) throws -> Bool {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    let least = membership.history.withholdsKeys ? Role.member : .admin
    guard zone.kind == .data, membership.person(of: engine.device) != nil,
      let role = membership.role(of: engine.device)
    else { return false }
    return role.rank >= least.rank
  }

  /// Whether this person attested something other than what a snapshot says, while both judged
  /// alike.
  func isRefuted(_ word: SnapshotWord, in zone: ZoneState) throws -> Bool {
    guard let own = engine.membership(of: zone.group).person(of: engine.device)?.id,
      word.person != own
    else {
      return false
    }
    return try refuters(of: word, in: zone, heads: zone.heads).contains(own)
  }

  /// The people who attested something other than what a snapshot says, at the same point.
  ///
  /// A change that a removal made void counts for a person who knew of the removal, and not for
  /// others. If anything before the point is void, nobody is accused.
  private func refuters(
    of word: SnapshotWord, in zone: ZoneState, heads: [LogHead]
  ) throws -> [PersonID] {
    let membership = engine.membership(of: zone.group)
    let said = membership.attestations(of: zone.id).filter {
      $0.mark == word.mark && $0.person != word.person
    }
    guard !said.isEmpty, let epoch = zone.epochs.first(where: { Identifier($0.tag) == word.epoch })
    else { return [] }
    let links = try said.map { (person: $0.person, link: try epoch.link($0.digest)) }
    let agreeing = Set(links.filter { $0.link == word.link }.map(\.person))
    let refuting = Set(links.map(\.person)).subtracting(agreeing).sorted()
    guard !refuting.isEmpty, !zone.isAnythingVoid(through: heads, in: membership)
    else { return [] }
    return refuting
  }

  /// The problem with the zone's base snapshot, if people with the changes themselves contradict
  /// it.
  func problemsWithBase(of id: ZoneID) throws -> [TransportProblem] {
    guard let refuted = try refutedBase(of: id) else { return [] }
    return [
      TransportProblem(
        place: "zone \(try engine.zone(id).name)",
        fault: "it began from a snapshot by \(refuted.maker) that does not match the changes, as "
          + "attested by \(refuted.others.joined(separator: " and "))",
        remedy: "ask both, and compare with `hearth digest`; then join again with a link from the "
          + "one whom you trust",
        hidesData: true)
    ]
  }

  /// The maker of a zone's base snapshot and the people who contradict it; nil if nobody does.
  package func refutedBase(of id: ZoneID) throws -> (maker: String, others: [String])? {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    guard zone.kind == .data, !membership.attestations(of: id).isEmpty,
      let base = try BaseSnapshot(engine: engine).base(of: zone)
    else { return nil }
    let word = try SnapshotWords.word(
      of: base.chunk, base.heads, base.heldBack, in: zone, by: engine)
    let others = try refuters(of: word, in: zone, heads: base.heads)
    guard !others.isEmpty else { return nil }
    return (
      try nameOfMaker(word, in: zone), others.compactMap { membership.person($0)?.name }
    )
  }

  /// The name of the person who made a snapshot.
  func nameOfMaker(_ word: SnapshotWord, in zone: ZoneState) throws -> String {
    word.maker.flatMap { engine.membership(of: zone.group).person(of: $0)?.name }
      ?? "an unknown person"
  }
}
