import HearthCRDT
import HearthRelayCore
import HearthRelayProtocol
import HearthStore
import HearthSync
import SimDisk

/// The relay as a part of the world: what happens to it, and what comes of what lies there.
extension World {
  // MARK: What is found on the way

  /// Something that must hold did not, where nothing can be thrown.
  func find(_ violation: Violation) {
    found = found ?? violation
  }

  func throwFound() throws {
    if let found { throw found }
  }

  /// A device's program has given this to the relay, which may keep it even if it fails before it
  /// says so.
  func offeredToRelay(_ item: RelayPut, in mailbox: Identifier) {
    if let file = SimRelay.file(item.name, in: mailbox) { archive[file] = item.blob }
  }

  /// The relay's log has taken what a device gave it.
  func storedAtRelay(_ item: RelayPut, in mailbox: Identifier, by index: Int) {
    relayStores += 1
    guard let file = SimRelay.file(item.name, in: mailbox) else {
      return trace.note(
        "publish", at: now, device: index, mailbox.low,
        "leaves a key in the handoff \(mailbox.hex.prefix(4))")
    }
    checker.published(file, item.blob, by: devices[index], in: self)
    trace.note(
      "publish", at: now, device: index, file.key,
      "gives the relay \(Words.file(file)), \(item.blob.count) bytes")
  }

  /// A device has changed the access key of a mailbox.
  func turnedKey(of mailbox: Identifier, by index: Int) {
    trace.note(
      "key", at: now, device: index, mailbox.low,
      "changes the access key of \(mailbox.hex.prefix(4))")
  }

  /// The relay lost something: what nobody else holds was given away in vain, and what its author
  /// does not hold either is lost, which is owed to the faults.
  func heldOnlyAtRelay() {
    ledger.takeBack { promise in
      let holders = checker.holders(of: promise.dot, in: promise.zone)
      let author = devices[promise.device]
      let isInFolder = author.usesFolder && !author.isDestroyed
      if isInFolder || holders.contains(where: { $0 != promise.device }) { return .others }
      if holders.contains(promise.device) { return .author }
      SimProbe.relayLossOwed.hit()
      return .nobody
    }
  }

  func scheduleRelayBoot() {
    var chance = Chance(plan.seed, domain: "relay-boot", now)
    events.push(.bootRelay, at: now + UInt64(chance.within(5_000...600_000)))
  }

  /// Starts the relay; after a fault of its disk once more, later.
  func bootRelay() throws {
    guard let relay = net?.relay, !relay.isUp, !isRelayStopped else { return }
    do {
      try relay.boot()
      trace.note("relay", at: now, UInt64(relay.starts), "the relay starts")
    } catch {
      guard !isHealed else {
        throw fail(.relay, nil, "the relay does not start on a healed disk: \(error)")
      }
      if relay.isDown { relay.losePower() }
      scheduleRelayBoot()
    }
  }

  /// The relay works, is honest and can be reached.
  func healRelay() throws {
    guard let net else { return }
    net.heal()
    isRelayStopped = false
    try bootRelay()
  }

  /// Puts another disk under the relay and starts it; after a fault of that disk once more, later.
  private func startAnew(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as RelayError {
      guard let relay = net?.relay else { throw error }
      trace.note("relay", at: now, 0, "the relay does not start: \(error)")
      relay.disk.isDown ? relay.losePower() : relay.kill()
      scheduleRelayBoot()
    }
  }

  // MARK: Steps

  func performOnRelay(_ step: Step) throws {
    guard let net else { throw StepFailure("the plan has no relay") }
    let relay = net.relay
    trace.note("relay", at: now, Chance.hash(step.verb.utf8), step.line)
    switch step.verb {
    case "kill":
      relay.kill()
      scheduleRelayBoot()
    case "stop":
      isRelayStopped = true
      relay.kill()
    case "start":
      isRelayStopped = false
      try bootRelay()
    case "wipe":
      try startAnew { try relay.wipe() }
      heldOnlyAtRelay()
    case "save": relayImages[step.words.first ?? ""] = relay.disk.image(of: .current)
    case "rollback":
      guard let image = relayImages[step.words.first ?? ""] else { return }
      let isTold = step.words.contains("told")
      try startAnew { try relay.restore(image, isTold: isTold) }
      (isTold ? SimProbe.relayRolledBackTold : .relayRolledBack).hit()
      heldOnlyAtRelay()
    default: try performOnRelayLog(step, relay, net)
    }
  }

  private func performOnRelayLog(_ step: Step, _ relay: SimRelay, _ net: SimNet) throws {
    let number = step.words.first.flatMap { Int($0) } ?? 0
    let next = relay.disk.operations + UInt64(step.value("in").flatMap { Int($0) } ?? 1)
    let count = UInt64(step.value("for").flatMap { Int($0) } ?? 1)
    switch step.verb {
    case "power":
      if step.value("in") != nil {
        relay.disk.arm(.powerCut(atOperation: next))
      } else {
        relay.losePower()
      }
      scheduleRelayBoot()
    case "disk-error": relay.disk.arm(.writeError(atOperation: next, count: count))
    case "sync-error": relay.disk.arm(.syncError(atOperation: next, count: count))
    case "disk-full": relay.disk.arm(.noSpace(atOperation: next, count: count))
    case "equivocate": try relay.begin(indices(step.words), withholding: [])
    case "withhold":
      let victims = (step.value("from") ?? "").split(separator: ",").map(String.init)
      try relay.begin(indices(victims), withholding: indices([step.words.first ?? ""]))
    case "honest": relay.heal()
    case "omit": relay.omitPerMille = number
    case "spoil": relay.spoilPerMille = number
    case "repeat": relay.repeatPerMille = number
    case "swap": relay.swapsMailboxes = step.words.first != "off"
    case "quota": relay.quotaBytes = step.words.first == "off" ? nil : UInt64(number)
    case "slow": net.rules.bytesPerSecond = step.words.first == "off" ? nil : number
    default: throw StepFailure("a relay does not know \(step.verb)")
    }
  }

  private func indices(_ names: [String]) -> Set<Int> {
    Set(names.compactMap { device(named: $0)?.index })
  }

  /// `A>relay`, `relay>A`, `A-relay`, or `relay` for everybody.
  ///
  /// - Returns: whether the words were about the relay.
  func cutRelay(_ word: String, isUp: Bool) -> Bool {
    let sign: Character = word.contains(">") ? ">" : "-"
    let names = word.split(separator: sign).map(String.init)
    guard names.contains("relay"), let net else { return names.contains("relay") }
    let chosen = names.first { $0 != "relay" }.map { indices([$0]) } ?? Set(devices.map(\.index))
    if !isUp { SimProbe.relayPartition.hit() }
    func set(_ cut: inout Set<Int>) {
      if isUp { cut.subtract(chosen) } else { cut.formUnion(chosen) }
    }
    if sign == "-" || names.count == 1 || names.last == "relay" { set(&net.cutUp) }
    if sign == "-" || names.count == 1 || names.first == "relay" { set(&net.cutDown) }
    return true
  }

  /// `meanwhile OTHER in=N`: at the N-th question that the device asks the relay from now on,
  /// another one syncs.
  func planMeanwhile(_ step: Step, _ device: SimDevice) throws {
    guard let net, device.usesRelay, device.running != nil, let name = step.words.first,
      let other = self.device(named: name), other.index != device.index
    else { return }
    let link = try device.relayWay().link
    net.meanwhile[device.index] = (
      link.questions + (step.value("in").flatMap { Int($0) } ?? 1), other.index
    )
  }

  // MARK: Questions

  /// `failed`, `relay-notices`, `total TALLY`.
  func askRelay(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    switch what {
    case "failed": return device.hasFailed ? "yes" : "no"
    case "relay-notices": return "\(device.relayNotices)"
    case "total":
      guard let home = device.home, let name = subject.first,
        case .record(let state)? = try device.engine().store.records.record(
          Tally.key(name, in: home), in: home)
      else { return "-" }
      if case .int(let number)? = state.shown(Tally.total) { return "\(number)" }
      return "0"
    default: return nil
    }
  }

  // MARK: Ways

  /// Everybody uses all ways that somebody uses, so that nobody is apart; so does who has to read
  /// what one who is gone left in a folder, for which the relay stood in vain.
  func connect(_ some: [SimDevice]) {
    let needsFolder = some.contains { !$0.usesRelay || $0.isLost && $0.leavesFolder }
    guard needsFolder, some.contains(where: { !$0.usesFolder }) else { return }
    for device in some {
      let hadFolder = device.usesFolder
      device.way = .both
      if !hadFolder { addCarriers(of: device) }
    }
  }
}
