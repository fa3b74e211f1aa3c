import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import InlineExecution

/// Whether recovery words lead to everything, and replaced ones to nothing new (O16, O9).
struct WordsLead {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func check(_ members: [SimDevice]) throws {
    guard let first = members.first(where: { !$0.isOldBuild }) else { return }
    let membership = try first.membership()
    let log = try PeopleLog(of: first, in: world)
    guard log.isWhole else { return }
    for person in membership.people.map(\.id) {
      guard let keys = membership.recovery.recoveryKeys(of: person),
        let root = world.sheets.root(of: person, box: keys.box)
      else { continue }
      try keysAreSealed(to: root, of: person, log, on: first)
      for way in [Plan.Way.folder, .relay] {
        try recover(person, with: root, by: way, members)
      }
    }
  }

  // MARK: Keys

  /// Every key made by somebody who knew of words that hold is sealed to them, and to none that
  /// they had replaced.
  ///
  /// A device that went back in time knows what it says to have seen, and no more.
  private func keysAreSealed(
    to root: RecoveryRoot, of person: PersonID, _ log: PeopleLog, on device: SimDevice
  ) throws {
    let group = try device.group()
    let naming = log.entries.indices.last { place in
      log.entries[place].isLive && box(log.entries[place].operation) == root.publicKeys.box
    }
    guard let naming else { return }
    for place in log.entries.indices
    where log.entries[place].isLive && log.entries[place].stated.covers(log.entries[naming].dot) {
      guard case .epoch(let grant) = log.entries[place].operation,
        log.standing(before: place).roles[person] != nil
      else { continue }
      SimProbe.keysForWords.hit()
      let wrap = grant.recovery.first { $0.recipient == person }
      let key = wrap.flatMap {
        try? root.openEpochKey(
          $0.sealed, expectingID: grant.epoch, groupID: group.bytes, zoneID: grant.zone.bytes)
      }
      guard try key != nil || !heldThen(root, of: person, place, log, on: device) else {
        throw world.fail(
          .backup, device,
          "the key of \(log.entries[place].dot) is not sealed to the words of "
            + "\(world.devices.first { $0.person == person }?.name ?? "somebody"), of which its "
            + "maker knew")
      }
      for other in world.sheets.all(of: person) where other !== root {
        let opened = grant.recovery.contains { wrap in
          (try? other.openSealed(wrap.sealed)) != nil
        }
        guard !opened else {
          throw world.fail(
            .keys, device, "words that were replaced open the key of \(log.entries[place].dot)")
        }
      }
    }
  }

  /// Whether words held in the eyes of the maker of a key, by what it had seen of the members' log.
  ///
  /// It may have taken their person, or the device that named them, for gone or waiting, by what
  /// was overruled or confirmed later: the next key leads the words to this one, as the way back
  /// shows.
  private func heldThen(
    _ root: RecoveryRoot, of person: PersonID, _ place: Int, _ log: PeopleLog, on device: SimDevice
  ) throws -> Bool {
    let entry = log.entries[place]
    let seen = entry.stated.joined(with: Frontier([(entry.dot.author, entry.dot.sequence)]))
    let membership = try device.membership(seenBy: seen)
    return membership.recovery.recoveryKeys(of: person)?.box == root.publicKeys.box
      && membership.people.contains { $0.id == person }
  }

  /// The key that an operation names as that of words.
  private func box(_ operation: ControlOperation) -> [UInt8]? {
    switch operation {
    case .setRecovery(let keys), .rotateRecovery(let keys, _): keys.box
    default: nil
    }
  }

  // MARK: The way back

  /// A bare device with the words comes to the present by one way alone.
  private func recover(
    _ person: PersonID, with root: RecoveryRoot, by way: Plan.Way, _ members: [SimDevice]
  ) throws {
    // Of the person's own devices, since nobody else renews the capsule.
    let host = members.first { member in
      member.person == person && !member.isOldBuild && member.running != nil
        && (way == .relay ? member.usesRelay : member.usesFolder)
    }
    guard let host, let home = host.home else { return }
    let bare = try world.addFresh(
      named: "\(host.name)From\(way == .relay ? "Relay" : "Folder")", way: way, person: person)
    do {
      // What others gave to the relay since passes through the host.
      for _ in 0..<2 { try host.exchange(at: world.now) }
      if way == .folder { host.giveFiles(to: bare) }
      try bare.start(at: world.now)
      try bare.recover(with: root, revokingOthers: false, at: world.now)
      // Two histories of one log that meet on the bare device are proven by one, and taken by both.
      for device in [bare, host, bare] {
        if way == .folder { (device === bare ? host : bare).giveFiles(to: device) }
        try device.exchange(at: world.now)
        world.net?.outwaitLiveLines()
      }
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(
        .backup, bare,
        "\(host.name)'s words do not lead back: \(error); \(try Settling.state(of: host))")
    }
    try world.throwFound()
    SimProbe.recoveredAtRest.hit()
    guard try bare.agrees(with: host, in: home) else {
      throw world.fail(
        .backup, bare,
        "\(host.name)'s words do not lead to the present by the \(way.rawValue) alone: "
          + "\(try Settling.state(of: bare)); \(try Settling.state(of: host)); "
          + "\(try Settling.difference(bare, host, in: home))")
    }
  }
}
