import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import SimDisk

/// The relay: the production core and commit queue over the production log, on a simulated disk.
///
/// Honest unless a step says otherwise; then it shows some of the family another log, leaves things
/// out, exchanges mailboxes or spoils what it sends.
final class SimRelay {
  /// Another log that some devices are shown.
  struct Face {
    let disk: SimDisk
    let log: SQLiteRelayLog
    let devices: Set<Int>
    /// Whose work they do not get; empty where the two logs go on without each other.
    let withheld: Set<Int>
  }

  unowned let net: SimNet
  let address: RelayAddress
  private let identity: RelayIdentity
  private(set) var disk: SimDisk
  private(set) var log: SQLiteRelayLog?
  private var core: RelayCore
  private var queue = RelayCommitQueue()
  /// Rises with every start, so that what an earlier life asked of the log is not answered now.
  private var life: UInt64 = 0
  var rules = RelayRules()
  var face: Face?
  /// How many of a thousand listed names and blobs are left out.
  var omitPerMille = 0
  /// How many of a thousand messages are spoiled, and said twice.
  var spoilPerMille = 0
  var repeatPerMille = 0
  /// Answers about one mailbox come from another.
  var swapsMailboxes = false
  var quotaBytes: UInt64?
  /// Without power: nobody is refused, nobody is answered.
  private(set) var isSilent = false
  private var sent: UInt64 = 0
  private var lastSwapped: Identifier?
  /// What was given to the log in a batch whose end nobody was told.
  private var unanswered: [(item: RelayPut, mailbox: Identifier, asker: Int)] = []
  /// How much of its disk's operations failed, so that it is started anew.
  private(set) var starts = 0

  init(_ net: SimNet) {
    self.net = net
    var chance = Chance(net.seed, domain: "relay")
    disk = SimDisk(
      seed: chance.next(),
      profile: net.world.plan.disks.profile == "adversarial" ? .adversarial : .ordered)
    let pin = Bytes32(exactly: chance.bytes(32))
    guard let address = try? RelayAddress(host: "relay", port: 7440, pin: pin),
      let decoy = try? SigningKeyPair(seed: SimRelay.secret(&chance)),
      let secret = try? SimRelay.secret(&chance)
    else { preconditionFailure("a simulated relay has an address and keys") }
    self.address = address
    identity = RelayIdentity(
      relayID: Bytes32(exactly: chance.bytes(32)), pin: pin, decoyKey: decoy.publicKey.bytes,
      decoySecret: secret)
    core = SimRelay.core(identity, net.seed, life: 0)
  }

  private static func secret(_ chance: inout Chance) throws -> SecretKey {
    var bytes = chance.bytes(32)
    return try SecretKey(consuming: &bytes)
  }

  private static func core(_ identity: RelayIdentity, _ seed: UInt64, life: UInt64) -> RelayCore {
    let dice = Dice(Chance(seed, domain: "relay-core", life))
    return RelayCore(
      configuration: RelayConfiguration(), identity: identity, random: { dice.bytes($0) })
  }

  // MARK: On and off

  var isUp: Bool { log != nil }
  var isDown: Bool { disk.isDown }
  var sessions: Int { core.sessionCount }
  private var day: UInt32 { UInt32(truncatingIfNeeded: net.world.now / 86_400_000) }

  /// Starts the process, on the machine if that is off too.
  func boot() throws {
    guard log == nil else { return }
    if disk.isDown { disk.reboot() }
    isSilent = false
    starts += 1
    SimDisk.seedSQLite(Chance.mix(net.seed ^ UInt64(starts) << 16))
    log = try SQLiteRelayLog(folder: SimRelay.folder(of: disk), vfs: SimDisk.vfsName)
    life += 1
    core = SimRelay.core(identity, net.seed, life: life)
    queue = RelayCommitQueue()
    if let words = try rules.brokenPromise(of: self) {
      net.world.find(net.world.fail(.relay, nil, "the relay \(words)"))
    }
    findUnanswered()
  }

  /// Looks for what the log kept of batches whose end nobody was told.
  ///
  /// One whose commit was told as failed can have reached the disk all the same, and so can one
  /// where a power cut came in place of the answer. Whoever asks again is told that it is there
  /// already, so that only the log itself tells that it has left its device.
  private func findUnanswered() {
    guard let log else { return }
    for (item, mailbox, asker) in unanswered {
      let find = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil))
      guard case .found(let found?, _)? = try? log.read(find) else { continue }
      let fetch = RelayRead(
        mailbox: mailbox, authority: .access(generation: found.accessGeneration),
        question: .fetch([item.name], byteLimit: item.blob.count))
      guard case .blobs(let blobs)? = try? log.read(fetch), blobs.first == item.blob else {
        continue
      }
      SimProbe.relayKeptUnanswered.hit()
      net.world.storedAtRelay(item, in: mailbox, by: asker)
    }
    unanswered = []
  }

  static func folder(of disk: SimDisk) -> String {
    String(disk.path(for: SQLiteRelayLog.fileName).dropLast(SQLiteRelayLog.fileName.count + 1))
  }

  /// The process ends at once.
  func kill() {
    guard log != nil else { return }
    SimProbe.relayKilled.hit()
    disk.killProcess()
    drop()
    net.relayIsGone(tellsDevices: true)
  }

  /// The machine loses power: nobody is told.
  func losePower() {
    SimProbe.relayPowerLost.hit()
    if !disk.isDown { disk.cutPower() }
    drop()
    isSilent = true
    net.relayIsGone(tellsDevices: false)
  }

  private func drop() {
    log = nil
    life += 1
    endFace()
  }

  // MARK: Images

  /// The log is as it was once: a backup was played back.
  ///
  /// - Parameter isTold: whether the operator did what the manual says, so that every mailbox gets
  ///   a new generation.
  func restore(_ image: DiskImage, isTold: Bool) throws {
    drop()
    net.relayIsGone(tellsDevices: true)
    disk.restore(image)
    rules.forget()
    try boot()
    guard isTold, let log else { return }
    var chance = Chance(net.seed, domain: "generations", UInt64(starts))
    _ = try log.renewGenerations { chance.bytes($0) }
    rules.forget()
  }

  /// The machine is replaced by an empty one.
  func wipe() throws {
    SimProbe.relayWiped.hit()
    drop()
    net.relayIsGone(tellsDevices: true)
    disk = SimDisk(seed: Chance.mix(net.seed ^ UInt64(starts) << 24), profile: disk.profile)
    rules.forget()
    try boot()
  }

  // MARK: Events and effects

  func handle(_ event: RelayEvent) {
    guard log != nil else { return }
    perform(core.handle(event, now: net.now, day: day))
  }

  func received(_ id: RelaySessionID, _ bytes: [UInt8]) {
    net.lines[id]?.buffer.append(bytes)
    do {
      while net.lines[id]?.isOpenAtRelay == true, let whole = try net.lines[id]?.buffer.next() {
        let frame = try RelayFrame<RelayRequest>(decoding: whole)
        rules.asked(id, frame)
        handle(
          .received(id, frame, byteCount: whole.count + RelayFraming.lengthBytes))
      }
    } catch {
      handle(.malformed(id, error.description))
    }
  }

  private func perform(_ effects: [RelayEffect]) {
    for effect in effects {
      switch effect {
      case .send(let id, let bytes): send(id, bytes)
      case .share(let targets, let tail):
        for target in targets {
          let head = tail.head(channel: target.channel)
          send(target.session, head + tail.bytes)
        }
      case .write(let ticket, let box): queue.add(ticket, box.write)
      case .read(let ticket, let box): queue.add(ticket, box.read)
      case .pause: break
      case .trust(let id): net.lines[id]?.buffer.limit = RelayLimits.maximumFrameBytes
      case .close(let id):
        rules.closed(id)
        net.closeFromRelay(id)
      }
    }
    work()
  }

  /// Gives the log what waits for it; the answers come after a little while.
  private func work() {
    if let batch = queue.nextBatch() { net.schedule(.written(life: life, batch), after: 3) }
    if let next = queue.nextRead() {
      net.schedule(.read(life: life, ticket: next.ticket, next.read), after: 1)
    }
  }

  private func send(_ id: RelaySessionID, _ bytes: [UInt8]) {
    guard let device = net.lines[id]?.device else { return }
    let words = rules.answered(id, bytes, to: net.world.devices[device])
    // Who is shown another log is shown another key too.
    if let words, face?.devices.contains(device) != true {
      net.world.find(net.world.fail(.keys, net.world.devices[device], words))
    }
    sent += 1
    var chance = Chance(net.seed, domain: "spoil", sent)
    var told = bytes
    if !net.world.isHealed, chance.happens(perMille: spoilPerMille) {
      SimProbe.relaySpoiled.hit()
      told[chance.below(told.count)] ^= UInt8(1 << chance.below(8))
    }
    net.sendDown(id, told)
    if !net.world.isHealed, chance.happens(perMille: repeatPerMille) {
      SimProbe.relayRepeated.hit()
      net.sendDown(id, told)
    }
  }

  // MARK: The log

  func write(_ batch: RelayCommitQueue.Batch, life: UInt64) {
    guard life == self.life, let log else { return }
    let writes = batch.writes.map { write in
      var write = write
      if let quotaBytes { write.quota.bytes = quotaBytes }
      return write
    }
    if face == nil { follow(writes.map(\.mailbox), log) }
    let askers = batch.tickets.map { core.session(of: $0).flatMap { net.owners[$0] } }
    for (write, asker) in zip(writes, askers) {
      guard case .put(let items) = write.action else { continue }
      for item in items { net.world.offeredToRelay(item, in: write.mailbox) }
      if let asker { unanswered += items.map { ($0, write.mailbox, asker) } }
    }
    let removals = writes.map { removal($0) }
    let result = Result { () throws(RelayError) in
      try face == nil ? log.write(writes) : writeApart(writes, askers, log)
    }
    queue.finishedWriting()
    if disk.isDown { return losePower() }
    let written = try? result.get()
    if written != nil { unanswered = [] }
    for (place, event) in batch.events(result).enumerated() {
      handle(event)
      if let written { note(writes[place], written[place], by: askers[place]) }
      if case .removed? = written?[place], let removal = removals[place],
        let words = Remains.lost(removal.removed, of: removal.files, in: net.world)
      {
        let device = askers[place].map { net.world.devices[$0] }
        net.world.find(net.world.fail(.garbage, device, words))
      }
    }
    if log.isBroken {
      // What an operator, or the system's supervisor, does then.
      SimProbe.relayLogFailed.hit()
      kill()
      do { try boot() } catch { net.world.scheduleRelayBoot() }
    }
    work()
  }

  /// Holds the log to what it says from here on, where a fault had taken what it said before.
  private func follow(_ mailboxes: [Identifier], _ log: SQLiteRelayLog) {
    for mailbox in mailboxes where !rules.follows(mailbox) {
      let read = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil))
      if case .found(let found?, _)? = try? log.read(read) { rules.follow(found) }
    }
  }

  /// Each in the log that its asker is shown.
  private func writeApart(
    _ writes: [RelayWrite], _ askers: [Int?], _ log: SQLiteRelayLog
  ) throws(RelayError) -> [RelayWritten] {
    guard let face else { return try log.write(writes) }
    var answers: [RelayWritten] = []
    for (write, asker) in zip(writes, askers) {
      let isBehind = asker.map { face.devices.contains($0) } ?? false
      answers += try (isBehind ? face.log : log).write([write])
      guard !face.withheld.isEmpty, !(asker.map { face.withheld.contains($0) } ?? false) else {
        continue
      }
      _ = try (isBehind ? log : face.log).write([write])
    }
    return answers
  }

  private func note(_ write: RelayWrite, _ answer: RelayWritten, by asker: Int?) {
    let isBehind = asker.map { face?.devices.contains($0) ?? false } ?? false
    if face == nil, let words = rules.written(write, answer) {
      net.world.find(net.world.fail(.relay, nil, "the relay \(words)"))
    }
    if face != nil { rules.forget(write.mailbox) }
    guard let asker else { return }
    switch (write.action, answer) {
    case (.put(let items), .stored(let outcomes, _, _)):
      for (item, outcome) in zip(items, outcomes) where outcome.outcome == .stored {
        net.world.storedAtRelay(item, in: write.mailbox, by: asker)
      }
    case (.rotate, .rotated) where !isBehind:
      rules.rotated(write.mailbox, by: net.world.devices[asker])
      net.world.turnedKey(of: write.mailbox, by: asker)
    default: break
    }
  }

  func read(_ ticket: UInt64, _ read: RelayRead, life: UInt64) {
    guard life == self.life, let log else { return }
    let asker = core.session(of: ticket).flatMap { net.owners[$0] }
    let isBehind = asker.map { face?.devices.contains($0) ?? false } ?? false
    let source = isBehind ? face?.log ?? log : log
    let result = Result { () throws(RelayError) in
      try twisted(source.read(exchanged(read)), ticket)
    }
    queue.finishedReading()
    if disk.isDown { return losePower() }
    handle(.answered(ticket: ticket, result))
    work()
  }

  /// The question about the mailbox that was asked for before, in place of this one.
  private func exchanged(_ read: RelayRead) -> RelayRead {
    guard swapsMailboxes, !net.world.isHealed, read.authority != nil else { return read }
    defer { lastSwapped = read.mailbox }
    guard let other = lastSwapped, other != read.mailbox else { return read }
    SimProbe.relaySwapped.hit()
    var changed = read
    changed.mailbox = other
    return changed
  }

  private func twisted(_ answer: RelayAnswer, _ ticket: UInt64) -> RelayAnswer {
    guard omitPerMille > 0, !net.world.isHealed else { return answer }
    var chance = Chance(net.seed, domain: "omit", ticket, life)
    switch answer {
    case .listing(let page):
      let kept = page.headers.filter { _ in !chance.happens(perMille: omitPerMille) }
      SimProbe.relayOmitted.hit(if: kept.count < page.headers.count)
      return .listing(
        RelayListing(headers: kept, through: page.through, head: page.head, chain: page.chain))
    case .blobs(let blobs):
      return .blobs(blobs.map { chance.happens(perMille: omitPerMille) ? nil : $0 })
    default: return answer
    }
  }

  func answer(
    of source: SQLiteRelayLog, _ mailbox: Identifier, _ position: UInt64
  ) -> (head: RelayCursor, chain: Bytes32?)? {
    let read = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: position))
    guard case .found(let found, let chain)? = try? source.read(read) else { return nil }
    return (found?.head ?? RelayCursor(generation: .zero, position: 0), chain)
  }

  // MARK: Faces

  /// Shows some devices another log from here on.
  func begin(_ devices: Set<Int>, withholding withheld: Set<Int>) throws {
    guard face == nil, log != nil else { return }
    let copy = disk.clone(seed: Chance.mix(net.seed ^ UInt64(starts) << 32))
    face = Face(
      disk: copy,
      log: try SQLiteRelayLog(folder: SimRelay.folder(of: copy), vfs: SimDisk.vfsName),
      devices: devices, withheld: withheld)
    (withheld.isEmpty ? SimProbe.relayEquivocated : .relayWithheld).hit()
    // Sessions that stand may have asked already; whoever lies begins with new ones.
    net.relayIsGone(tellsDevices: true)
    for id in Array(net.lines.keys).sorted() { handle(.disconnected(id)) }
  }

  /// Everybody is shown the one log again.
  func endFace() {
    guard face != nil else { return }
    face = nil
    net.world.heldOnlyAtRelay()
    net.relayIsGone(tellsDevices: true)
    for id in Array(net.lines.keys).sorted() { handle(.disconnected(id)) }
  }

  func heal() {
    disk.disarm()
    disk.setQuota(bytes: nil)
    endFace()
    omitPerMille = 0
    spoilPerMille = 0
    repeatPerMille = 0
    swapsMailboxes = false
    quotaBytes = nil
  }
}
