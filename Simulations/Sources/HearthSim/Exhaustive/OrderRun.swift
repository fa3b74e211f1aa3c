import HearthCRDT
import HearthStore
import HearthSync
import Household
import SimDisk

/// Writes the changes of one case and delivers them in every order.
///
/// Every node that lacks changes gets them in every order there is, one segment at a time, those
/// whose causes are missing included; after each delivery the state is compared with that of
/// whoever else knew the same changes, and in the end with what the case expects.
struct OrderRun {
  let family: OrderFamily
  let story: OrderCase
  /// The changes as they were written.
  private(set) var changes: [OrderedChange] = []
  private(set) var orders = 0
  private(set) var deliveries = 0
  private let world: World
  private let askedAt: UInt64
  /// What was found for each knowledge, and in which order.
  private var known: [Frontier: Found] = [:]
  /// What everybody must show in the end.
  private var final: Shown?
  /// Snapshots of the reader, by what it knew.
  private var snapshots: [Frontier: [[UInt8]]] = [:]

  private struct Found {
    let digest: [UInt8]
    let by: String
  }

  init(_ story: OrderCase, in family: OrderFamily) throws {
    self.story = story
    self.family = family
    askedAt = OrderFamily.start + (try Step("\(story.asked) world: expect").atMilliseconds)
    var plan = Plan()
    plan.startMilliseconds = askedAt
    world = World(plan)
    world.devices = family.writers + [family.reader]
    for device in world.devices + family.ghosts {
      world.commands.people[device.name] = device.person
    }
  }

  /// Runs the case.
  ///
  /// - Throws: `OrderFailure`.
  mutating func run() throws {
    do {
      try family.restore()
      try write()
    } catch {
      throw OrderFailure(device: "the family", order: "", text: "cannot write it: \(error)")
    }
    for device in [family.reader] + family.writers { try everyOrder(on: device) }
    if story.isMixed { try everyOrder(on: family.old) }
    try newcomers()
    try betweenDeliveries()
    for device in [family.reader, family.old] { try withRestarts(device) }
  }

  // MARK: Writing

  private mutating func write() throws {
    for line in story.before {
      _ = try perform(try Step(line))
      try family.settle()
    }
    guard story.changes.count <= OrderCase.maximumChanges else {
      throw StepFailure("a case has at most \(OrderCase.maximumChanges) changes")
    }
    for line in story.changes { try write(line) }
    // What others have seen is sealed in its author's own log.
    for device in family.writers where story.isOverlapping { try family.sealAll(on: device) }
  }

  private mutating func write(_ line: String) throws {
    var step = try Step(line)
    let names = step.value("knows")?.split(separator: ",").compactMap { Int($0) } ?? []
    step.words.removeAll { $0.hasPrefix("knows=") }
    guard let writer = family.writers.firstIndex(where: { $0.name == step.device }),
      names.allSatisfy({ (1...changes.count).contains($0) })
    else { throw StepFailure("\(line): Ada, Ben or Cleo write, and know what is above") }
    var knows = Set(names.flatMap { changes[$0 - 1].knows })
    let device = family.writers[writer]
    let time = OrderFamily.start + step.atMilliseconds
    for place in knows.sorted() where changes[place].writer != writer {
      try family.deliver([changes[place].segment], to: device, at: time)
    }
    for place in changes.indices where changes[place].writer == writer {
      knows.formUnion(changes[place].knows)
    }
    let written = try perform(step)
    // The program ends before it has published: what it wrote must not live in memory alone.
    try device.close()
    try device.start(at: time)
    let segment =
      try story.isOverlapping
      ? family.inScratch(on: device) { try family.seal(written, by: device) }
      : family.seal(written, by: device)
    changes.append(
      OrderedChange(
        line: line, writer: writer, knows: knows.union([changes.count]), segment: segment))
  }

  private func perform(_ step: Step) throws -> Written {
    guard let device = world.device(named: step.device) else {
      throw StepFailure("there is no \(step.device)")
    }
    let time = OrderFamily.start + step.atMilliseconds
    return step.verb == "tally"
      ? try device.writeTally(step, at: time)
      : try world.commands.perform(step, on: device, at: time)
  }

  /// Every operation of the case, as its segments hold it.
  func operations() throws -> [Operation] {
    let engine = try family.reader.engine()
    return try changes.flatMap { change in
      try LogReader(engine: engine).changes(inSegment: change.segment, of: family.home)?
        .flatMap(\.change.operations) ?? []
    }
  }

  // MARK: Every order

  /// The changes that a device does not have yet.
  private func lacked(by device: SimDevice) -> [Int] {
    guard let writer = family.writers.firstIndex(where: { $0 === device }) else {
      return Array(changes.indices)
    }
    let has = changes.filter { $0.writer == writer }.reduce(into: Set<Int>()) {
      $0.formUnion($1.knows)
    }
    return changes.indices.filter { !has.contains($0) }
  }

  private mutating func everyOrder(on device: SimDevice) throws {
    var isFirst = true
    for order in Permutations(of: lacked(by: device)) {
      try OrderRun.told(device, order) {
        try family.inScratch(on: device) {
          for place in order { try deliver(place, to: device, order) }
          try complete(device, isFirst: isFirst)
        }
      }
      orders += 1
      isFirst = false
    }
  }

  /// Adds device and order to whatever is thrown.
  private static func told<Result>(
    _ device: SimDevice, _ order: [Int], _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let failure as OrderFailure {
      throw failure
    } catch {
      throw OrderFailure(device: device.name, order: OrderRun.words(order), text: "\(error)")
    }
  }

  private static func words(_ order: [Int]) -> String {
    order.map { "\($0 + 1)" }.joined(separator: " ")
  }

  private mutating func deliver(_ place: Int, to device: SimDevice, _ order: [Int]) throws {
    try family.deliver([changes[place].segment], to: device, at: askedAt)
    deliveries += 1
    try compareKnown(device, order)
    guard device === family.reader else { return }
    let frontier = try family.frontier(of: device)
    guard snapshots[frontier] == nil else { return }
    device.takeTurn()
    let home = family.home
    snapshots[frontier] = try device.withEngine { try SnapshotMaking.snapshot(of: home, in: $0) }
  }

  /// Who knows the same has the same, whoever it is and whatever came first.
  private mutating func compareKnown(_ device: SimDevice, _ order: [Int]) throws {
    let frontier = try family.frontier(of: device)
    let digest = try family.digest(of: device)
    guard let found = known[frontier] else {
      known[frontier] = Found(digest: digest, by: "\(device.name), given \(OrderRun.words(order))")
      return
    }
    guard found.digest == digest else {
      throw StepFailure("has another state than \(found.by), with the same changes")
    }
  }

  /// Everything was delivered: all is applied, all is shown, and again it changes nothing.
  private mutating func complete(_ device: SimDevice, isFirst: Bool) throws {
    let knows = changes.map(\.segment)
    try compareFinal(device, isFirst: isFirst)
    let before = try family.digest(of: device)
    let again = try family.deliver(knows, to: device, at: askedAt)
    guard again.applied == 0, again.waiting == 0 else {
      throw StepFailure("applies \(again.applied) delivered again, \(again.waiting) wait for ever")
    }
    guard try family.digest(of: device) == before else {
      throw StepFailure("has another state after everything was delivered again")
    }
    guard isFirst else { return }
    try rebuild(device)
    guard !device.isOldBuild else { return }
    try compareFinal(device, isFirst: false)
    let stale = try device.engine().store.staleProjections(of: family.home)
    guard stale.isEmpty else {
      throw StepFailure("would show others folded anew: \(stale.joined(separator: " "))")
    }
  }

  /// Records that are built anew from the log are the same.
  private func rebuild(_ device: SimDevice) throws {
    let (home, time, before) = (family.home, askedAt, try family.digest(of: device))
    try device.withEngine { try Rebuild.rebuild(home, in: &$0, nowMilliseconds: time) }
    guard try family.digest(of: device) == before else {
      throw StepFailure("has another state after its records were built anew")
    }
  }

  private mutating func compareFinal(_ device: SimDevice, isFirst: Bool) throws {
    let waiting = try device.engine().store.pending.segments(in: family.home).count
    guard waiting == 0 else { throw StepFailure("lets \(waiting) segments wait for ever") }
    guard !device.isOldBuild else { return }
    let shown = try shown(on: device)
    if isFirst { try ask(story.expects, device) }
    guard let final else {
      final = shown
      return
    }
    if let text = shown.difference(from: final) { throw StepFailure(text) }
  }

  private func shown(on device: SimDevice) throws -> Shown {
    try Shown(device, people: world.devices.map(\.person), at: askedAt)
  }

  private func ask(_ questions: [String], _ device: SimDevice) throws {
    for question in questions {
      let words = try Step("0d 00:00 world: expect \(question)").words
      guard let what = words.first, let wanted = words.last, words.count > 1 else {
        throw StepFailure("is asked without an answer: \(question)")
      }
      let subject = Array(words.dropFirst().dropLast())
      let answer =
        what == "tally"
        ? try Tally.words(subject.first ?? "", on: device)
        : try world.askPerson(what, subject, device) ?? world.askChore(what, subject, device)
          ?? world.askChallenges(what, device) ?? world.askDevice(what, subject, device)
      guard let answer else { throw StepFailure("cannot be asked \(question)") }
      guard answer == wanted else {
        throw StepFailure("shows \(answer) where the case expects \(question)")
      }
    }
  }

  // MARK: Snapshots

  /// Who begins with a snapshot of any knowledge and gets the rest ends like everybody.
  private mutating func newcomers() throws {
    let device = family.newcomer
    let all = Array(changes.indices)
    for (frontier, chunks) in snapshots.sorted(by: { $0.value.count < $1.value.count }) {
      let by = known[frontier]?.by ?? ""
      try OrderRun.told(device, all.reversed()) {
        try family.inScratch(on: device) {
          try begin(device, with: chunks, of: frontier, by: by)
          for place in all.reversed() {
            try family.deliver([changes[place].segment], to: device, at: askedAt)
            try compareKnown(device, all.reversed())
          }
          try compareFinal(device, isFirst: false)
        }
      }
      deliveries += all.count
      orders += 1
    }
  }

  private func begin(
    _ device: SimDevice, with chunks: [[UInt8]], of frontier: Frontier, by: String
  ) throws {
    let (home, time) = (family.home, askedAt)
    try device.withEngine { engine in
      try SnapshotLoading.bootstrap(home, from: chunks, in: &engine, nowMilliseconds: time)
    }
    guard try family.frontier(of: device) == frontier,
      try family.digest(of: device) == known[frontier]?.digest
    else { throw StepFailure("has another state than its snapshot: that of \(by)") }
  }

  // MARK: Writing between deliveries

  private struct OwnWrite {
    let digest: [UInt8]
    let shown: Shown
    let by: String
  }

  /// The reader writes at every place of every order: what comes of it depends on what it knew
  /// then, and on nothing else; and another who gets it first of all has the same.
  private mutating func betweenDeliveries() throws {
    guard let line = story.between else { return }
    let step = try Step(line)
    let device = family.reader
    var found: [Frontier: OwnWrite] = [:]
    for order in Permutations(of: Array(changes.indices)) {
      for place in 0...order.count {
        let parts = [order.prefix(place), order.dropFirst(place)].map { OrderRun.words(Array($0)) }
        let name = [parts[0], "(writes)", parts[1]].filter { !$0.isEmpty }.joined(separator: " ")
        do {
          try between(step, order, at: place, on: device, name, &found)
        } catch {
          throw OrderFailure(device: device.name, order: name, text: "\(error)")
        }
        orders += 1
      }
    }
    guard !found.isEmpty else {
      throw OrderFailure(device: device.name, order: "", text: "can never write \(line)")
    }
  }

  private mutating func between(
    _ step: Step, _ order: [Int], at place: Int, on device: SimDevice, _ name: String,
    _ found: inout [Frontier: OwnWrite]
  ) throws {
    var segment: [UInt8]?
    var saw = Frontier()
    let mine = try family.inScratch(on: device) { () -> OwnWrite? in
      for change in order.prefix(place) {
        try family.deliver([changes[change].segment], to: device, at: askedAt)
      }
      saw = try family.frontier(of: device)
      let written: Written
      do {
        written = try perform(step)
      } catch is HouseholdError {
        return nil
      } catch is StepFailure {
        return nil
      }
      for change in order.dropFirst(place) {
        try family.deliver([changes[change].segment], to: device, at: askedAt)
      }
      deliveries += order.count
      try ask(story.expectsBetween, device)
      if found[saw] == nil {
        try rebuild(device)
        segment = try family.seal(written, by: device)
      }
      return OwnWrite(
        digest: try family.digest(of: device), shown: try shown(on: device), by: name)
    }
    guard let mine else { return }
    if let other = found[saw] {
      if let text = mine.shown.difference(from: other.shown) {
        throw StepFailure("\(text), as after \(other.by)")
      }
      guard mine.digest == other.digest else {
        throw StepFailure("has another state than after \(other.by)")
      }
    } else if let segment {
      found[saw] = mine
      try compareTwin(mine, segment, order)
    }
  }

  /// Somebody else gets what the reader wrote before all others.
  private func compareTwin(_ mine: OwnWrite, _ segment: [UInt8], _ order: [Int]) throws {
    let twin = family.writers[2]
    try family.inScratch(on: twin) {
      try family.deliver([segment], to: twin, at: askedAt)
      for change in order.reversed() {
        try family.deliver([changes[change].segment], to: twin, at: askedAt)
      }
      if let text = try shown(on: twin).difference(from: mine.shown) {
        throw StepFailure("is not what \(twin.name) is, who \(text)")
      }
      guard try family.digest(of: twin) == mine.digest else {
        throw StepFailure("has another state than \(twin.name)")
      }
    }
  }

  // MARK: On disks

  /// The program ends after each delivery, so that nothing lives on in memory; an old one is
  /// replaced by the present one after the last.
  private mutating func withRestarts(_ device: SimDevice) throws {
    try device.close()
    let image = device.disk.image()
    let forward = Array(changes.indices)
    for order in [forward, forward.reversed(), Array(forward.dropFirst() + forward.prefix(1))] {
      device.isOldBuild = device === family.old
      try OrderRun.told(device, order) {
        try family.restore(device, image)
        for place in order {
          try family.deliver([changes[place].segment], to: device, at: askedAt)
          try device.close()
          try device.start(at: askedAt)
          try compareKnown(device, order)
        }
        try complete(device, isFirst: false)
        guard device.isOldBuild else { return }
        try device.close()
        device.isOldBuild = false
        try device.start(at: askedAt)
        try compareKnown(device, order)
        try compareFinal(device, isFirst: true)
      }
      orders += 1
      deliveries += order.count
    }
  }
}
