import HearthCRDT
import HearthCrypto
import HearthMembership

/// The pending segments that a zone keeps, within limits in total and per device.
struct PendingStorage<S: Store> {
  let engine: Engine<S>

  /// Drops pending segments that can never count, and those beyond the limits.
  ///
  /// Of each log, the next segments are kept and the farthest ones are dropped. A transport still
  /// has them, so nothing is lost, and they are fetched again once there is space.
  ///
  /// - Parameter keepsStrangers: Whether the segments of unknown authors stay, since the caller
  ///   tries them again at once.
  func tidy(
    _ intake: inout Intake, in zone: ZoneState, _ membership: Membership, isRebuilding: Bool,
    keepsStrangers: Bool, nowMilliseconds: UInt64, _ report: inout ReceiveReport
  ) throws {
    let cuts = cuts(of: intake.waiting.values.map(\.entry.authorTag), in: zone, membership)
    report.dropped += intake.drop {
      // Segments from the log counted before: their missing changes may still arrive.
      ClosedSegments(engine: engine).isOutrun($0, in: zone, membership)
        || !isRebuilding && isOver($0, in: zone, cuts)
    }.map(\.digest)
    let excess = WaitingRoom.excess(of: intake.waiting.values.map(\.entry)) {
      zone.deviceByTag[$0] != nil
    } isExpected: {
      zone.expects($0.tagAuthor, from: $0.first)
    }.filter { !keepsStrangers || !$0.value.isStranger }
    guard !excess.isEmpty else { return }
    let dropped = intake.drop { excess[$0.digest] != nil }
    var crowded: [(pool: WaitingRoom.Pool, refused: RoomRefusals.Refused)] = []
    var devices: Set<DeviceID> = []
    for entry in dropped {
      guard let reason = excess[entry.digest] else { continue }
      report.refused.append((entry.digest, reason.words))
      if case .unverified(let kind) = reason {
        report.noted.append(Refusals.Refused(digest: entry.digest, kind: kind))
      }
      guard let pool = reason.pool(of: entry) else { continue }
      crowded.append((pool, .init(digest: entry.digest, byteCount: entry.byteCount)))
      if let device = zone.deviceByTag[entry.authorTag] { devices.insert(device) }
    }
    guard !crowded.isEmpty else { return }
    var refusals = try RoomRefusals(of: zone.id, in: engine.store)
    refusals.note(
      crowded,
      whileWaiting: RoomRefusals.waitingBytes(
        of: intake.waiting.values.lazy.map(\.entry), in: zone))
    try refusals.save(of: zone.id, in: engine.store)
    for device in devices.sorted() {
      try LimitNotices.noteLimit(
        of: device, in: zone, as: "waiting",
        "sends more pending changes than this device may keep: changes before them are missing",
        by: engine, nowMilliseconds: nowMilliseconds)
    }
  }

  /// The cuts that end the logs of former devices.
  private func cuts(
    of tags: [Identifier], in zone: ZoneState, _ membership: Membership
  ) -> [Identifier: [Cut]] {
    var cuts: [Identifier: [Cut]] = [:]
    for tag in Set(tags) {
      guard let device = zone.deviceByTag[tag], membership.device(device) != nil,
        !membership.isActive(device)
      else { continue }
      cuts[tag] = membership.changes.grounds(of: device).values.compactMap(\.cut)
    }
    return cuts
  }

  /// Whether a segment can never count.
  ///
  /// This is the case if its device was removed and the segment starts beyond the known log of that
  /// time, or if other files have already advanced the log beyond it.
  private func isOver(
    _ entry: PendingEntry, in zone: ZoneState, _ cuts: [Identifier: [Cut]]
  ) -> Bool {
    guard let device = zone.deviceByTag[entry.authorTag] else { return false }
    let author = Author(device: device, incarnation: entry.incarnation)
    let reached = zone.head(of: author).sequence
    switch entry.reason {
    case .quarantine, .falseClaim, .author: return false
    case .format: return entry.last <= reached
    case .gap, .cause, .epoch:
      // A partly applied segment counts as part of the log.
      return entry.first > reached + 1
        && (cuts[entry.authorTag] ?? []).contains {
          entry.first > $0.sequence(of: author, in: zone.id)
        }
    }
  }

  /// The names of segments that a removed device wrote beyond its cut, with an earlier change
  /// missing.
  ///
  /// Such a segment could not stay pending.
  func beyondCuts(_ names: [SegmentName], in zone: ZoneState) -> Set<SegmentName> {
    let cuts = cuts(of: names.map(\.authorTag), in: zone, engine.membership(of: zone.group))
    guard !cuts.isEmpty else { return [] }
    var reached: [Author: UInt64] = [:]
    return Set(
      names.filter { name in
        guard let own = cuts[name.authorTag], let device = zone.deviceByTag[name.authorTag] else {
          return false
        }
        let author = Author(device: device, incarnation: name.incarnation)
        let end = reached[author] ?? zone.head(of: author).sequence
        guard name.first > end + 1 else {
          reached[author] = max(end, name.last)
          return false
        }
        return own.contains { name.first > $0.sequence(of: author, in: zone.id) }
      })
  }

  /// Stores the pending segments and removes those that are no longer pending.
  func save(_ intake: Intake, in zone: ZoneState, _ report: inout ReceiveReport) throws {
    for digest in intake.gone.keys.sorted() { try engine.store.pending.remove(digest, in: zone.id) }
    for entry in intake.dropped {
      try engine.store.pending.remove(entry.digest, in: zone.id)
      if entry.reason == .format { try engine.store.log.removeSegment(entry.digest, in: zone.id) }
    }
    for digest in intake.waiting.keys.sorted() {
      guard let item = intake.waiting[digest] else { continue }
      report.waiting[item.entry.reason, default: 0] += 1
      Probe.segmentWaits.hit(if: item.stored == nil)
      guard item.stored != item.entry, let bytes = item.bytes, !Mutant.dropsPending.isActive else {
        continue
      }
      let segment = PendingSegment(
        digest: digest, reason: item.entry.reason, wait: item.entry.wait, bytes: bytes)
      try engine.store.pending.save(segment, in: zone.id)
      if segment.reason == .format { try keepInLog(segment, in: zone) }
    }
  }

  /// Stores a segment of a newer version in the log too, so that it is forwarded unchanged.
  ///
  /// A segment that names this device is excluded: nobody vouches for the name in an unreadable
  /// suite, and the own log determines this device's head.
  private func keepInLog(_ segment: PendingSegment, in zone: ZoneState) throws {
    let frame = try EnvelopeFrame(segment.bytes)
    guard let device = zone.deviceByTag[Identifier(frame.authorTag)], device != engine.device
    else { return }
    let author = Author(device: device, incarnation: frame.incarnation)
    guard frame.lastSeq > zone.head(of: author).sequence else { return }
    try engine.store.log.save(
      StoredSegment(
        author: author, first: frame.firstSeq, last: frame.lastSeq, digest: segment.digest,
        byteCount: segment.bytes.count), bytes: segment.bytes, in: zone.id)
  }
}
