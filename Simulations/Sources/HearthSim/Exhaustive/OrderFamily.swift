import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import Household
import InlineExecution
import SimDisk

/// Six installations that belong to one database, founded once and put back for each case.
///
/// Either they are members of one household, or devices of one person with a private database.
/// No folder lies between them: segments are handed over in whatever order a case says.
final class OrderFamily {
  /// Midnight of Wednesday, 25 March 2026.
  static let start: UInt64 = 1_774_396_800_000

  let home: ZoneID
  /// Ada, Ben and Cleo.
  let writers: [SimDevice]
  /// An administrator who has written nothing of a case.
  let reader: SimDevice
  /// A program of an earlier version.
  let old: SimDevice
  /// A member whose household is still empty.
  let newcomer: SimDevice
  /// Two who were members and were removed; none in a private database.
  ///
  /// Only such people can be merged into others.
  let ghosts: [SimDevice]
  private let founded: [DiskImage]

  private var all: [SimDevice] { writers + [reader, old, newcomer] }
  /// Those who have the household's changes.
  private var settled: [SimDevice] { writers + [reader, old] }

  /// - Parameter isPrivate: whether all are devices of one person.
  init(isPrivate: Bool = false) throws {
    let devices = try OrderFamily.devices(ofOnePerson: isPrivate)
    for device in devices { try device.start(at: OrderFamily.start) }
    try devices[0].found(at: OrderFamily.start)
    guard let home = devices[0].home else { throw StepFailure("the household has no zone") }
    self.home = home
    (writers, reader, old, newcomer) = (Array(devices[..<3]), devices[3], devices[4], devices[5])
    ghosts = Array(devices[6...])
    let roles: [Role] = [.admin, .member, .admin, .member, .member, .member, .member]
    for (device, role) in zip(devices.dropFirst(), roles) {
      try OrderFamily.admit(device, as: isPrivate ? .owner : role, by: devices[0], to: home)
    }
    let control = try devices[0].engine().controlZone(of: devices[0].engine().zone(home).group).id
    for _ in 0..<2 {
      try OrderFamily.exchange(control, among: devices)
      try OrderFamily.exchange(home, among: Array(devices[..<5] + devices[6...]))
    }
    try OrderFamily.remove(ghosts, from: home, by: devices[0])
    for _ in 0..<2 { try OrderFamily.exchange(control, among: Array(devices[..<6])) }
    for ghost in ghosts { try ghost.close() }
    founded = try devices[..<6].map { device in
      try device.close()
      return device.disk.image()
    }
    try restore()
  }

  private static func devices(ofOnePerson isOnePerson: Bool) throws -> [SimDevice] {
    let names = ["Ada", "Ben", "Cleo", "Dan", "Otto", "Eve"] + (isOnePerson ? [] : ["Fay", "Gus"])
    var devices: [SimDevice] = []
    for (index, name) in names.enumerated() {
      let declared = Plan.Device(name: name, build: name == "Otto" ? "old" : "current")
      let person = isOnePerson ? devices.first?.person : nil
      let disk = SimDisk(seed: UInt64(index))
      devices.append(
        try SimDevice(index: index, device: declared, person: person, seed: 1, disk: disk))
    }
    return devices
  }

  private static func remove(
    _ ghosts: [SimDevice], from home: ZoneID, by owner: SimDevice
  ) throws {
    let group = try owner.engine().zone(home).group
    for ghost in ghosts {
      owner.takeTurn()
      let person = ghost.person
      try owner.withEngine { engine in
        try MemberChanges.remove(person, from: group, in: &engine, nowMilliseconds: start)
      }
    }
  }

  private static func admit(
    _ device: SimDevice, as role: Role, by owner: SimDevice, to home: ZoneID
  ) throws {
    owner.takeTurn()
    let isOwnDevice = device.person == owner.person
    let made = try owner.withEngine { engine in
      try InvitationMaking.invite(
        to: engine.zone(home).group, named: "home", role: role,
        person: isOwnDevice ? device.person : nil, maximumUses: 1,
        expiresMilliseconds: start + 86_400_000, in: &engine, nowMilliseconds: start)
    }
    let control = try owner.engine().controlZone(of: owner.engine().zone(home).group).id
    let log = try sealed(control, on: owner)
    device.takeTurn()
    let (person, personName, name) = (
      device.person, isOwnDevice ? owner.name : device.name, device.name
    )
    try device.withEngine { engine in
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &engine, nowMilliseconds: start)
      _ = try engine.receive(log, in: control, nowMilliseconds: start)
      // The first change of all names the owner, whose further segments then can be opened.
      _ = try engine.receive([], in: control, nowMilliseconds: start)
      try JoiningByInvitation.finish(
        opened, with: made.secret, person: person, personName: personName, deviceName: name,
        in: &engine, nowMilliseconds: start)
    }
    device.home = home
    if device.name != "Eve", !isOwnDevice { try device.recordSelf(at: start) }
  }

  /// All segments that a device has of a zone, the newest changes sealed first.
  private static func sealed(_ zone: ZoneID, on device: SimDevice) throws -> [[UInt8]] {
    device.takeTurn()
    return try device.withEngine { engine in
      _ = try Sealing.seal(zone, in: &engine)
      let store = engine.store
      return try store.log.segments(of: zone).compactMap {
        try store.log.bytes(of: $0.digest, in: zone)
      }
    }
  }

  private static func exchange(_ zone: ZoneID, among devices: [SimDevice]) throws {
    let segments = try devices.flatMap { try sealed(zone, on: $0) }
    for device in devices {
      try device.withEngine { engine in
        _ = try engine.receive(segments, in: zone, nowMilliseconds: start)
      }
    }
  }

  // MARK: Between cases

  /// Puts everybody back to the founded household.
  func restore() throws {
    for (device, image) in zip(all, founded) {
      device.isOldBuild = device === old
      try restore(device, image)
    }
  }

  /// Puts a device back to an image of its disk and starts it.
  func restore(_ device: SimDevice, _ image: DiskImage) throws {
    device.drop()
    device.disk.restore(image)
    try device.start(at: OrderFamily.start)
  }

  /// Lets everybody have what everybody wrote so far.
  func settle() throws { try OrderFamily.exchange(home, among: settled) }

  // MARK: Deliveries

  /// Ends a transaction that is to leave nothing behind.
  private struct Undo: Error {}

  /// Seals what a writer has just written.
  func seal(_ written: Written, by device: SimDevice) throws -> [UInt8] {
    device.takeTurn()
    let home = home
    return try device.withEngine { engine in
      _ = try Sealing.seal(home, in: &engine)
      let dot = written.version.dot
      let made = try engine.store.log.segments(of: home).first {
        $0.author == dot.author && ($0.first...$0.last).contains(dot.sequence)
      }
      guard let bytes = try made.flatMap({ try engine.store.log.bytes(of: $0.digest, in: home) })
      else { throw StepFailure("\(device.name) has no segment of what it wrote") }
      return bytes
    }
  }

  /// Seals everything that a device has written.
  func sealAll(on device: SimDevice) throws {
    device.takeTurn()
    let home = home
    try device.withEngine { engine in _ = try Sealing.seal(home, in: &engine) }
  }

  /// Hands segments over in one go; how many changes were applied, and how many segments wait.
  @discardableResult
  func deliver(
    _ segments: [[UInt8]], to device: SimDevice, at time: UInt64
  ) throws -> (applied: Int, waiting: Int) {
    let home = home
    let report = try device.withEngine { engine in
      try engine.receive(segments, in: home, nowMilliseconds: time)
    }
    if let refused = report.refused.first { throw StepFailure("refuses one: \(refused.reason)") }
    guard report.forks.isEmpty else { throw StepFailure("takes one for a second history") }
    return (report.applied, report.waiting.values.reduce(0, +))
  }

  func frontier(of device: SimDevice) throws -> Frontier {
    try device.engine().zone(home).frontier
  }

  func digest(of device: SimDevice) throws -> [UInt8] {
    let engine = try device.engine()
    return try engine.store.read { try engine.digest(of: home) }
  }

  /// Runs a body on a device whose database and memory are put back afterwards.
  ///
  /// The body runs in one transaction that is undone, which costs a fraction of another image.
  func inScratch<Result>(on device: SimDevice, _ body: () throws -> Result) throws -> Result {
    let saved = try device.engine()
    var outcome: Swift.Result<Result, any Error>?
    do {
      try saved.store.transaction {
        outcome = Swift.Result { try body() }
        throw Undo()
      }
    } catch is Undo {}
    try device.withEngine { $0 = saved }
    guard let outcome else { throw StepFailure("\(device.name) did not run what it was given") }
    return try outcome.get()
  }
}
