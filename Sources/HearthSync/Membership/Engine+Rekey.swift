import HearthCRDT
import HearthCrypto

// New epochs: when, for whom, and what heals a bad one.
extension Engine {
  /// How long an epoch is written under: 30 days.
  package static var epochMilliseconds: UInt64 { 30 * 24 * 60 * 60 * 1_000 }
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

  /// The operations that give zones new keys.
  ///
  /// - Parameters:
  ///   - left: the devices that read no more when these operations have effect.
  ///   - joined: a device that reads from then on.
  func grants(
    of zones: [ZoneID], in group: GroupID, without left: Set<DeviceID>,
    joined: (id: DeviceID, card: DeviceCard)? = nil
  ) throws -> [ControlOperation] {
    let membership = membership(of: group)
    var readers = membership.devices
      .filter { !left.contains($0.id) || Mutant.wrapsToCachedMembers.isActive }
      .map { (id: $0.id, box: $0.card.boxKey) }
    if let joined { readers.append((joined.id, joined.card.boxKey)) }
    readers.sort { $0.id < $1.id }
    let people = membership.recoveryKeys()
    return try zones.map { id in
      let zone = try self.zone(id)
      let epoch = try EpochKey.random(groupID: group.bytes, zoneID: id.bytes)
      let previous = membership.newestEpochs(of: id).map(\.grant.epoch)
        .suffix(ControlOperation.maximumPrevious)
      let isOpen = zone.kind == .control || membership.newcomers == .full
      let earlier = isOpen ? previous.compactMap { zone.epoch(id: $0) } : []
      return .epoch(
        ControlOperation.EpochGrant(
          zone: id, epoch: epoch.id, previous: Array(previous),
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

  /// All zones of a group, the control zone among them.
  func zoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group }.map(\.id)
  }

  /// Does what is due without anybody asking: new keys where one is over, old or doubled,
  /// complaints about keys that cannot be opened, and what heals those of others.
  package mutating func maintain(nowMilliseconds: UInt64) throws {
    for group in Set(zones.map(\.group)).sorted() {
      guard let role = membership(of: group).role(of: device) else { continue }
      var operations = complaints(in: group)
      let closings = closings(in: group, role, nowMilliseconds: nowMilliseconds)
      Probe.inviteOver.hit(if: !closings.isEmpty)
      operations += closings
      if role != .reader {
        try heal(in: group, nowMilliseconds: nowMilliseconds)
        let due = zones.filter { zone in
          zone.group == group
            && (!closings.isEmpty || isRekeyDue(zone, nowMilliseconds: nowMilliseconds))
        }
        operations += try grants(of: due.map(\.id), in: group, without: [])
      }
      guard !operations.isEmpty else { continue }
      _ = try perform(operations, in: group, nowMilliseconds: nowMilliseconds)
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
    // Of several made at the same time the first maker joins them; others wait for it.
    let makers = newest.filter { membership.isActive($0.maker) }.map(\.maker)
    if newest.count > 1, makers.min() == device {
      Probe.epochsJoined.hit()
      return true
    }
    guard newest.count == 1 else { return false }
    return current.since.milliseconds + Engine.epochMilliseconds <= nowMilliseconds
      || writtenUnder(current, in: zone) >= Engine.epochChanges
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

  // MARK: Complaints

  /// Complaints about keys that were handed to this device and do not open.
  private func complaints(in group: GroupID) -> [ControlOperation] {
    let membership = membership(of: group)
    return zones.filter { $0.group == group }.flatMap { zone in
      membership.epochs(of: zone.id).compactMap { epoch -> ControlOperation? in
        let id = epoch.grant.epoch
        guard zone.epoch(id: id) == nil,
          epoch.grant.wraps.contains(where: { $0.recipient == device }),
          !membership.complainants(about: id, zone: zone.id).contains(device)
        else { return nil }
        Probe.keyComplained.hit()
        return .complaint(.init(zone: zone.id, epoch: id))
      }
    }
  }

  /// A device that lacks keys, and the key of the control zone under which it can be told.
  private struct Patient {
    let device: DeviceID
    let reachedBy: [UInt8]?
    let lacks: [(zone: ZoneID, epoch: [UInt8])]
  }

  /// Hands keys that are held here to devices that read and lack them: those that complained, and
  /// those that joined while others made the keys.
  ///
  /// What is handed on goes under a key that the device has, or it could not open it.
  mutating func heal(in group: GroupID, nowMilliseconds: UInt64) throws {
    for patient in patients(in: group) {
      guard let card = membership(of: group).device(patient.device)?.card else { continue }
      let box = try BoxPublicKey(validating: card.boxKey)
      let operations = try patient.lacks.compactMap { zone, epoch -> ControlOperation? in
        guard let key = try self.zone(zone).epoch(id: epoch) else { return nil }
        return .wrapAdd(
          .init(
            zone: zone, epoch: epoch,
            wraps: [.init(recipient: patient.device, sealed: try key.sealKey(to: box))]))
      }
      guard !operations.isEmpty else { continue }
      Probe.keyHandedOn.hit()
      var draft = self
      try store.transaction {
        draft = self
        let control = try draft.controlZone(of: group)
        for author in control.heads.map(\.author) where author.device == device {
          _ = try draft.sealChanges(of: author, in: control)
        }
        try draft.perform(operations, in: group, nowMilliseconds: nowMilliseconds)
        var told = try draft.controlZone(of: group)
        if let epoch = patient.reachedBy, told.epoch(id: epoch) != nil { told.writeEpoch = epoch }
        _ = try draft.sealChanges(of: author, in: told)
      }
      self = draft
    }
  }

  private func patients(in group: GroupID) -> [Patient] {
    let membership = membership(of: group)
    let records = zones.filter { $0.group == group }.map { ($0, membership.epochs(of: $0.id)) }
    return membership.devices.compactMap { ill -> Patient? in
      guard ill.id != device else { return nil }
      var lacks: [(zone: ZoneID, epoch: [UInt8])] = []
      var reachedBy: [UInt8]?
      for (zone, epochs) in records {
        for epoch in epochs {
          let isHeld = membership.isHanded(epoch, to: ill.id)
          // What only others hold reaches nobody from here.
          guard zone.epoch(id: epoch.grant.epoch) != nil else { continue }
          if !isHeld {
            lacks.append((zone.id, epoch.grant.epoch))
          } else if zone.kind == .control {
            reachedBy = epoch.grant.epoch
          }
        }
      }
      return lacks.isEmpty
        ? nil : Patient(device: ill.id, reachedBy: reachedBy, lacks: Array(lacks.suffix(64)))
    }
  }

  /// Closes invitations whose time is over by this device's clock, where it may.
  private func closings(
    in group: GroupID, _ role: Role, nowMilliseconds: UInt64
  ) -> [ControlOperation] {
    guard role.rank >= Role.admin.rank else { return [] }
    return membership(of: group).invites
      .filter { invite in
        !invite.isClosed && invite.usesLeft > 0
          && invite.operation.expiresMilliseconds < nowMilliseconds
      }
      .map { .inviteClose(invite: $0.operation.invite) }
  }
}

extension Membership {
  /// Whether a device was given the key of an epoch: by the epoch, by what was handed on later, or
  /// with its invitation, and it did not complain of what it was given first.
  func isHanded(_ epoch: EpochRecord, to device: DeviceID) -> Bool {
    guard let resolver = resolved?.resolver else { return false }
    let id = epoch.grant.epoch
    let zone = epoch.grant.zone
    if addedWraps(of: id, zone: zone).contains(where: { $0.recipient == device }) { return true }
    if complainants(about: id, zone: zone).contains(device) { return false }
    if epoch.grant.wraps.contains(where: { $0.recipient == device }) { return true }
    // A later key that it has holds this one, where newcomers may read what was before.
    return resolver.index.enrolments[device]?.contains {
      resolver.isLive[$0] && resolver.log.sees(resolver.keysGathered(for: $0), epoch.place)
        || Mutant.joinerHasAllKeys.isActive && resolver.log.sees($0, epoch.place)
    } ?? false
  }

  /// The devices that cannot open the key of an epoch.
  func complainants(about epoch: [UInt8], zone: ZoneID) -> Set<DeviceID> {
    guard let resolver = resolved?.resolver else { return [] }
    return Set(
      resolver.index.complaints.compactMap { place in
        guard resolver.isLive[place],
          case .complaint(let complaint) = resolver.log.items[place].operation,
          complaint.zone == zone, complaint.epoch == epoch
        else { return nil }
        return resolver.log.items[place].device
      })
  }
}

extension ControlResolver {
  /// The operation with which the keys were gathered that came with an enrolment.
  ///
  /// Who joins has the keys of the invitation, however much of the log it had read since: the
  /// keys that were made in between were handed to others only.
  fileprivate func keysGathered(for enrolment: Int) -> Int {
    guard case .join(let join) = log.items[enrolment].operation,
      let invite = invite(join.invite, .past(enrolment))
    else { return enrolment }
    return invite.place
  }
}
