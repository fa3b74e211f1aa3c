import HearthCRDT
import HearthCrypto
import HearthMembership

/// Recomputation of a group's membership from its control log.
enum MembershipRefresh {
  /// Recomputes a group's membership from its control log.
  ///
  /// The group's zones then recognise its devices, take over the keys in the log, and choose the
  /// epochs to write under.
  ///
  /// - Parameter isLoading: Whether the engine is being loaded from its store.
  static func refresh(
    of group: GroupID, isLoading: Bool = false, in engine: inout Engine<some Store>
  ) throws {
    let control = try engine.controlZone(of: group)
    let items = Membership.items(
      of: try engine.store.records.events(of: ControlOperation.type, in: control.id))
    let stored =
      engine.memberships[group] == nil
      ? try StoredProofs.read(of: group, from: engine.store) : ProofBook()
    var shown = try ShownHistoryReader(engine: engine).shownHistories(in: items, of: group)
    for _ in 0..<ShownHistories.maximumDepth {
      for (digest, segment) in shown.opened { engine.openedShown[digest] = segment }
      let membership = Membership(
        group: group, items: items, forks: shown.forks, known: engine.memberships[group],
        proofs: stored)
      engine.memberships[group] = membership
      for place in engine.zones.indices where engine.zones[place].group == group {
        engine.zones[place].recognise(membership.cards.keys.sorted())
        try EpochKeys.learnEpochs(at: place, membership, in: &engine)
        try EpochKeys.chooseEpoch(at: place, membership, isLoading: isLoading, in: &engine)
      }
      // A shown history may contain the keys and people needed to read further histories.
      let more = try ShownHistoryReader(engine: engine).shownHistories(in: items, of: group)
      guard more.counted != shown.counted else { break }
      shown = more
    }
    if !isLoading {
      try StoredProofs.keep(engine.membership(of: group).proofs, of: group, in: engine.store)
    }
    try ForkEnds.learnForks(of: group, engine.membership(of: group), in: &engine)
  }
}
