import HearthCRDT
import HearthCrypto
import HearthMembership

/// The facts that decide whether a pending segment is worth opening.
struct Readiness {
  let zone: ZoneState
  let membership: Membership
  /// Decides which changes are applied, or not awaited.
  var causes: CauseCheck
  /// Whether all segments are opened, because the zone is being rebuilt.
  let isRebuilding: Bool
  /// The pending segments that stay closed until a rebuild has applied what was applied before.
  ///
  /// They may hold another history of a log, which must not take the place of the applied one:
  /// other changes rest on it.
  var later: Set<Identifier> = []
  /// Whether segments of unknown authors were tried with the current knowledge of people.
  let hasTriedStrangers: Bool
  /// Whether this version of Hearth has tried the segments of newer versions.
  let hasTriedFormats: Bool
  /// Whether a control zone has new segments of members, which may vouch for strangers.
  let hasNews: Bool

  /// Whether the reason for a segment's wait is resolved.
  ///
  /// - Parameter claims: The false claims for which logs are held back.
  func isReady(
    _ entry: PendingEntry, in zone: ZoneState, _ claims: [Author: FalseClaim]
  ) -> Bool {
    if isRebuilding, entry.reason != .gap { return !later.contains(entry.digest) }
    switch entry.reason {
    case .quarantine, .falseClaim: return false
    case .format: return !hasTriedFormats
    case .epoch: return zone.holdsEpoch(tagged: entry.epochTag)
    case .author:
      guard let device = zone.deviceByTag[entry.authorTag], membership.card(of: device) != nil
      else { return hasNews || !hasTriedStrangers }
      return true
    case .gap:
      guard let head = head(of: entry, in: zone), !Mutant.opensWhatWaits.isActive else {
        return true
      }
      // Changes beyond the end of a log are evidence, which needs no opening either.
      return head.forkedAt != nil || head.sequence + 1 >= zone.forkEnds[head.author] ?? .max
        || entry.first <= head.sequence + 1
    case .cause:
      guard let head = head(of: entry, in: zone), head.forkedAt == nil,
        let missing = entry.wait.missing
      else { return true }
      return causes.isHere(
        MissingCause(dot: missing, isControl: entry.wait.isInControl), in: zone, claims: claims)
    }
  }

  private func head(of entry: PendingEntry, in zone: ZoneState) -> LogHead? {
    entry.author(in: zone).map(zone.head)
  }

  /// The reason to keep a segment closed whatever it contains; nil if it must be opened to
  /// decide.
  ///
  /// In a control zone, all segments are opened: they may contain keys, and pending ones may show
  /// whom their author has seen. Segments of authors without admission are opened too, and then
  /// refused with a notice. During a rebuild, only segments that were pending on a gap stay
  /// closed: nothing is known of the others yet.
  func reason(
    toKeepClosed author: Author, from first: UInt64, before: PendingReason?, _ slice: Slice,
    in zone: ZoneState
  ) -> PendingReason? {
    guard zone.kind == .data, !isRebuilding || before == .gap, !Mutant.skipsGaps.isActive,
      !Mutant.opensWhatWaits.isActive, first > slice.end(of: author, in: zone) + 1,
      causes.room.admits(author, in: zone)
    else { return nil }
    let head = zone.head(of: author)
    // Changes beyond the end of a log are kept as evidence.
    if head.forkedAt != nil || head.sequence + 1 >= zone.forkEnds[author] ?? .max {
      return .quarantine
    }
    Probe.gapInLog.hit()
    return .gap
  }
}

/// The knowledge with which pending segments were tried, and which of them are worth another try.
enum PendingKnowledge {
  /// - Parameter hasWaiting: Whether there are pending segments, whose reasons must be checked.
  static func readiness(
    of zone: ZoneState, _ membership: Membership, isRebuilding: Bool, hasNews: Bool,
    hasWaiting: Bool, in engine: Engine<some Store>
  ) throws -> Readiness {
    Readiness(
      zone: zone, membership: membership,
      causes: CauseCheck(
        room: try Introductions.room(of: zone, in: engine),
        control: zone.kind == .data ? try engine.controlZone(of: zone.group).reached : nil),
      isRebuilding: isRebuilding,
      hasTriedStrangers: try !hasWaiting
        || engine.store.facts.value(of: strangersFact(zone.id)) == people(around: zone, in: engine),
      hasTriedFormats: try !hasWaiting
        || engine.store.facts.value(of: formatsFact(zone.id)) == formats,
      hasNews: zone.kind == .control && hasNews)
  }

  private static func strangersFact(_ zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "pending.strangers.\(zone.hex)").asCache
  }

  private static func formatsFact(_ zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "pending.formats.\(zone.hex)").asCache
  }

  /// The formats that this version of Hearth can read.
  private static var formats: [UInt8] { [EnvelopeFormat.suite, ChangeBatch.formatVersion] }

  private static func upkeepFact(_ zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "pending.upkeep.\(zone.hex)").asCache
  }

  /// A digest of everything that decides whether an author is a stranger.
  ///
  /// Upkeep of this device leaves it as it was.
  private static func people(around zone: ZoneState, in engine: Engine<some Store>) throws
    -> [UInt8]
  {
    let present = try reached(around: zone, in: engine)
    guard let noted = try engine.store.facts.value(of: upkeepFact(zone.id)),
      noted.starts(with: present)
    else { return present }
    return Array(noted.dropFirst(present.count))
  }

  /// Notes that own operations changed nothing for strangers, if that is so.
  ///
  /// Everything pending or refused is otherwise tried again after each of them. Upkeep vouches for
  /// nobody and frees no place. It may make a join final, and so change which earlier operations
  /// are void or which devices belong: then it counts as news.
  static func noteUpkeep(
    _ operations: [ControlOperation], of group: GroupID, since before: Engine<some Store>,
    in engine: Engine<some Store>
  ) throws {
    guard operations.allSatisfy(\.isUpkeep) else { return }
    let (earlier, present) = (before.membership(of: group), engine.membership(of: group))
    guard Set(earlier.voided.map(\.id)) == Set(present.voided.map(\.id)),
      earlier.devices.map(\.id) == present.devices.map(\.id)
    else { return }
    for zone in engine.zones where zone.group == group {
      guard
        try engine.store.facts.has(strangersFact(zone.id))
          || !Refusals(of: zone.id, in: engine.store).isEmpty
      else { continue }
      try engine.store.facts.set(
        upkeepFact(zone.id),
        to: reached(around: zone, in: engine) + people(around: before.zone(zone.id), in: before))
    }
  }

  /// A digest of how far the control log is applied, and of the known keys and devices.
  private static func reached(around zone: ZoneState, in engine: Engine<some Store>) throws
    -> [UInt8]
  {
    let control = zone.kind == .control ? zone : try engine.controlZone(of: zone.group)
    var writer = ByteWriter(capacity: 256)
    writer.frontier(control.frontier)
    writer.varint(zone.epochCount)
    writer.varint(zone.deviceByTag.count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// A digest of everything that decides about a zone's refused segments.
  ///
  /// In the control zone this includes the changes that members are known to have seen and that are
  /// not here: their authors may be strangers whom nobody else vouches for.
  static func knowledge(of zone: ZoneState, in engine: Engine<some Store>) throws -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    writer.raw(try people(around: zone, in: engine))
    let pending = zone.kind == .control ? try engine.store.pending.entries(in: zone.id) : []
    for entry in pending where entry.reason == .cause && entry.author(in: zone) != nil {
      guard let missing = entry.wait.missing else { continue }
      writer.author(missing.author)
      writer.varint(missing.sequence)
    }
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// Notes the knowledge with which unreadable segments were tried; `zone` is the zone of that
  /// time.
  static func noteTried(
    _ entries: [PendingEntry], in zone: ZoneState, by engine: Engine<some Store>
  ) throws {
    func note(_ reason: PendingReason, _ fact: Fact<[UInt8]>, _ value: [UInt8]) throws {
      guard entries.contains(where: { $0.reason == reason }),
        try engine.store.facts.value(of: fact) != value
      else {
        return
      }
      try engine.store.facts.set(fact, to: value)
    }
    try note(.author, strangersFact(zone.id), people(around: zone, in: engine))
    try note(.format, formatsFact(zone.id), formats)
  }
}
