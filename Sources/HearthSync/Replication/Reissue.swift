import HearthCRDT
import HearthCrypto
import HearthMembership

/// Changes of this device that are written again under its current incarnation.
enum Reissue {
  /// Reissues the ends of own logs under the current incarnation.
  ///
  /// The ends belong to earlier incarnations, whose sequence numbers another copy has used for
  /// something else.
  static func rewrite(
    _ ends: [OwnLogEnd], in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try reissue(
        try takeBack(ends, now: nowMilliseconds, in: &draft), now: nowMilliseconds, in: &draft)
    }
    engine = draft
  }

  /// Removes unsealed own changes and rebuilds their zones.
  ///
  /// Changes of later incarnations that build on them are removed too; otherwise they would wait
  /// forever on other nodes for causes that no longer exist. Sealing covers all own logs of a zone,
  /// so those changes are unsealed as well.
  ///
  /// - Returns: The changes by zone, earlier incarnations first.
  static func takeBack(
    _ ends: [OwnLogEnd], now: UInt64, in engine: inout Engine<some Store>
  ) throws -> [(ZoneID, Change)] {
    var result: [(ZoneID, Change)] = []
    for end in try withLaterLives(ends, in: engine) {
      let state = try engine.zone(end.zone)
      guard
        engine.membership(of: state.group).isActive(engine.device)
          || Mutant.takesBackAsStranger.isActive
      else { continue }
      let encoded = try engine.store.log.changes(
        of: end.author, in: end.zone, after: 0, limit: Limits.maximumSegmentChanges * 100)
      let changes = try encoded.map { try OwnTail.stored($0, in: state) }
      guard let last = changes.last, last.dot.sequence >= end.first else { continue }
      try engine.store.log.removeChanges(of: end.author, in: end.zone, through: last.dot.sequence)
      for (bytes, change) in zip(encoded, changes) {
        if change.dot.sequence < end.first {
          try engine.store.log.append(bytes, dot: change.dot, to: end.zone)
        } else {
          result.append((end.zone, change))
        }
      }
      try Rebuild.rebuild(end.zone, without: end.author, in: &engine, nowMilliseconds: now)
    }
    return result
  }

  /// The ends, plus all unsealed changes of later incarnations in the same group.
  ///
  /// Later incarnations come first, because they build on earlier ones.
  private static func withLaterLives(_ ends: [OwnLogEnd], in engine: Engine<some Store>) throws
    -> [OwnLogEnd]
  {
    var all: [OwnLogEnd] = []
    for end in ends {
      let group = try engine.zone(end.zone).group
      all.append(end)
      for zone in engine.zones where zone.group == group {
        for author in zone.heads.map(\.author)
        where author.device == engine.device && author.incarnation > end.author.incarnation {
          let later = OwnLogEnd(zone: zone.id, author: author, first: 1)
          if !all.contains(later) { all.append(later) }
        }
      }
    }
    return all.sorted {
      ($1.author.incarnation, $0.zone) < ($0.author.incarnation, $1.zone)
    }
  }

  /// Reissues changes as the current author, earlier incarnations first.
  ///
  /// Events get the ids of their new positions, and references to an old id, such as an undo, are
  /// renamed. Changes that this device's person may no longer make are left out, with a notice.
  static func reissue(
    _ changes: [(ZoneID, Change)], now: UInt64, isOwnLife: Bool = true,
    in engine: inout Engine<some Store>
  ) throws {
    var renamed: [[UInt8]: [UInt8]] = [:]
    var dots: [Dot: Dot] = [:]
    var refused = 0
    for (zone, change) in changes.sorted(by: { $0.1.dot < $1.1.dot }) {
      let dot = try engine.nextDot(in: zone)
      let state = try engine.zone(zone)
      let frontier = state.frontier.joined(with: state.head(of: engine.author).past)
      dots[change.dot] = dot
      let operations = change.operations.enumerated().map { index, operation in
        var key = operation.key
        if key.type.isEvent {
          key = RecordKey(
            type: key.type, id: eventID(in: zone, type: key.type, dot: dot, index: index))
          renamed[operation.key.id.bytes] = key.id.bytes
        }
        return Operation(key, operation.body.renaming(renamed))
      }.map { $0.renaming(dots, within: frontier) }
      do {
        _ = try LocalWrite.ownJudgement(of: operations, in: state, dot, by: engine)
      } catch let error as SyncError where error.code == .notAllowed {
        dots[change.dot] = nil
        refused += 1
        continue
      }
      _ = try engine.write(operations, to: zone, nowMilliseconds: now)
    }
    try tell(refused: refused, now: now, in: &engine)
    guard changes.count > refused, isOwnLife else { return }
    Probe.reissued.hit()
    try engine.store.notices.add(
      Notice(
        kind: .reissued, zone: nil, device: engine.device,
        text: "\(changes.count - refused) changes that only this copy had were written again, "
          + "because another copy had used their numbers", milliseconds: now))
  }

  /// Adds a notice that own changes could not be reissued.
  private static func tell(refused: Int, now: UInt64, in engine: inout Engine<some Store>) throws {
    guard refused > 0 else { return }
    Probe.reissueRefused.hit()
    try engine.store.notices.add(
      Notice(
        kind: .reissued, zone: nil, device: engine.device,
        text: "\(refused) changes of this device were not written again, because you may no longer "
          + "make them: ask an owner or admin to make them", milliseconds: now))
  }
}

extension Operation {
  /// The operation where an edit of a text names the new changes.
  ///
  /// What belonged beside a character that nobody knows any more goes to the end of the text, and
  /// there is nothing to erase of it.
  fileprivate func renaming(_ dots: [Dot: Dot], within frontier: Frontier) -> Operation {
    guard case .edit(let field, let edit) = body else { return self }
    let new = edit.renamed { dots[$0] ?? $0 }
    guard let named = new.named?.dot, !frontier.covers(named), !dots.values.contains(named) else {
      return Operation(key, .edit(field, new))
    }
    guard case .insert(let text, _) = new else { return Operation(key, .insert) }
    return Operation(key, .edit(field, .insert(text, .start)))
  }
}

extension Operation.Body {
  /// The operation with every old id in its values replaced by the new one.
  fileprivate func renaming(_ ids: [[UInt8]: [UInt8]]) -> Operation.Body {
    func renamed(_ value: Value) -> Value {
      guard case .bytes(let bytes) = value, let new = ids[bytes] else { return value }
      return .bytes(new)
    }
    return switch self {
    case .assign(let field, let value): .assign(field, renamed(value))
    case .include(let field, let value): .include(field, renamed(value))
    case .exclude(let field, let value): .exclude(field, renamed(value))
    case .event(let fields): .event(fields.map { EventField($0.field, renamed($0.value)) })
    case .insert, .count, .delete, .edit: self
    }
  }
}
