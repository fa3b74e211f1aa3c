import HearthCRDT
import HearthCrypto
import HearthMembership

/// The unsealed end of an own log, from a change on.
package struct OwnLogEnd: Equatable, Sendable {
  let zone: ZoneID
  let author: Author
  /// The first affected change; earlier ones are the same in the other copy and stay.
  let first: UInt64
}

extension Engine {
  /// Starts a new incarnation of this device, so that new changes get a new author and no sequence
  /// number is used twice.
  ///
  /// The node calls this when it finds that its data was restored or copied. Own changes that
  /// collide with those published by another copy are taken back and reissued under the new author.
  ///
  /// - Parameters:
  ///   - reason: The finding in words, for the person and the group's log.
  ///   - takingBack: The ends of own logs that were never sealed here, and for which another copy
  ///     has published something else.
  package mutating func beginNewLife(
    reason: String, takingBack ends: [OwnLogEnd] = [], nowMilliseconds: UInt64
  ) throws {
    let previous = incarnation
    var draft = self
    try store.transaction {
      draft = self
      Probe.newLife.hit()
      if !Mutant.keepsOldLife.isActive {
        draft.incarnation = try Engine.nextIncarnation(after: previous)
      }
      try store.facts.set(
        Engine.incarnationFact, to: draft.incarnation.fixedBytes)
      try store.facts.set(Engine.lifeFact(draft.author), to: nowMilliseconds.fixedBytes)
      let isAdmitted = try draft.zones.allSatisfy {
        try draft.room(of: $0).admits(draft.author, in: $0)
      }
      let reissued = isAdmitted ? try draft.takeBack(ends, now: nowMilliseconds) : []
      // For earlier incarnations, opening does not read own changes beyond a saved head.
      let old = Author(device: device, incarnation: previous)
      for zone in draft.zones where zone.head(of: old).sequence > 0 {
        try store.zones.save([zone.head(of: old)], of: zone.id)
      }
      try store.notices.add(
        Notice(
          kind: .newLife, zone: nil, device: device,
          text: reason + "; this node now writes as incarnation \(draft.incarnation >> 32)",
          milliseconds: nowMilliseconds))
      for zone in draft.zones where zone.kind == .control {
        // Beyond the limit of incarnations, the node can still be opened and read; writing explains
        // why it fails.
        guard draft.membership(of: zone.group).isActive(device),
          try draft.room(of: zone).admits(draft.author, in: zone)
        else { continue }
        _ = try draft.writeControl(
          [.incarnate(.init(previous: previous, reason: String(reason.prefix(200))))],
          group: zone.group, nowMilliseconds: nowMilliseconds)
      }
      try draft.reissue(reissued, now: nowMilliseconds)
    }
    self = draft
  }

  /// The next incarnation number: the next count with random bits, so that two copies differ.
  static func nextIncarnation(after previous: UInt64) throws -> UInt64 {
    let random = try Identifier.random().low & 0xffff_ffff
    return ((previous >> 32) + 1) << 32 | random
  }

  /// The first incarnation of a device.
  package static func firstIncarnation(of identity: DeviceIdentity) throws -> UInt64 {
    Author.first(of: try deviceID(of: identity)).incarnation
  }

  /// The name of the fact that stores the current incarnation.
  package static var incarnationFact: String { "incarnation" }

  /// Reissues the ends of own logs under the current incarnation.
  ///
  /// The ends belong to earlier incarnations, whose sequence numbers another copy has used for
  /// something else.
  mutating func rewrite(_ ends: [OwnLogEnd], nowMilliseconds: UInt64) throws {
    var draft = self
    try store.transaction {
      draft = self
      try draft.reissue(
        try draft.takeBack(ends, now: nowMilliseconds), now: nowMilliseconds)
    }
    self = draft
  }

  /// Removes unsealed own changes and rebuilds their zones.
  ///
  /// Changes of later incarnations that build on them are removed too; otherwise they would wait
  /// forever on other nodes for causes that no longer exist. Sealing covers all own logs of a zone,
  /// so those changes are unsealed as well.
  ///
  /// - Returns: The changes by zone, earlier incarnations first.
  private mutating func takeBack(
    _ ends: [OwnLogEnd], now: UInt64
  ) throws -> [(ZoneID, Change)] {
    var result: [(ZoneID, Change)] = []
    for end in try withLaterLives(ends) {
      let state = try zone(end.zone)
      guard membership(of: state.group).isActive(device) || Mutant.takesBackAsStranger.isActive
      else { continue }
      let encoded = try store.log.changes(
        of: end.author, in: end.zone, after: 0, limit: Limits.maximumSegmentChanges * 100)
      let changes = try encoded.map { try stored($0, in: state) }
      guard let last = changes.last, last.dot.sequence >= end.first else { continue }
      try store.log.removeChanges(of: end.author, in: end.zone, through: last.dot.sequence)
      for (bytes, change) in zip(encoded, changes) {
        if change.dot.sequence < end.first {
          try store.log.append(bytes, dot: change.dot, to: end.zone)
        } else {
          result.append((end.zone, change))
        }
      }
      try rebuild(end.zone, without: end.author, nowMilliseconds: now)
    }
    return result
  }

  /// The ends, plus all unsealed changes of later incarnations in the same group.
  ///
  /// Later incarnations come first, because they build on earlier ones.
  private func withLaterLives(_ ends: [OwnLogEnd]) throws -> [OwnLogEnd] {
    var all: [OwnLogEnd] = []
    for end in ends {
      let group = try zone(end.zone).group
      all.append(end)
      for zone in zones where zone.group == group {
        for author in zone.heads.map(\.author)
        where author.device == device && author.incarnation > end.author.incarnation {
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
  mutating func reissue(
    _ changes: [(ZoneID, Change)], now: UInt64, isOwnLife: Bool = true
  ) throws {
    var renamed: [[UInt8]: [UInt8]] = [:]
    var refused = 0
    for (zone, change) in changes.sorted(by: { $0.1.dot < $1.1.dot }) {
      let dot = try nextDot(in: zone)
      let operations = change.operations.enumerated().map { index, operation in
        var key = operation.key
        if key.type.isEvent {
          key = RecordKey(
            type: key.type, id: eventID(in: zone, type: key.type, dot: dot, index: index))
          renamed[operation.key.id.bytes] = key.id.bytes
        }
        return Operation(key, operation.body.renaming(renamed))
      }
      do {
        _ = try ownJudgement(of: operations, in: self.zone(zone), dot)
      } catch let error as SyncError where error.code == .notAllowed {
        refused += 1
        continue
      }
      _ = try write(operations, to: zone, nowMilliseconds: now)
    }
    try tell(refused: refused, now: now)
    guard changes.count > refused, isOwnLife else { return }
    Probe.reissued.hit()
    try store.notices.add(
      Notice(
        kind: .reissued, zone: nil, device: device,
        text: "\(changes.count - refused) changes that only this copy had were written again, "
          + "because another copy had used their numbers", milliseconds: now))
  }

  /// Adds a notice that own changes could not be reissued.
  private mutating func tell(refused: Int, now: UInt64) throws {
    guard refused > 0 else { return }
    Probe.reissueRefused.hit()
    try store.notices.add(
      Notice(
        kind: .reissued, zone: nil, device: device,
        text: "\(refused) changes of this device were not written again, because you may no longer "
          + "make them: ask an owner or admin to make them", milliseconds: now))
  }

  /// Rebuilds a zone's records from its snapshot and its log.
  ///
  /// A changed judgement may end a log or make it wait; its segments are then kept with the pending
  /// ones.
  ///
  /// - Throws: `corrupt` if the log lacks applied changes. Nothing is then changed.
  package mutating func rebuild(_ zone: ZoneID, nowMilliseconds: UInt64) throws {
    try rebuild(zone, without: nil, nowMilliseconds: nowMilliseconds)
  }

  /// Rebuilds a zone in which an author's last changes may have been taken back before.
  private mutating func rebuild(
    _ zone: ZoneID, without author: Author?, nowMilliseconds: UInt64
  ) throws {
    let before = self
    do {
      let frontier = try self.zone(zone).frontier
      let proven = try self.zone(zone).forkEnds
      try store.transaction {
        try rebuildWithin(zone, nowMilliseconds: nowMilliseconds)
        let reached = try self.zone(zone).frontier
        let short = frontier.entries.filter {
          $0.author != author && reached[$0.author] < $0.sequence && proven[$0.author] == nil
        }
        let lost = short.isEmpty ? nil : try lost(among: short, in: zone)
        if let lost {
          throw SyncError(
            .corrupt,
            "the log of \(try self.zone(zone).name) lacks changes of \(lost.author) beyond "
              + "\(reached[lost.author]): the records stay as they are; run `hearth verify`")
        }
      }
    } catch {
      self = before
      throw error
    }
  }

  /// The first log whose next change is missing; a change that is pending or makes a false claim is
  /// not.
  ///
  /// The own log is never pending: the next own change would take the number of the pending one.
  private func lost(among logs: [Frontier.Entry], in id: ZoneID) throws -> Frontier.Entry? {
    let zone = try zone(id)
    var waiting: Set<Author> = []
    for entry in try store.pending.entries(in: id)
    where entry.reason == .cause || entry.reason == .falseClaim {
      guard let author = entry.author(in: zone), author != self.author else { continue }
      let next = zone.head(of: author).sequence + 1
      if entry.first <= next, next <= entry.last { waiting.insert(author) }
    }
    return logs.first { !waiting.contains($0.author) }
  }

  /// The work of ``rebuild(_:nowMilliseconds:)`` within its transaction.
  mutating func rebuildWithin(_ zone: ZoneID, nowMilliseconds: UInt64) throws {
    let place = try place(of: zone)
    Work.rebuilds.add(1)
    let proven = zones[place].forkEnds
    let voids = try roleVoids(of: zone)
    try save(RoleVoids(), of: zone)
    let ends = zones[place].heads.filter { $0.forkedAt != nil && proven[$0.author] == nil }
    let segments = try store.log.segments(of: zone).sorted {
      ($0.author, $0.first) < ($1.author, $1.first)
    }
    let blobs = try segments.compactMap { try store.log.bytes(of: $0.digest, in: zone) }
    let unsealed = try zones[place].heads.map(\.author).filter { $0.device == device }
      .map { author in
        try store.log.changes(
          of: author, in: zone, after: 0, limit: Limits.maximumSegmentChanges * 100)
      }
    try store.records.removeAll(of: zone)
    try store.projections.removeRows(of: zone)
    try store.zones.removeHeads(of: zone)
    zones[place].resetHeads()
    if let base = try store.snapshots.base(of: zone) {
      Probe.rebuiltFromSnapshot.hit()
      try load(snapshot: base, into: zone, isAccepted: true, nowMilliseconds: nowMilliseconds)
    }
    try store.facts.set(Engine.checkedDigestFact(of: zone), to: nil)
    let report = try receive(
      blobs, in: zone, ends: ends, isRebuilding: true, nowMilliseconds: nowMilliseconds)
    unprovenForks += report.evidence
    Probe.rebuiltWithUnsealed.hit(if: unsealed.contains(where: { !$0.isEmpty }))
    for encoded in unsealed where !Mutant.rebuildForgetsUnsealed.isActive {
      try replay(encoded, at: place)
    }
    for end in ends {
      var head = zones[place].head(of: end.author)
      guard head.forkedAt == nil, head.sequence > 0 else { continue }
      head.forkedAt = end.forkedAt
      zones[place].set(head)
      try store.zones.save([head], of: zone)
    }
    try tell(
      of: try roleVoids(of: zone).changes(besides: voids), in: zones[place],
      nowMilliseconds: nowMilliseconds)
    try compareSoon(zones[place], nowMilliseconds: nowMilliseconds)
    // Unsealed operations may be what shows the histories of a log.
    if zones[place].kind == .control { try refreshMembership(of: zones[place].group) }
  }

  /// Reapplies own unsealed changes unmodified.
  private mutating func replay(_ encoded: [[UInt8]], at place: Int) throws {
    for bytes in encoded {
      let change = try stored(bytes, in: zones[place])
      var head = zones[place].head(of: change.dot.author)
      guard change.dot.sequence == head.sequence + 1 else { continue }
      let hash = zones[place].chainHash(of: bytes)
      guard let seen = head.seen.raised(by: change.seen),
        let controlSeen = head.controlSeen.raised(by: change.controlSeen)
      else { continue }
      var past = seen
      past.advance(head.author, to: head.sequence)
      let zone = zones[place]
      var applier = Applier(zone: zone.id, store: store, policy: policy)
      try applier.prepare(for: CollectionOfOne(change))
      let judgement =
        zone.kind == .data
        ? membership(of: zone.group).judge(change.dot, in: zone.id, at: controlSeen) : nil
      let membership = membership(of: zone.group)
      try applier.apply(
        change, past: past, as: judgement, by: membership.author(of: change.dot, at: controlSeen)
      ) { membership.standing(of: $0, knownTo: change.dot.author.device, at: controlSeen) }
      try applier.flush()
      _ = try note(applier.voids, in: zone.id)
      try head.advance(over: change, hash: hash)
      zones[place].set(head)
    }
    try store.zones.save(zones[place].heads, of: zones[place].id)
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
    case .insert, .count, .delete: self
    }
  }
}
