import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport
import InlineExecution

/// Whether what is there leads to the present, for everybody and by every way (O12).
///
/// At rest, for a fourth of the seeds and two of the members: each look is a device that joins.
struct Reach {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func check(_ members: [SimDevice]) throws {
    var chance = Chance(world.plan.seed, domain: "reach")
    guard chance.happens(perMille: 250) else { return }
    let able = members.filter { !$0.isOldBuild && $0.running != nil }
    for member in World.two(of: able, by: &chance) {
      if member.usesRelay { try furtherDevice(of: member, by: .relay) }
      if member.usesFolder { try furtherDevice(of: member, by: .folder) }
    }
    try archiveLeadsHere(members)
  }

  /// A further device of a person, who lets it in, gets everything by one way alone.
  private func furtherDevice(of member: SimDevice, by way: Plan.Way) throws {
    guard let home = member.home else { return }
    member.clock.set(to: world.now, at: world.now)
    let secret: InviteSecret
    do {
      secret = try member.invite(uses: 1, person: member.person, at: world.now)
    } catch let error as SyncError where error.code == .notAllowed {
      return
    }
    let fresh = try world.addFresh(
      named: "\(member.name)By\(way == .relay ? "Relay" : "Folder")", way: way,
      person: member.person)
    do {
      try member.exchange(at: world.now)
      if way == .folder { member.giveFiles(to: fresh) }
      try fresh.start(at: world.now)
      do {
        guard try fresh.join(secret, at: world.now) != nil else { return }
      } catch let error as SyncError where error.code == .notAllowed && fresh.home != nil {
        // A reader's device is in, and cannot write the record of its person.
      }
      try fresh.exchange(at: world.now)
      // Somebody may have made a key beside the invitation: whoever let the device in gives it.
      for _ in 0..<2 {
        if way == .folder { fresh.giveFiles(to: member) }
        world.net?.outwaitLiveLines()
        try member.exchange(at: world.now)
        if way == .folder { member.giveFiles(to: fresh) }
        world.net?.outwaitLiveLines()
        try fresh.exchange(at: world.now)
      }
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(
        .garbage, fresh, "\(member.name)'s further device cannot join: \(error)")
    }
    try world.throwFound()
    if try waitsForAdmin(fresh, meeting: member, in: home) { return SimProbe.waitsForAdmin.hit() }
    SimProbe.furtherReached.hit()
    guard try fresh.agrees(with: member, in: home) else {
      throw world.fail(
        .garbage, fresh,
        "the \(way.rawValue) alone does not lead \(member.name) to the present: "
          + "\(try Settling.state(of: fresh)); \(try Settling.state(of: member)); "
          + "\(try Settling.difference(fresh, member, in: home))")
    }
  }

  /// Whether a device that cannot open all of before waits for a snapshot, and the one that it
  /// meets cannot give one that it would believe.
  private func waitsForAdmin(
    _ device: SimDevice, meeting other: SimDevice, in home: ZoneID
  ) throws -> Bool {
    guard try ClosedSegments(engine: device.engine()).awaitsSnapshot(home) else { return false }
    let person = try other.membership().person(of: other.deviceID)?.id
    let group = try device.engine().zone(home).group
    let waited = try SnapshotTrust(engine: device.engine()).awaitedVoices(in: group).map(\.id)
    let own = try device.membership().person(of: device.deviceID)
    let isOwn = own?.id == person && own?.role.rank ?? 0 >= Role.admin.rank
    return !isOwn && !(person.map(waited.contains) ?? false)
  }

  /// All that anybody ever stored, also what was merged, replaced and removed since, leads where
  /// everybody is.
  private func archiveLeadsHere(_ members: [SimDevice]) throws {
    // Where one number stands for two changes, who sees both decides otherwise than who saw one.
    guard world.checker.forked.isEmpty, world.putBackUnnoticed.isEmpty, world.liars.isEmpty else {
      return
    }
    let host = try members.first {
      try !$0.isOldBuild && $0.usesFolder && $0.membership().role(of: $0.deviceID)?.rank ?? 0 >= 3
    }
    // Who is not given every key cannot go through all that ever was.
    guard let host, let home = host.home, try !host.membership().history.withholdsKeys else {
      return
    }
    host.clock.set(to: world.now, at: world.now)
    let fresh = try world.addFresh(named: "FreshByArchive")
    do {
      guard try joinsByArchive(fresh, invitedBy: host) else { return }
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(.garbage, fresh, "cannot join by all that ever was: \(error)")
    }
    let (left, right) = (try fresh.engine().zone(home), try host.engine().zone(home))
    guard left.frontier.covers(right.frontier) else {
      throw world.fail(
        .garbage, fresh,
        "all that ever was does not lead to the present: \(try Settling.state(of: fresh)); "
          + "\(try Settling.state(of: host))")
    }
    // A loss that is owed: the relay lost it, and its author was put back.
    guard left.frontier == right.frontier else { return SimProbe.archiveHoldsMore.hit() }
    SimProbe.freshByArchive.hit()
    guard try fresh.agrees(with: host, in: home) else {
      throw world.fail(
        .garbage, fresh,
        "all that ever was leads to another state: "
          + "\(try Settling.difference(fresh, host, in: home))")
    }
  }

  /// Lets a device join that has every segment ever stored; false if it is not let in at once.
  private func joinsByArchive(_ fresh: SimDevice, invitedBy host: SimDevice) throws -> Bool {
    let secret = try host.invite(uses: 1, at: world.now)
    try host.exchange(at: world.now)
    host.giveFiles(to: fresh)
    for (file, bytes) in world.archive.sorted(by: { $0.key < $1.key })
    where fresh.folder.files[file] == nil && world.isHonest(file) {
      // A snapshot of before is one more way to begin; the whole log is looked at here.
      if case .blob = file { continue }
      fresh.folder.put(file, bytes)
    }
    try fresh.start(at: world.now)
    guard try fresh.join(secret, at: world.now) != nil else { return false }
    try fresh.exchange(at: world.now)
    // Somebody may have made a key beside the invitation: whoever let the device in gives it.
    for _ in 0..<2 {
      fresh.giveFiles(to: host)
      try host.exchange(at: world.now)
      host.giveFiles(to: fresh)
      try fresh.exchange(at: world.now)
    }
    return true
  }
}
