import HearthCRDT
import HearthCrypto
import HearthMembership

// Epoch rotation: when it is due, for which readers, and how a bad epoch is repaired.
extension Engine {
  /// The longest time that an epoch is used for writing: 30 days.
  package static var epochMilliseconds: UInt64 { 30 * 24 * 60 * 60 * 1_000 }
  /// How long concurrent epochs wait for one of their makers to join them: 10 minutes.
  package static var joinMilliseconds: UInt64 { 10 * 60 * 1_000 }
  /// The most changes of a zone that are written under one epoch.
  package static var epochChanges: UInt64 { 10_000 }

  /// Makes a new epoch for each zone.
  ///
  /// Any writer may rotate keys, but nobody chooses the readers. The new epoch follows every
  /// current leaf epoch, so it also joins concurrent epochs.
  ///
  /// - Throws: `notAllowed` if this device may not write in the group.
  package mutating func rekey(
    _ zones: [ZoneID], of group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let grants = try grants(of: zones, in: group, without: [])
    _ = try perform(grants, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Rotates all zones of a group whose current epoch may no longer be used, if this device may.
  mutating func replaceOverEpochs(of group: GroupID, nowMilliseconds: UInt64) throws {
    let over = zones.filter { $0.group == group && $0.isEpochOver }.map(\.id)
    guard !over.isEmpty, let role = membership(of: group).role(of: device), role != .reader else {
      return
    }
    Probe.epochOverdue.hit()
    try rekey(over, of: group, nowMilliseconds: nowMilliseconds)
  }

  /// A device that can read from the operations on that the new keys accompany.
  struct Joining {
    let device: DeviceID
    let card: DeviceCard
    let person: PersonID
  }

  /// The operations that give zones new keys.
  ///
  /// - Parameters:
  ///   - left: The devices that lose access when the operations take effect.
  ///   - joined: A device that gains access.
  ///   - isThreshold: Whether the operations are a history boundary: they change what newcomers may
  ///     read, so no link leads back to earlier keys.
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

  /// The data zones of a group.
  func dataZoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group && $0.kind == .data }.map(\.id)
  }

  /// Performs an invitation or admission, with new keys if newcomers may read only from then on.
  ///
  /// - Parameters:
  ///   - person: The person, if known; nil for a newcomer.
  ///   - joined: A device that gains access.
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

  /// Performs operations at a history boundary, with new keys for the data zones.
  ///
  /// If the operations close invitations, the control log gets new keys too. Pending own changes
  /// are first sealed under the earlier keys.
  ///
  /// - Parameters:
  ///   - joined: A device that gains access.
  ///   - isThreshold: Whether no link leads back to earlier keys.
  ///   - operations: Makes the operations; called with the engine after the sealing.
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

  /// Closes expired invitations, with new keys, before somebody is admitted.
  ///
  /// The next sync would close them anyway. The newcomer would then lack the new keys, and could
  /// not open the snapshot that newcomers bootstrap from.
  private mutating func closeExpired(in group: GroupID, nowMilliseconds: UInt64) throws {
    guard !Mutant.closesAfterInviting.isActive else { return }
    let closings = closings(in: group, nowMilliseconds: nowMilliseconds)
    guard !closings.isEmpty else { return }
    Probe.closedBeforeInviting.hit()
    let keys = try grants(of: zoneIDs(of: group), in: group, without: [])
    try perform(closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// All zones of a group, including the control zone.
  func zoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group }.map(\.id)
  }

  /// Performs due maintenance: confirms joins, closes expired invitations, replaces finished, old
  /// or concurrent epochs, complains about missing keys, and hands keys to devices that lack them.
  ///
  /// A stale view confirms and closes nothing, and renews no key that may still be used. It does
  /// replace an epoch that is over, because the next write would have to.
  ///
  /// - Parameters:
  ///   - isComplete: Whether every transport was read without failure. Decisions that a stale view
  ///     would get wrong wait for a complete read.
  ///   - unread: Groups of which a transport refused a zone; for them the read was not complete.
  package mutating func maintain(
    isComplete: Bool = true, unread: Set<GroupID> = [], nowMilliseconds: UInt64
  ) throws {
    for group in Set(zones.filter { !isRetired($0) }.map(\.group)).sorted() {
      guard let role = membership(of: group).role(of: device) else { continue }
      let isWhole = isComplete && !unread.contains(group)
      var operations = try complaints(in: group)
      var closings: [ControlOperation] = []
      if isWhole {
        // Only now: own files on a transport would have shown that this device was put back.
        try noteUnwrittenClaims(in: group, nowMilliseconds: nowMilliseconds)
        operations += confirmations(in: group)
        closings = self.closings(in: group, nowMilliseconds: nowMilliseconds)
      }
      Probe.inviteOver.hit(if: !closings.isEmpty)
      operations += closings
      try heal(in: group, nowMilliseconds: nowMilliseconds)
      if role != .reader {
        let due = zones.filter { zone in
          zone.group == group
            && (closings.contains { exposes($0, zone) }
              || (isWhole || zone.isEpochOver)
                && isRekeyDue(zone, nowMilliseconds: nowMilliseconds))
        }
        operations += try grants(of: due.map(\.id), in: group, without: [])
      }
      guard !operations.isEmpty else { continue }
      _ = try perform(operations, in: group, nowMilliseconds: nowMilliseconds)
    }
  }

  /// Whether a closed invitation leaves the keys of a zone with somebody who did not join.
  ///
  /// The keys of the control log count only if members did not use up the link. An invitation by
  /// approval carries no keys.
  private func exposes(_ closing: ControlOperation, _ zone: ZoneState) -> Bool {
    guard case .inviteClose(let id) = closing else { return false }
    return membership(of: zone.group).invites.contains {
      $0.operation.invite == id && $0.operation.admission == .auto
        && (zone.kind == .data || $0.usesLeft > 0)
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

  /// Whether this device joins concurrent epochs.
  ///
  /// The first maker who is still a writer joins them at once. All others wait, so that the join
  /// does not depend on that maker and not all devices join at once.
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

  /// Whether this device knows no later incarnation of itself; of two running copies, only one
  /// joins.
  private func isNewestLife(in group: GroupID) -> Bool {
    guard let control = try? controlZone(of: group) else { return true }
    let isLast = !control.heads.contains {
      $0.author.device == device && $0.author.incarnation > incarnation
    }
    Probe.copyLeavesJoining.hit(if: !isLast)
    return isLast
  }

  /// The number of changes in a zone since an epoch was made, by this device's count.
  private func writtenUnder(_ epoch: EpochRecord, in zone: ZoneState) -> UInt64 {
    let total = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
    let fact = try? store.facts.value(of: Engine.epochFact(epoch.grant.epoch))
    var reader = ByteReader(fact ?? total.fixedBytes)
    return total &- ((try? reader.fixed64("changes")) ?? total)
  }

  /// The fact that stores a zone's number of changes at the time when an epoch was learned.
  static func epochFact(_ epoch: [UInt8]) -> String {
    "epoch." + (Identifier(bytes: Array(epoch.prefix(16)))?.hex ?? "")
  }
}
