import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A newcomer who reads from the joining on, with everything that anybody ever stored, every key
/// that it was given, and a program that follows every link (O9).
///
/// It opens nothing of what the inviting device had when it made the invitation.
struct NewcomerKeys {
  private let world: World
  private let member: SimDevice

  init(_ world: World, against member: SimDevice) {
    self.world = world
    self.member = member
  }

  func check() throws {
    guard let home = member.home, try isRuleKept() else { return }
    for index in world.closedTo.keys.sorted() {
      let device = world.devices[index]
      guard let closed = world.closedTo[index], device.running != nil, device.home == home,
        try member.membership().isActive(device.deviceID)
      else { continue }
      let keys = try keys(of: device, in: home)
      for file in world.archive.keys.sorted() {
        guard case .segment(let name) = file, closed.contains(name.digest),
          let bytes = world.archive[file]
        else { continue }
        let read = try? LogReader(engine: device.engine()).changes(inSegment: bytes, of: home)
        let isOpen = keys.contains {
          (try? Envelope.open(bytes, zoneID: home.bytes, epoch: $0)) != nil
        }
        guard read == nil, !isOpen else {
          throw world.fail(.keys, device, "opens what was there before it was invited: \(name)")
        }
      }
      SimProbe.newcomerTried.hit()
    }
  }

  /// Whether every setting of the rule has effect: what rested on one that has none is open.
  private func isRuleKept() throws -> Bool {
    try member.membership().audit().allSatisfy { entry in
      if case .setPolicy(_, .fromJoin) = entry.operation {
        return entry.void == nil
      }
      return true
    }
  }

  /// The keys that a device has, those that are sealed to it, and all to which they lead.
  private func keys(of device: SimDevice, in home: ZoneID) throws -> [EpochKey] {
    let group = try member.group()
    let epochs = try member.membership().keys.epochs(of: home)
    var keys: [[UInt8]: EpochKey] = [:]
    for key in try device.engine().zone(home).epochs { keys[key.id] = key }
    for epoch in epochs {
      for wrap in epoch.grant.wraps where wrap.recipient == device.deviceID {
        keys[epoch.grant.epoch] = try? EpochKey.openKey(
          wrap.sealed, with: device.identity.boxPair, expectingID: epoch.grant.epoch,
          groupID: group.bytes, zoneID: home.bytes)
      }
    }
    for epoch in epochs.reversed() {
      guard let key = keys[epoch.grant.epoch] else { continue }
      for link in epoch.grant.history where keys[link.epoch] == nil {
        keys[link.epoch] = try? key.unwrapHistory(link.sealed, expectingID: link.epoch)
      }
    }
    return keys.keys.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { keys[$0] }
  }
}
