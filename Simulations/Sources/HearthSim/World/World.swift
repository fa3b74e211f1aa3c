import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync
import Household
import SimDisk

/// A family of devices, their disks, clocks, folders and carriers, and what happens to them.
///
/// Runs a plan: sets the family up without faults, then carries out the steps in order of virtual
/// time, then heals the world and lets it come to rest. Checkers watch all along.
final class World {
  let plan: Plan
  var devices: [SimDevice] = []
  var trace: Trace
  var commands = Commands()
  var ledger = Ledger()
  var checker = Checker()
  /// Set where something that must hold did not; the first one ends the run.
  var violation: Violation?
  /// Virtual milliseconds since 1970.
  private(set) var now: UInt64
  var events = EventHeap<Event>()
  var carriers: [Carriage] = []
  /// Every file that any node ever stored.
  var archive: [FolderFile: [UInt8]] = [:]
  var invitation: InviteSecret?
  /// Those that a plan calls by name.
  var invitations: [String: InviteSecret] = [:]
  /// Images that steps saved, by name.
  var images: [String: DiskImage] = [:]
  /// Whether the device of an image belonged to the household then.
  var imageIsOfMember: [String: Bool] = [:]
  /// When each image was made.
  var imageTimes: [String: UInt64] = [:]
  /// The recovery words of those who have some.
  let sheets = Sheets()
  /// When and by which invitation each device joined last.
  var joins: [Int: (at: UInt64, words: [String])] = [:]
  /// What the inviting device had of the household's records when it made an invitation under the
  /// rule that newcomers read from their joining on, by the invitation's id.
  var closedByInvitation: [[UInt8]: Set<Identifier>] = [:]
  /// The same for each device that came by such an invitation, and by no other.
  var closedTo: [Int: Set<Identifier>] = [:]
  /// For which devices somebody waits to put a forged file beside the next one, and of what kind.
  var ambushes: [Int: String] = [:]
  /// What no honest program made; some of it is passed on by honest ones, unread.
  var forged: Set<Identifier> = []
  /// What members with changed programs claimed to have seen, and what they wrote over.
  var lies: [Lie] = []
  /// What they wrote, in files that may have reached others.
  var hostileChanges: [Dot: Change] = [:]
  /// The devices that turned hostile, in that order.
  var hostile: [SimDevice] = []
  /// Whether the plan has members with changed programs.
  private(set) lazy var hasHostile = plan.steps.contains { $0.verb == "hostile" }
  /// The most work that one exchange did.
  var greatestCost = Cost.Amount()
  /// The anchors of the same instants.
  var anchors: [String: [UInt8]] = [:]
  var carrierRules: Plan.Carrier
  var isHealed = false
  /// Devices that were put back without any sign of it, by a copy or a disk that lied, and have
  /// not synced since.
  var unaware: Set<Int> = []
  /// Devices that were ever put back so; on a folder of their own nothing ever tells them.
  var putBackUnnoticed: Set<Int> = []
  /// Whether a trusted member's snapshot misquotes the end of somebody's log.
  var isMisquoted = false
  /// How often each refusal was told, by device and code.
  var refused: [String: Int] = [:]
  /// How many operations each disk had done when the family was set up, and at the plan's end.
  private(set) var operations: (ready: [UInt64], end: [UInt64]) = ([], [])
  /// At which operation of its next start a device loses power once more.
  var cutsInRecovery: [Int: UInt64] = [:]
  /// The most operations that one start took.
  var startOperations: UInt64 = 0
  /// What each device knew of each author at the end, while it still ran.
  private(set) var knowledge = Knowledge()
  /// The members' log as each device has it, after a violation; empty unless lines were kept.
  private(set) var membersLines: [Trace.Line] = []
  /// The relay and the lines to it; nil where the plan has none.
  private(set) var net: SimNet?
  /// How many entries devices gave to the relay.
  var relayStores = 0
  var relayImages: [String: DiskImage] = [:]
  /// Whether the relay stays off until a step starts it.
  var isRelayStopped = false
  /// Whether the plan's steps have begun: set-up has no faults.
  private(set) var isRunning = false
  /// What was found where nothing can be thrown.
  var found: Violation?
  /// Devices whose disk has lied about a sync: what they promised since may be gone.
  var liars: Set<Int> = []

  enum Event {
    case step(Int)
    case carry(Int)
    case repair(device: Int, file: FolderFile)
    case boot(device: Int)
    case bootRelay
  }

  /// The way from one copy of the folder to another.
  struct Carriage {
    let from: Int
    let to: Int
    var cursor = 0
    var isUp = true
    var isScheduled = false
    var carried: UInt64 = 0
  }

  init(_ plan: Plan, keepsLines: Bool = false) {
    self.plan = plan
    trace = Trace(keepsLines: keepsLines)
    now = plan.startMilliseconds
    carrierRules = plan.carrier
  }

  func device(named name: String) -> SimDevice? { devices.first { $0.name == name } }

  // MARK: The loop

  /// Runs the plan to its end, or to the first violation.
  func run() -> RunResult {
    do {
      try setUp()
      operations.ready = devices.map(\.disk.operations)
      isRunning = true
      for (index, step) in plan.steps.enumerated() {
        events.push(.step(index), at: plan.startMilliseconds + step.atMilliseconds)
      }
      try runEvents(until: nil)
      operations.end = devices.map(\.disk.operations)
      try Settling(self).run()
      trace.note(
        "cost", at: now, 0,
        "most work of one exchange: \(greatestCost.operations) operations, "
          + "\(greatestCost.stateBytes) bytes of records, \(greatestCost.heldBytes) decoded bytes "
          + "at once")
    } catch let thrown as Violation {
      violation = found ?? thrown
    } catch {
      violation =
        found
        ?? Violation(
          oracle: .expectation, time: now, device: nil, text: "the world itself failed: \(error)")
    }
    if let violation { trace.note("violation", at: now, 0, "\(violation)") }
    if trace.keepsLines {
      knowledge = Knowledge(of: devices)
      if violation != nil { membersLines = MembersReport(of: self).lines }
    }
    for device in devices { device.drop() }
    return RunResult(self)
  }

  /// Carries out events up to a time, or until there are none.
  func runEvents(until end: UInt64?) throws {
    while let time = events.nextTime, end.map({ time <= $0 }) ?? true, let next = events.pop() {
      now = max(now, time)
      SimDisk.setTime(milliseconds: Int64(clamping: now))
      for device in devices { device.folder.now = now }
      try handle(next.event)
    }
    if let end { now = max(now, end) }
  }

  private func handle(_ event: Event) throws {
    switch event {
    case .step(let index): try perform(plan.steps[index])
    case .carry(let carriage): carry(carriage)
    case .repair(let index, let file):
      if let bytes = archive[file] { devices[index].folder.mend(file, bytes) }
    case .boot(let index): try boot(devices[index])
    case .bootRelay: try bootRelay()
    }
    try throwFound()
  }

  // MARK: Setting up

  /// Everybody founds or joins the household in a world without faults.
  private func setUp() throws {
    carrierRules = Plan.Carrier()
    carrierRules.isShared = plan.carrier.isShared
    net = try plan.relay.map { try SimNet(self, rules: $0) }
    for (index, device) in plan.devices.enumerated() {
      let disk = SimDisk(
        seed: Chance.mix(plan.seed ^ UInt64(index) << 32),
        profile: plan.disks.profile == "adversarial" ? .adversarial : .ordered)
      let person = device.of.flatMap { self.device(named: $0)?.person }
      add(
        try SimDevice(index: index, device: device, person: person, seed: plan.seed, disk: disk))
    }
    for device in devices {
      commands.people[device.name] = device.person
      try device.start(at: now)
    }
    guard let founder = devices.first else { return }
    try founder.found(at: now)
    invitation = try founder.invite(uses: 1_000, at: now)
    try settle([founder])
    for (device, declared) in zip(devices, plan.devices).dropFirst() where !declared.joinsLater {
      guard let invitation else { break }
      try device.join(try invitationToOneself(declared) ?? invitation, at: now)
      try settle([device])
    }
    try settle(devices.filter { $0.home != nil })
    try settle(devices.filter { $0.home != nil })
    carrierRules = plan.carrier
    trace.note("ready", at: now, UInt64(devices.count), "\(devices.count) devices")
  }

  /// The invitation by which a person's further device joins; nil for a person's first.
  private func invitationToOneself(_ declared: Plan.Device) throws -> InviteSecret? {
    guard let first = declared.of.flatMap({ device(named: $0) }), first.home != nil else {
      return nil
    }
    let secret = try first.invite(uses: 1, person: first.person, at: now)
    try settle([first])
    return secret
  }

  /// Everybody named syncs, and everything is carried.
  private func settle(_ some: [SimDevice]) throws {
    for device in some {
      if let failure = try device.sync(at: now).failure {
        throw StepFailure("a world without faults has one: \(failure)")
      }
      try checker.readPublished(in: self)
      try throwFound()
      try runEvents(until: now + 1)
      for index in carriers.indices { carryAll(index) }
      now += 1_000
    }
  }

  func add(_ device: SimDevice) {
    let index = device.index
    device.net = net
    device.sheets = sheets
    device.lieDots = { [unowned self] in lies.map(\.dot) }
    if device.usesFolder { addCarriers(of: device) }
    devices.append(device)
    device.folder.now = now
    device.folder.didPublish = { [unowned self] file, bytes in
      published(file, bytes, by: index)
    }
    device.folder.willRemove = { [unowned self, unowned device] file in
      removing(file, by: device)
    }
  }

  /// The ways between a device's copy of the folder and the others'.
  func addCarriers(of device: SimDevice) {
    for other in devices where other.usesFolder && other.index != device.index {
      let isThere = carriers.contains { $0.from == device.index && $0.to == other.index }
      guard !isThere else { continue }
      carriers.append(Carriage(from: other.index, to: device.index))
      carriers.append(Carriage(from: device.index, to: other.index))
    }
  }

  private func published(_ file: FolderFile, _ bytes: [UInt8], by index: Int) {
    archive[file] = bytes
    checker.published(file, bytes, by: devices[index], in: self)
    trace.note(
      "publish", at: now, device: index, file.key,
      "stores \(Words.file(file)), \(bytes.count) bytes")
    wakeCarriers(from: index)
  }

  // MARK: Violations

  func fail(_ oracle: Oracle, _ device: SimDevice?, _ text: String) -> Violation {
    Violation(oracle: oracle, time: now, device: device?.name, text: text)
  }
}

/// Short words for traces.
enum Words {
  static func file(_ file: FolderFile) -> String {
    switch file {
    case .segment(let name):
      "\(name.authorTag.hex.prefix(4)) \(name.first)…\(name.last)"
    case .blob(let name): "\(name.kind.rawValue) \(name.digest.hex.prefix(6))"
    }
  }
}
