import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import Household
import SimDisk

/// Why a step could not be carried out; expected under faults, counted and told in the trace.
struct StepFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// One installation of Hearth in the simulated world: the production engine and store on a
/// simulated disk, with a simulated folder and clock.
///
/// It does what the shell of the product does and nothing cleverer: opens, recognises itself,
/// writes, exchanges, closes. Losing power drops everything but the disk.
final class SimDevice {
  let index: Int
  let name: String
  /// Which program it runs; an update changes it while the device is off.
  var isOldBuild: Bool
  let person: PersonID
  let identity: DeviceIdentity
  var disk: SimDisk
  let folder = SimFolder()
  var clock = SimClock()
  /// Nil while the device is off.
  private(set) var running: Running?
  /// Whether a person has stopped the device until a step starts it again.
  var isStopped = false
  /// Whether its database is gone for good.
  var isLost = false
  /// Whether its copy of the folder is gone with it.
  var isDestroyed = false
  /// The household's data zone, once this device is in it.
  var home: ZoneID?
  /// The household that was asked to let this device in.
  var asked: AskedJoin?
  /// What was asked and answered, with the answer that was taken.
  var answered: [(asked: AskedJoin, answer: [UInt8])] = []
  /// What was known of the members where each invitation was made that this device opened: it
  /// has been given the keys of then.
  var openedInvitations: [Frontier] = []
  /// Answers to those whom this device let in.
  var answers: [(answer: NamedBlob, access: MailboxAccess, device: DeviceID)] = []
  /// How it reaches the others.
  var way: Plan.Way
  /// The world's relay and the lines to it; nil where there is none.
  var net: SimNet?
  /// Where its program finds the place of its person's capsule.
  var sheets: Sheets?
  /// The relay as its program sees it; gone with the program.
  var relay: SimRelayWay?
  /// How far the logs of mailboxes are known, as the program has kept it.
  var knownLogs: [Identifier: RelayMailboxIndex] = [:]
  /// Those who do not belong to the household any more, as its program knew when it last exchanged.
  var leftOut: Set<DeviceID> = []
  /// How many bytes of files it has taken from the relay.
  var fetchedAtRelay = 0
  /// The changes that claim what their authors cannot have seen.
  var lieDots: () -> [Dot] = { [] }
  /// Whether a way failed in the last round.
  var hasFailed = false
  /// How often its program told of a relay that shows another log.
  var relayNotices = 0
  /// Whether the relay let it into none or not all of its mailboxes when it last asked.
  var isShutOut = false
  /// Zones of which it sees no more than there was, at the relay.
  var frozenAtRelay: [Identifier: TransportListing] = [:]
  /// How often the device was copied or put back; part of its anchor's identity.
  var copies: UInt64 = 0
  private let seed: UInt64
  private var turns: UInt64 = 0

  /// What exists only while the device is on.
  struct Running {
    let store: ReplicaStore
    var engine: Engine<ReplicaStore>
  }

  /// - Parameter person: whose further device it is; a new person's if nil.
  init(
    index: Int, device: Plan.Device, person: PersonID? = nil, seed: UInt64, disk: SimDisk
  ) throws {
    self.index = index
    name = device.name
    isOldBuild = device.build == "old"
    way = device.way
    self.seed = seed
    self.disk = disk
    SimDevice.seedChance(seed, UInt64(index), 0)
    // An old program draws a person's id at random.
    let drawn = try Identifier.random()
    let own = try DeviceIdentity.generate().0
    let made = personID(madeBy: Identifier(bytes: own.publicKeys.deviceID) ?? .zero)
    self.person = person ?? (device.build == "old" ? drawn : made)
    identity = own
  }

  /// A device that begins as an exact copy of another: same keys, same data, another disk.
  init(index: Int, copying other: SimDevice, name: String, disk: SimDisk) {
    self.index = index
    self.name = name
    isOldBuild = other.isOldBuild
    way = other.way
    net = other.net
    seed = other.seed
    self.disk = disk
    person = other.person
    identity = other.identity
    home = other.home
    clock = other.clock
    copies = other.copies + 1
  }

  /// Before each step of a device its own stream of chance is put in place, so that what other
  /// devices do shifts nothing here.
  func takeTurn() {
    turns += 1
    SimDevice.seedChance(seed, UInt64(index), turns)
  }

  private static func seedChance(_ seed: UInt64, _ device: UInt64, _ turn: UInt64) {
    var chance = Chance(seed, domain: "device", device, turn)
    #if HEARTH_SIMULATION
      DeterministicRandom.install(seed: chance.next())
    #endif
    SimDisk.seedSQLite(chance.next())
  }

  // MARK: On and off

  /// Starts the program: opens the database and finds out whether it is still itself.
  func start(at time: UInt64) throws {
    takeTurn()
    let now = clock.wall(at: time)
    let store = try ReplicaStore(
      path: disk.path(for: "hearth.sqlite"),
      schema: isOldBuild ? OldBuild.schema : HouseholdSchema.all + Tally.schema,
      projections: isOldBuild ? [] : [HouseholdProjection()], vfs: SimDisk.vfsName)
    if try !store.facts.has(Incarnations.currentFact) {
      let first = try Incarnations.first(of: identity)
      try store.transaction {
        try store.facts.set(Incarnations.currentFact, to: first)
      }
    }
    guard let incarnation = try store.facts.value(of: Incarnations.currentFact) else {
      throw StoreError(.corrupt, "the incarnation is missing")
    }
    var engine = try Engine(
      store: store, identity: identity, incarnation: incarnation,
      policy: HouseholdSchema.rolePolicy, nowMilliseconds: now)
    if case .moved(let reason) = try Anchor.judge(anchor, for: engine) {
      try NewIncarnation.begin(reason: reason, in: &engine, nowMilliseconds: now)
      try Anchor.drop(anchor, for: engine)
    }
    running = Running(store: store, engine: engine)
  }

  /// After a start from a copy that is older than the household: the device is in none again.
  func forgetUnknownHome() {
    guard let home, let engine = running?.engine, !engine.zones.contains(where: { $0.id == home })
    else { return }
    self.home = nil
  }

  /// Ends the program in good order.
  func close() throws {
    defer { running = nil }
    hangUp(tellsRelay: true)
    try running?.store.close()
  }

  /// The program is gone at once; what it had in memory is lost.
  func drop() {
    hangUp(tellsRelay: !disk.isDown)
    // Closing handles of a disk that is down touches nothing.
    try? running?.store.close()
    running = nil
  }

  var anchor: SimAnchorFile { SimAnchorFile(disk: disk, copies: copies) }

  /// Runs a body on the engine; the device counts as off to everybody else meanwhile.
  func withEngine<Result>(_ body: (inout Engine<ReplicaStore>) throws -> Result) throws -> Result {
    guard var current = running else { throw StepFailure("\(name) is off") }
    running = nil
    defer { running = current }
    return try body(&current.engine)
  }

  func engine() throws -> Engine<ReplicaStore> {
    guard let engine = running?.engine else { throw StepFailure("\(name) is off") }
    return engine
  }
}

/// A program of an earlier version: it has neither skips nor notes nor tags.
enum OldBuild {
  static let schema: [RecordSchema] =
    HouseholdSchema.all.filter { $0.id != HouseholdSchema.skip }
    .map { record in
      RecordSchema(
        record.id, record.name, record.fields.filter { $0.name != "note" && $0.name != "tags" })
    } + Tally.oldSchema
}

/// The anchor on a simulated disk.
struct SimAnchorFile: AnchorFile {
  let disk: SimDisk
  let copies: UInt64
  private static let name = "anchor"

  func read(atMost limit: Int) throws -> [UInt8]? {
    guard let bytes = try disk.read(SimAnchorFile.name), bytes.count <= limit else { return nil }
    return bytes
  }

  func replace(_ bytes: [UInt8]) throws {
    try disk.write(bytes, to: SimAnchorFile.name)
  }

  /// The copy's number stands for inode and change time, which no copy keeps.
  func identity() throws -> [UInt8] {
    var writer = ByteWriter(capacity: 8)
    writer.fixed64(copies)
    return writer.bytes
  }
}
