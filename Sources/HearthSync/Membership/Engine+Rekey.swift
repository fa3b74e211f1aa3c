import HearthCRDT
import HearthCrypto
import HearthMembership

// New epochs: when, for whom, and what heals a bad one.
extension Engine {
  /// How long an epoch is written under: 30 days.
  package static var epochMilliseconds: UInt64 { 30 * 24 * 60 * 60 * 1_000 }
  /// How long epochs of the same time wait for one of their makers to join them: 10 minutes.
  package static var joinMilliseconds: UInt64 { 10 * 60 * 1_000 }
  /// How many changes of a zone are written under one epoch.
  package static var epochChanges: UInt64 { 10_000 }

  /// Makes a new epoch of zones.
  ///
  /// Whoever may write may do it; nobody chooses who reads. It follows every epoch that no other
  /// follows, so it also joins what was made at the same time.
  ///
  /// - Throws: `notAllowed` if this device may not write in the group.
  package mutating func rekey(
    _ zones: [ZoneID], of group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let grants = try grants(of: zones, in: group, without: [])
    _ = try perform(grants, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Makes new epochs for all zones of a group that may not be written under the present ones, if
  /// this device may.
  mutating func replaceOverEpochs(of group: GroupID, nowMilliseconds: UInt64) throws {
    let over = zones.filter { $0.group == group && $0.isEpochOver }.map(\.id)
    guard !over.isEmpty, let role = membership(of: group).role(of: device), role != .reader else {
      return
    }
    Probe.epochOverdue.hit()
    try rekey(over, of: group, nowMilliseconds: nowMilliseconds)
  }

  /// A device that reads from the operations on that new keys go with, and whose it is.
  struct Joining {
    let device: DeviceID
    let card: DeviceCard
    let person: PersonID
  }

  /// The operations that give zones new keys.
  ///
  /// - Parameters:
  ///   - left: the devices that read no more when these operations have effect.
  ///   - joined: a device that reads from then on.
  ///   - isThreshold: whether the operations change what newcomers may read, so that nothing leads
  ///     back to what was before.
  func grants(
    of zones: [ZoneID], in group: GroupID, without left: Set<DeviceID>,
    joined: Joining? = nil, isThreshold: Bool = false
  ) throws -> [ControlOperation] {
    let membership = membership(of: group)
    var readers = membership.devices
      .filter { !left.contains($0.id) || Mutant.wrapsToCachedMembers.isActive }
      .map { (id: $0.id, box: $0.card.boxKey) }
    if let joined { readers.append((joined.device, joined.card.boxKey)) }
    readers.sort { $0.id < $1.id }
    let people = Mutant.forgetsWords.isActive ? [] : membership.recoveryKeys(with: joined?.person)
    return try zones.map { id in
      let zone = try self.zone(id)
      let epoch = try EpochKey.random(groupID: group.bytes, zoneID: id.bytes)
      let previous = membership.newestEpochs(of: id).suffix(ControlOperation.maximumPrevious)
      let linked = previous.filter {
        zone.kind == .control || Mutant.epochTellsOfThePast.isActive
          || !isThreshold && membership.newcomers == .full && membership.isOpenToAll($0)
      }
      let earlier = linked.compactMap { zone.epoch(id: $0.grant.epoch) }
      return .epoch(
        ControlOperation.EpochGrant(
          zone: id, epoch: epoch.id, previous: previous.map(\.grant.epoch),
          wraps: try readers.map { reader in
            .init(
              recipient: reader.id,
              sealed: try epoch.sealKey(to: BoxPublicKey(validating: reader.box)))
          },
          recovery: try people.map { person, keys in
            .init(
              recipient: person,
              sealed: try epoch.sealKey(to: BoxPublicKey(validating: keys.box)))
          },
          history: try earlier.map {
            .init(epoch: $0.id, sealed: try epoch.wrapHistory(previous: $0))
          }))
    }
  }

  /// The zones of records of a group.
  func dataZoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group && $0.kind == .data }.map(\.id)
  }

  /// Performs what lets somebody in, an invitation or an admission; with new keys where newcomers
  /// read from then on.
  ///
  /// - Parameters:
  ///   - person: who it is, where that is known; nil for a newcomer.
  ///   - joined: a device that reads from then on.
  mutating func performEntrance(
    _ operation: ControlOperation, of person: PersonID?, in group: GroupID,
    joined: Joining? = nil, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    guard membership.newcomers == .fromJoin, membership.isForNewcomer(person) else {
      try perform([operation], in: group, nowMilliseconds: nowMilliseconds)
      return
    }
    try performThreshold(in: group, joined: joined, nowMilliseconds: nowMilliseconds) { _ in
      [operation]
    }
  }

  /// Performs operations from which on newcomers read, with new keys of the zones of records, and
  /// of the members' log where they close invitations.
  ///
  /// What was written here before is sealed first, under the keys of then.
  ///
  /// - Parameters:
  ///   - joined: a device that reads from then on.
  ///   - isThreshold: whether nothing leads back to what was before.
  ///   - operations: given the engine after the sealing.
  mutating func performThreshold(
    in group: GroupID, joined: Joining? = nil, isThreshold: Bool = false,
    nowMilliseconds: UInt64, _ operations: (Engine) -> [ControlOperation]
  ) throws {
    var draft = self
    try store.transaction {
      draft = self
      try draft.replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
      try draft.closeExpired(in: group, nowMilliseconds: nowMilliseconds)
      for zone in draft.dataZoneIDs(of: group) { _ = try draft.seal(zone) }
      let operations = operations(draft)
      let isClosing = operations.contains { if case .inviteClose = $0 { true } else { false } }
      let keys = try draft.grants(
        of: isClosing ? draft.zoneIDs(of: group) : draft.dataZoneIDs(of: group), in: group,
        without: [], joined: joined, isThreshold: isThreshold)
      try draft.perform(operations + keys, in: group, nowMilliseconds: nowMilliseconds)
    }
    self = draft
  }

  /// Closes invitations that have expired, with new keys, before somebody is let in.
  ///
  /// The next sync would do so, and who is let in now would not have the keys made with that, under
  /// which the snapshot is that newcomers begin from.
  private mutating func closeExpired(in group: GroupID, nowMilliseconds: UInt64) throws {
    guard !Mutant.closesAfterInviting.isActive, let role = membership(of: group).role(of: device)
    else { return }
    let closings = closings(in: group, role, nowMilliseconds: nowMilliseconds)
    guard !closings.isEmpty else { return }
    Probe.closedBeforeInviting.hit()
    let keys = try grants(of: zoneIDs(of: group), in: group, without: [])
    try perform(closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// All zones of a group, the control zone among them.
  func zoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group }.map(\.id)
  }

  /// Does what is due without anybody asking: confirms joinings, closes invitations that are over,
  /// makes new keys where one is over, old or doubled, complains about keys that cannot be opened,
  /// and heals those of others.
  ///
  /// - Parameter isComplete: whether every transport was read without failure. What a stale view
  ///   would decide wrongly waits until one was.
  package mutating func maintain(isComplete: Bool = true, nowMilliseconds: UInt64) throws {
    for group in Set(zones.filter { !isRetired($0) }.map(\.group)).sorted() {
      guard let role = membership(of: group).role(of: device) else { continue }
      var operations = try complaints(in: group)
      var closings: [ControlOperation] = []
      if isComplete {
        try turnAwayLate(in: group, nowMilliseconds: nowMilliseconds)
        operations += confirmations(in: group, nowMilliseconds: nowMilliseconds)
        closings = self.closings(in: group, role, nowMilliseconds: nowMilliseconds)
      }
      Probe.inviteOver.hit(if: !closings.isEmpty)
      operations += closings
      try heal(in: group, nowMilliseconds: nowMilliseconds)
      if role != .reader {
        let due = zones.filter { zone in
          zone.group == group
            && (closings.contains { exposes($0, zone) }
              || (isComplete || zone.isEpochOver)
                && isRekeyDue(zone, nowMilliseconds: nowMilliseconds))
        }
        operations += try grants(of: due.map(\.id), in: group, without: [])
      }
      guard !operations.isEmpty else { continue }
      _ = try perform(operations, in: group, nowMilliseconds: nowMilliseconds)
    }
  }

  /// Whether a closing leaves the keys of a zone with somebody who did not join.
  ///
  /// Those of the members' log only where the link was not used up by people who are in.
  private func exposes(_ closing: ControlOperation, _ zone: ZoneState) -> Bool {
    guard case .inviteClose(let id) = closing else { return false }
    return zone.kind == .data
      || membership(of: zone.group).invites.contains {
        $0.operation.invite == id && $0.usesLeft > 0
      }
  }

  private func isRekeyDue(_ zone: ZoneState, nowMilliseconds: UInt64) -> Bool {
    if zone.isEpochOver {
      return !Mutant.rotatesAfterWrite.isActive
        || (try? unsealedChanges(of: zone.id))?.isEmpty ?? true
    }
    let membership = membership(of: zone.group)
    let newest = membership.newestEpochs(of: zone.id)
    guard let current = newest.first(where: { $0.grant.epoch == zone.writeEpoch }) else {
      return false
    }
    if newest.count > 1 {
      let isDue = mayJoin(newest, of: zone.group, nowMilliseconds: nowMilliseconds)
      Probe.epochsJoined.hit(if: isDue)
      return isDue
    }
    return current.since.milliseconds + Engine.epochMilliseconds <= nowMilliseconds
      || writtenUnder(current, in: zone) >= Engine.epochChanges
  }

  /// Whether this device joins epochs that were made at the same time.
  ///
  /// The first maker who is still there and may, at once; everybody else once some time has passed,
  /// so that it does not need that one, nor do all do it together.
  private func mayJoin(
    _ newest: [EpochRecord], of group: GroupID, nowMilliseconds: UInt64
  ) -> Bool {
    let membership = membership(of: group)
    let makers = newest.map(\.maker).filter {
      membership.role(of: $0).map { $0 != .reader } ?? false
    }
    if makers.min() == device { return isNewestLife(in: group) }
    let last = newest.map(\.since.milliseconds).max() ?? 0
    return last.addingReportingOverflow(Engine.joinMilliseconds).partialValue <= nowMilliseconds
      || makers.isEmpty
        && membership.devices.first(where: { membership.role(of: $0.id) != .reader })?
          .id == device
  }

  /// Whether no later life of this device is known: of two copies that are at work, one joins.
  private func isNewestLife(in group: GroupID) -> Bool {
    guard let control = try? controlZone(of: group) else { return true }
    let isLast = !control.heads.contains {
      $0.author.device == device && $0.author.incarnation > incarnation
    }
    Probe.copyLeavesJoining.hit(if: !isLast)
    return isLast
  }

  /// How many changes a zone has since an epoch was made, by this device's count.
  private func writtenUnder(_ epoch: EpochRecord, in zone: ZoneState) -> UInt64 {
    let total = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
    let fact = try? store.fact(Engine.epochFact(epoch.grant.epoch))
    var reader = ByteReader(fact ?? Engine.bytes(of: total))
    return total &- ((try? reader.fixed64("changes")) ?? total)
  }

  /// The fact under which a zone's number of changes is kept, as it was when an epoch was learnt.
  static func epochFact(_ epoch: [UInt8]) -> String {
    "epoch." + (Identifier(bytes: Array(epoch.prefix(16)))?.hex ?? "")
  }
}
