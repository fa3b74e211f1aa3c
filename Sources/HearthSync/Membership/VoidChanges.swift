import HearthCRDT
import HearthMembership

/// Void changes of one log, because their device was removed or their author's role does not allow
/// them.
package struct QuarantinedChanges: Equatable, Sendable {
  /// The reason why changes are void.
  package enum Cause: String, Encodable, Sendable {
    /// Their device was not in the group at the heads that they cite.
    case notADevice
    /// Their device or person was removed, and they are beyond the remover's cut.
    case beyondCut
    /// Each contains an operation that its author's role does not allow.
    case beyondRole
    /// Each would put more into a record than one author may.
    case beyondLimit

    init(_ cause: Judgement.VoidCause) {
      switch cause {
      case .notADevice: self = .notADevice
      case .beyondCut: self = .beyondCut
      }
    }
  }

  package let zone: ZoneID
  package let author: Author
  /// Consecutive changes of the author's log.
  package let changes: ClosedRange<UInt64>
  package let cause: Cause
}

/// Void changes, which stay in the log without effect and can be adopted.
package struct VoidChanges<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The void changes of a group that nobody has adopted, in order of zone, author and number.
  ///
  /// For changes that are void by a cut, the engine reads the suspect logs: O(size of those logs).
  /// It noted changes that are void by a role or a limit on arrival.
  package func quarantined(in group: GroupID) throws -> [QuarantinedChanges] {
    let membership = engine.membership(of: group)
    var found: [QuarantinedChanges] = []
    for zone in engine.zones where zone.group == group && zone.kind == .data {
      for head in zone.heads {
        let grounds = membership.changes.grounds(of: head.author.device).values
        let isSuspect =
          !membership.isActive(head.author.device)
          || grounds.contains { ground in
            ground.cut.map { head.sequence > $0.sequence(of: head.author, in: zone.id) } ?? false
          }
        guard isSuspect else { continue }
        found += try voids(of: head, in: zone, membership)
      }
      found += try StoredVoids.roleVoids(of: zone.id, in: engine.store).all.map { author, stretch in
        QuarantinedChanges(
          zone: zone.id, author: author, changes: stretch.changes,
          cause: stretch.overfull == nil ? .beyondRole : .beyondLimit)
      }
      found.sort {
        ($0.zone, $0.author, $0.changes.lowerBound) < ($1.zone, $1.author, $1.changes.lowerBound)
      }
    }
    let adopted = membership.said(.adopt).filter(\.counts).map(\.item.operation)
    return found.flatMap { range in
      adopted.reduce([range]) { rest, adoption in
        guard case .adopt(range.zone, range.author, let first, let last) = adoption, first <= last
        else { return rest }
        return rest.flatMap { $0.without(first...last) }
      }
    }
  }

  private func voids(
    of head: LogHead, in zone: ZoneState, _ membership: Membership
  ) throws -> [QuarantinedChanges] {
    var found: [QuarantinedChanges] = []
    var heads = Frontier()
    for change in try logged(head.author, in: zone) where change.dot.sequence <= head.sequence {
      guard let raised = heads.raised(by: change.controlSeen) else { break }
      heads = raised
      guard case .void(let reason) = membership.changes.judge(change.dot, in: zone.id, at: heads)
      else {
        continue
      }
      let sequence = change.dot.sequence
      let cause = QuarantinedChanges.Cause(reason)
      if let last = found.last, last.cause == cause, last.changes.upperBound + 1 == sequence {
        found[found.count - 1] = QuarantinedChanges(
          zone: zone.id, author: head.author, changes: last.changes.lowerBound...sequence,
          cause: cause)
      } else {
        found.append(
          QuarantinedChanges(
            zone: zone.id, author: head.author, changes: sequence...sequence, cause: cause))
      }
    }
    return found
  }

  /// The stored changes of one log, in order; changes covered by a snapshot are missing.
  private func logged(_ author: Author, in zone: ZoneState) throws -> [Change] {
    let opener = SegmentOpener(zone: zone, membership: engine.membership(of: zone.group))
    var changes: [UInt64: Change] = [:]
    for segment in try engine.store.log.segments(of: zone.id) where segment.author == author {
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: zone.id),
        case .opened(let opened)? = try? opener.open(bytes)
      else { continue }
      for change in opened.changes { changes[change.dot.sequence] = change }
    }
    for encoded in try engine.store.log.changes(
      of: author, in: zone.id, after: 0, limit: Limits.maximumSegmentChanges)
    {
      let change = try OwnTail.stored(encoded, in: zone)
      changes[change.dot.sequence] = change
    }
    return changes.keys.sorted().compactMap { changes[$0] }
  }

  /// The quarantined changes, as far as this node can open them.
  package func changes(of quarantined: QuarantinedChanges) throws -> [Change] {
    try logged(quarantined.author, in: engine.zone(quarantined.zone))
      .filter { quarantined.changes.contains($0.dot.sequence) }
  }
}

extension QuarantinedChanges {
  /// The changes that remain after some were adopted.
  fileprivate func without(_ taken: ClosedRange<UInt64>) -> [QuarantinedChanges] {
    guard changes.overlaps(taken) else { return [self] }
    func part(_ first: UInt64, _ last: UInt64) -> [QuarantinedChanges] {
      [QuarantinedChanges(zone: zone, author: author, changes: first...last, cause: cause)]
    }
    let before =
      changes.lowerBound < taken.lowerBound ? part(changes.lowerBound, taken.lowerBound - 1) : []
    let after =
      taken.upperBound < changes.upperBound ? part(taken.upperBound + 1, changes.upperBound) : []
    return before + after
  }
}
