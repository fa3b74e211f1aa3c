import HearthCRDT
import HearthCrypto
import HearthMembership

/// A device that can read from the operations on that the new keys accompany.
struct JoiningDevice {
  let device: DeviceID
  let card: DeviceCard
  let person: PersonID
}

/// Epoch rotation: new keys for zones, and who can read them.
package enum Rekeying {
  /// Makes a new epoch for each zone.
  ///
  /// Any writer may rotate keys, but nobody chooses the readers. The new epoch follows every
  /// current leaf epoch, so it also joins concurrent epochs.
  ///
  /// - Throws: `notAllowed` if this device may not write in the group.
  package static func rekey(
    _ zones: [ZoneID], of group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let grants = try grants(of: zones, in: group, without: [], by: engine)
    _ = try ControlWriting.writeEffective(
      grants, group: group, in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Rotates all zones of a group whose current epoch may no longer be used, if this device may.
  static func replaceOverEpochs(
    of group: GroupID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let over = engine.zones.filter { $0.group == group && $0.isEpochOver }.map(\.id)
    guard !over.isEmpty, let role = engine.membership(of: group).role(of: engine.device),
      role != .reader
    else {
      return
    }
    Probe.epochOverdue.hit()
    try rekey(over, of: group, in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// The operations that give zones new keys.
  ///
  /// - Parameters:
  ///   - left: The devices that lose access when the operations take effect.
  ///   - joined: A device that gains access.
  ///   - isThreshold: Whether the operations are a history boundary: they change what newcomers may
  ///     read, so no link leads back to earlier keys.
  static func grants(
    of zones: [ZoneID], in group: GroupID, without left: Set<DeviceID>,
    joined: JoiningDevice? = nil, isThreshold: Bool = false, by engine: Engine<some Store>
  ) throws -> [ControlOperation] {
    let membership = engine.membership(of: group)
    var readers = membership.devices
      .filter { !left.contains($0.id) || Mutant.wrapsToCachedMembers.isActive }
      .map { (id: $0.id, box: $0.card.boxKey) }
    if let joined { readers.append((joined.device, joined.card.boxKey)) }
    readers.sort { $0.id < $1.id }
    let people =
      Mutant.forgetsWords.isActive ? [] : membership.recovery.recoveryKeys(with: joined?.person)
    return try zones.map { id in
      let zone = try engine.zone(id)
      let epoch = try EpochKey.random(groupID: group.bytes, zoneID: id.bytes)
      let previous = membership.keys.newestEpochs(of: id).suffix(ControlLimits.maximumPrevious)
      let linked = previous.filter {
        zone.kind == .control || Mutant.epochTellsOfThePast.isActive
          || !isThreshold && membership.newcomers == .full && membership.history.isOpenToAll($0)
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
}
