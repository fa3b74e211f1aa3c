import HearthCRDT
import HearthMembership
import HearthRelayCore
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import Household
import InlineExecution
import SimDisk

/// What must hold of the relay, of archives and of backups when everybody agrees.
struct RelayAtRest {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func check(_ members: [SimDevice], _ everybody: [SimDevice]) throws {
    guard let net = world.net else { return }
    let outsiders = everybody.filter { device in !members.contains { $0 === device } }
    for outsider in outsiders where outsider.running != nil && outsider.usesRelay {
      try staysShut(to: outsider, members)
    }
    try nothingIsReadable(at: net.relay)
    guard let host = try host(members) else { return }
    try newcomerAgrees(with: host)
    try backupAgrees(with: members, host)
  }

  /// An administrator on the relay who runs the current program.
  private func host(_ members: [SimDevice]) throws -> SimDevice? { try admins(members).first }

  private func admins(_ members: [SimDevice]) throws -> [SimDevice] {
    try members.filter {
      try !$0.isOldBuild && $0.usesRelay && $0.membership().role(of: $0.deviceID)?.rank ?? 0 >= 3
    }
  }

  /// Who was removed does not get in by any key that it has (O9); its own as a manager apart.
  private func staysShut(to outsider: SimDevice, _ members: [SimDevice]) throws {
    guard let home = outsider.home, let member = members.first(where: { $0.home == home }),
      try member.membership().device(outsider.deviceID) != nil,
      outsider.openedInvitations.isEmpty || world.joins[outsider.index] == nil,
      try !Adversary(world, against: member).isGivenKeys(outsider)
    else { return }
    let host = try host(members)
    if host != nil { outsider.hangUp(tellsRelay: true) }
    let way = try outsider.relayWay()
    way.relay.client.directory.zones = try outsider.engine().mailboxes(at: way.relay)
    for tag in way.relay.client.directory.zones.keys.sorted() {
      guard try member.engine().zones.contains(where: { $0.tag == tag }),
        var access = way.relay.client.directory.zones[tag]
      else { continue }
      access.mayCreate = false
      do {
        // A connection that stands may have opened it by its own key, as somebody who was listed;
        // a new one may not where somebody is there who keeps the list.
        let opening = try runInline { try await way.relay.client.open(access) }
        // Where nobody who is there manages it, a person has to make it anew.
        let isKept = try admins(members).contains { try manages($0, tag) }
        if !isKept || opening.key == .own && !opening.opened.rank.isListed { continue }
      } catch let error as TransportError where error.code == .relayRefused {
        SimProbe.relayShutOut.hit()
        continue
      }
      throw world.fail(.keys, outsider, "was removed and opens a mailbox at the relay")
    }
  }

  /// Whether a device manages a mailbox.
  private func manages(_ device: SimDevice, _ tag: Identifier) throws -> Bool {
    let relay = try device.relayWay().relay
    relay.client.directory.zones = try device.engine().mailboxes(at: relay)
    return try runInline { try await relay.client.open(zoneTag: tag) }.opened.rank == .manager
  }

  /// No title stands in any file of the relay's disk (O10).
  private func nothingIsReadable(at relay: SimRelay) throws {
    for name in relay.disk.names {
      guard let bytes = try relay.disk.read(name) else { continue }
      do {
        try Secrecy.check(bytes, in: world, by: world.devices[0])
      } catch {
        throw world.fail(.confidentiality, nil, "a title stands in \(name) of the relay")
      }
    }
  }

  /// Who joins by the relay alone has the same state: whatever was merged, removed or refilled
  /// there, the relay and its snapshots lead to the present (O12).
  private func newcomerAgrees(with host: SimDevice) throws {
    guard let home = host.home else { return }
    host.clock.set(to: world.now, at: world.now)
    let fresh = try world.addFresh(named: "FreshByRelay", way: .relay)
    do {
      let secret = try host.invite(uses: 1, at: world.now)
      _ = try host.sync(at: world.now)
      try fresh.start(at: world.now)
      guard try fresh.join(secret, at: world.now) != nil else { return }
      try fresh.exchange(at: world.now)
      world.net?.outwaitLiveLines()
      try host.exchange(at: world.now)
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(.garbage, fresh, "cannot join by the relay alone: \(error)")
    }
    try world.throwFound()
    SimProbe.freshByRelay.hit()
    try same(.garbage, fresh, host, home, "the relay alone does not lead to the present")
  }

  /// A device that is restored elsewhere, from a backup of some moment, has the same state after it
  /// exchanged, under a life of its own (O16).
  private func backupAgrees(with members: [SimDevice], _ host: SimDevice) throws {
    var chance = Chance(world.plan.seed, domain: "backup")
    let candidates = members.filter { $0.usesRelay && !$0.isOldBuild && $0 !== host }
    guard !candidates.isEmpty, let home = host.home else { return }
    // Best somebody of whom there is a backup.
    let kept = candidates.filter { one in
      world.images.keys.contains { $0.hasPrefix(one.name + "/") }
    }
    let one = chance.pick(kept.isEmpty ? candidates : kept)
    // Who joined again since would have to follow the link on the copy too.
    let images = world.images.keys.sorted().filter { name in
      name.hasPrefix(one.name + "/") && world.imageIsOfMember[name] == true
        && world.joins[one.index]?.at ?? 0 <= world.imageTimes[name] ?? 0
    }
    let disk = one.disk.clone(seed: chance.next())
    if let name = images.first, let image = world.images[name] { disk.restore(image) }
    let copy = SimDevice(index: world.devices.count, copying: one, name: "Restored", disk: disk)
    copy.way = .relay
    copy.clock.set(to: world.now, at: world.now)
    world.add(copy)
    do {
      try copy.start(at: world.now)
      copy.forgetUnknownHome()
      guard copy.home == home, try copy.isMember(), try !copy.waitsForMembersKeys() else { return }
      for _ in 0..<3 {
        try copy.exchange(at: world.now)
        try host.exchange(at: world.now)
      }
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(.backup, copy, "a restored backup cannot catch up: \(error)")
    }
    try world.throwFound()
    SimProbe.restoredElsewhere.hit()
    try same(.backup, copy, host, home, "a restored backup does not come to the present")
  }

  private func same(
    _ oracle: Oracle, _ one: SimDevice, _ other: SimDevice, _ home: ZoneID, _ words: String
  ) throws {
    guard try one.agrees(with: other, in: home) else {
      throw world.fail(
        oracle, one,
        "\(words): \(try Settling.state(of: one)); \(try Settling.state(of: other)); "
          + "\(try Settling.difference(one, other, in: home))")
    }
  }
}
