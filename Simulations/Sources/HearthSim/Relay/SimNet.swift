import HearthCRDT
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// The lines between devices and the relay, in a steady time of their own.
///
/// It stands still between the steps of a plan, but for a little while before each: long enough
/// that
/// what was on its way arrives and that idle connections ping. While a device waits for an answer,
/// everything on all lines goes on.
final class SimNet {
  enum Event {
    case connect(RelaySessionID)
    case refuse(RelaySessionID)
    case accept(RelaySessionID)
    case up(RelaySessionID, [UInt8])
    case down(RelaySessionID, [UInt8])
    case closeAtRelay(RelaySessionID)
    case closeAtDevice(RelaySessionID)
    case written(life: UInt64, RelayCommitQueue.Batch)
    case read(life: UInt64, ticket: UInt64, RelayRead)
  }

  let seed: UInt64
  private(set) lazy var relay = SimRelay(self)
  unowned let world: World
  /// Milliseconds of a clock that never goes back.
  private(set) var now: UInt64 = 1_000
  var rules: Plan.Relay
  var lines: [RelaySessionID: SimLine] = [:]
  /// Whose connection each was, also after its end.
  private(set) var owners: [RelaySessionID: Int] = [:]
  private var links: [Int: SimLink] = [:]
  private var wakes: [Int: UInt64] = [:]
  private var events = EventHeap<Event>()
  private var lastSession: UInt64 = 0
  private var nextTick: UInt64 = 2_000
  private var worldTime: UInt64 = 0
  /// Devices from which nothing reaches the relay, and those that the relay does not reach.
  var cutUp: Set<Int> = []
  var cutDown: Set<Int> = []
  /// Which device does something while another waits: by device, at which question, who.
  var meanwhile: [Int: (questions: Int, other: Int)] = [:]
  private var isInterrupted = false
  private var lives: UInt64 = 0
  /// The most steps of one wait: beyond, a question goes round in circles.
  ///
  /// The further pieces of a message are none: where lines carry few bytes at a time there are as
  /// many as there are bytes.
  private static let maximumSteps = 100_000

  init(_ world: World, rules: Plan.Relay) throws {
    self.world = world
    self.rules = rules
    seed = world.plan.seed
    try relay.boot()
  }

  // MARK: Time

  /// A little time goes by between two steps of the world, as much as did there and not more than
  /// a ping or two take; a moment at least, in which arrives what is on its way.
  func elapse() {
    let passed = world.now > worldTime ? world.now - worldTime : 0
    worldTime = max(worldTime, world.now)
    run(upTo: min(max(passed, SimNet.momentMilliseconds), 45_000))
  }

  /// How long it takes at least to begin the next exchange.
  private static let momentMilliseconds: UInt64 = 100

  func schedule(_ event: Event, after milliseconds: UInt64) {
    events.push(event, at: now + milliseconds)
  }

  func run(upTo milliseconds: UInt64? = nil, until isDone: () -> Bool = { false }) {
    let end = milliseconds.map { now + $0 } ?? .max
    var steps = 0
    while !isDone() {
      steps += 1
      if steps > SimNet.maximumSteps {
        return world.find(world.fail(.liveness, nil, "a question at the relay goes in circles"))
      }
      let wake = wakes.min { ($0.value, $0.key) < ($1.value, $1.key) }
      let tick = relay.sessions > 0 ? nextTick : .max
      let next = min(events.nextTime ?? .max, wake?.value ?? .max, tick)
      guard next <= end, next < .max else {
        if end < .max { now = max(now, end) }
        return
      }
      now = max(now, next)
      if events.nextTime == next, let event = events.pop() {
        if isWholePiece(event.event) { steps -= 1 }
        handle(event.event)
      } else if let wake, wake.value == next, let link = links[wake.key] {
        link.session.tick(now: now)
        perform(link)
      } else {
        nextTick = now + 1_000
        relay.handle(.tick)
      }
    }
  }

  /// Whether bytes fill a piece, so that more of the same message follow as a rule.
  private func isWholePiece(_ event: Event) -> Bool {
    switch event {
    case .up(_, let bytes), .down(_, let bytes): bytes.count == rules.pieceBytes
    default: false
    }
  }

  private func handle(_ event: Event) {
    switch event {
    case .connect(let id): arrived(id)
    case .refuse(let id): lose(id, "it refuses the connection")
    case .accept(let id):
      guard let line = lines[id], line.isOpenAtDevice, !line.isDeafDown,
        let link = link(of: line, id)
      else { return }
      link.session.connected(now: now)
      perform(link)
    case .up(let id, let bytes):
      guard let line = lines[id] else { return }
      // The network took it; the other end may be gone.
      if line.isOpenAtDevice, let link = link(of: line, id) {
        link.session.progressed(now: now)
        perform(link)
      }
      guard line.isOpenAtRelay else { return }
      relay.received(id, bytes)
      relay.handle(.arriving(id))
    case .down(let id, let bytes):
      lines[id]?.waitingDown -= bytes.count
      judgeCongestion(of: id)
      guard let line = lines[id], line.isOpenAtDevice, let link = link(of: line, id) else { return }
      link.session.received(bytes, now: now)
      perform(link)
    case .closeAtRelay(let id):
      guard lines[id]?.isOpenAtRelay == true else { return }
      lines[id]?.isOpenAtRelay = false
      relay.handle(.disconnected(id))
      forgetDead(id)
    case .closeAtDevice(let id): lose(id, "it closed the connection")
    case .written(let life, let batch): relay.write(batch, life: life)
    case .read(let life, let ticket, let read): relay.read(ticket, read, life: life)
    }
  }

  private func link(of line: SimLine, _ id: RelaySessionID) -> SimLink? {
    guard let link = links[line.device], link.line == id else { return nil }
    return link
  }

  // MARK: Links

  /// A number for a program's connection that no other has.
  func nextLife() -> UInt64 {
    lives += 1
    return lives
  }

  func add(_ link: SimLink) {
    links[link.device] = link
  }

  /// The device's program is gone: nicely, so that the relay is told, or with its power.
  func remove(_ link: SimLink, tellsRelay: Bool) {
    if links[link.device] === link {
      links[link.device] = nil
      wakes[link.device] = nil
    }
    if let id = link.line { hangUp(id, tellsRelay: tellsRelay) }
    link.line = nil
  }

  func perform(_ link: SimLink) {
    while true {
      let effects = link.session.takeEffects()
      if effects.isEmpty { break }
      for effect in effects {
        switch effect {
        case .connect: connect(link)
        case .disconnect:
          if let id = link.line { hangUp(id, tellsRelay: true) }
          link.line = nil
        case .send(let bytes): if let id = link.line { sendUp(id, bytes) }
        case .finish(let ticket, let result): link.finished(ticket, result)
        case .news(let news): told(link, news)
        }
      }
    }
    wakes[link.device] =
      links[link.device] === link ? link.session.wakeTime.map { max($0, now + 1) } : nil
  }

  private func told(_ link: SimLink, _ news: RelayNews) {
    switch news {
    case .stored: SimProbe.relayNews.hit()
    case .closed: SimProbe.relayMailboxClosed.hit()
    case .lost: SimProbe.relayLost.hit()
    }
  }

  private func connect(_ link: SimLink) {
    lastSession += 1
    link.attempts += 1
    let id = RelaySessionID(lastSession)
    link.line = id
    lines[id] = SimLine(device: link.device, session: id, attempt: link.attempts)
    var chance = dice("connect", id, 0)
    let delay = UInt64(chance.within(delays))
    if cutUp.contains(link.device) || relay.isSilent { return }
    if !relay.isUp {
      SimProbe.relayRefusedConnection.hit()
      return schedule(.refuse(id), after: delay)
    }
    schedule(.connect(id), after: delay)
  }

  private func arrived(_ id: RelaySessionID) {
    guard let line = lines[id], relay.isUp else { return }
    lines[id]?.isOpenAtRelay = true
    owners[id] = line.device
    relay.handle(.connected(id, address: [UInt8(truncatingIfNeeded: line.device)]))
    guard !cutDown.contains(line.device) else { return }
    var chance = dice("accept", id, 0)
    schedule(.accept(id), after: UInt64(chance.within(delays)))
  }

  /// One end lets go; the other hears of it a little later, or never.
  private func hangUp(_ id: RelaySessionID, tellsRelay: Bool) {
    guard lines[id]?.isOpenAtDevice == true else { return }
    lines[id]?.isOpenAtDevice = false
    if tellsRelay, let line = lines[id], !line.isDeafUp {
      schedule(.closeAtRelay(id), after: max(line.lastUp, now) - now + 1)
    } else {
      SimProbe.relayHalfOpen.hit(if: lines[id]?.isOpenAtRelay == true)
    }
    forgetDead(id)
  }

  /// The device's end breaks.
  private func lose(_ id: RelaySessionID, _ words: String) {
    guard let line = lines[id], line.isOpenAtDevice else { return }
    lines[id]?.isOpenAtDevice = false
    if let link = link(of: line, id) {
      link.line = nil
      link.session.lost(.unreachable(words), now: now)
      perform(link)
    }
    forgetDead(id)
  }

  private func forgetDead(_ id: RelaySessionID) {
    if let line = lines[id], !line.isOpenAtDevice, !line.isOpenAtRelay { lines[id] = nil }
  }

  /// The relay ends a connection after what it sent.
  func closeFromRelay(_ id: RelaySessionID) {
    guard let line = lines[id], line.isOpenAtRelay else { return }
    lines[id]?.isOpenAtRelay = false
    if !line.isDeafDown { schedule(.closeAtDevice(id), after: max(line.lastDown, now) - now + 1) }
    forgetDead(id)
  }

  /// The relay is gone: nicely or not, its connections are.
  func relayIsGone(tellsDevices: Bool) {
    for id in lines.keys.sorted() where lines[id]?.isOpenAtRelay == true {
      lines[id]?.isOpenAtRelay = false
      if tellsDevices {
        schedule(.closeAtDevice(id), after: 1)
      } else {
        lines[id]?.isDeafUp = true
        lines[id]?.isDeafDown = true
      }
      forgetDead(id)
    }
  }

  // MARK: Bytes

  private var delays: ClosedRange<Int> {
    guard world.isRunning else { return 5...20 }
    let low = max(1, rules.delayMilliseconds.first ?? 5)
    return low...max(low, rules.delayMilliseconds.last ?? low)
  }

  private func dice(_ domain: StaticString, _ id: RelaySessionID, _ message: UInt64) -> Chance {
    Chance(seed, domain: domain, id.number, message)
  }

  private func sendUp(_ id: RelaySessionID, _ bytes: [UInt8]) {
    guard var line = lines[id], line.isOpenAtDevice else { return }
    line.messages += 1
    let last = line.lastUp
    let arrivals = pieces(bytes, id, &line, last, isUp: true)
    lines[id] = line
    for (piece, at) in arrivals { events.push(.up(id, piece), at: at) }
    if let at = arrivals.last?.at { lines[id]?.lastUp = at }
  }

  func sendDown(_ id: RelaySessionID, _ bytes: [UInt8]) {
    guard var line = lines[id], line.isOpenAtRelay else { return }
    line.messages += 1
    let last = line.lastDown
    let arrivals = pieces(bytes, id, &line, last, isUp: false)
    lines[id] = line
    for (piece, at) in arrivals { events.push(.down(id, piece), at: at) }
    lines[id]?.waitingDown += arrivals.reduce(0) { $0 + $1.bytes.count }
    if let at = arrivals.last?.at { lines[id]?.lastDown = at }
    judgeCongestion(of: id)
  }

  /// From how many bytes on that wait the relay stops reading, as its sockets do.
  private static let waterMarkBytes = 64 << 10

  private func judgeCongestion(of id: RelaySessionID) {
    guard let line = lines[id], line.isOpenAtRelay else { return }
    let isCongested = line.waitingDown > SimNet.waterMarkBytes
    if isCongested, line.isCongested {
      relay.handle(.draining(id))
    } else if isCongested != line.isCongested {
      lines[id]?.isCongested = isCongested
      if isCongested { SimProbe.relayCongested.hit() }
      relay.handle(.congested(id, isCongested))
    }
  }

  /// What arrives of a message and when: in pieces, late, in part or not at all.
  private func pieces(
    _ bytes: [UInt8], _ id: RelaySessionID, _ line: inout SimLine, _ last: UInt64, isUp: Bool
  ) -> [(bytes: [UInt8], at: UInt64)] {
    var chance = Chance(seed, domain: "bytes", id.number, line.messages, isUp ? 1 : 0)
    if (isUp ? cutUp : cutDown).contains(line.device) {
      if isUp { line.isDeafUp = true } else { line.isDeafDown = true }
    }
    if isUp ? line.isDeafUp : line.isDeafDown { return [] }
    var rest = bytes
    let isFaulty = !world.isHealed && world.isRunning
    let isCut = isFaulty && chance.happens(perMille: rules.cutPerMille)
    let isMuted = isFaulty && chance.happens(perMille: rules.mutePerMille)
    if isCut || isMuted {
      rest = Array(bytes.prefix(chance.below(bytes.count)))
      SimProbe.relayLineBroke.hit()
    }
    var at = max(now + UInt64(chance.within(delays)), last)
    var arrivals: [(bytes: [UInt8], at: UInt64)] = []
    let size = isFaulty ? max(1, rules.pieceBytes) : .max
    var start = 0
    while start < rest.count {
      let end = rest.count - start > size ? start + size : rest.count
      if let speed = rules.bytesPerSecond, world.isRunning, !world.isHealed {
        at += UInt64((end - start) * 1_000 / max(1, speed))
      }
      arrivals.append((Array(rest[start..<end]), at))
      start = end
    }
    if isMuted {
      line.isDeafUp = true
      line.isDeafDown = true
    } else if isCut {
      events.push(.closeAtRelay(id), at: at + 1)
      events.push(.closeAtDevice(id), at: at + 1)
      line.isDeafUp = true
      line.isDeafDown = true
    }
    world.trace.note(
      isUp ? "to-relay" : "from-relay", at: world.now, device: line.device,
      Chance.hash(rest) ^ at)
    return arrivals
  }

  // MARK: Meanwhile

  /// Before a question goes out another device may do something, if the plan says so.
  func interrupt(_ link: SimLink) {
    guard !isInterrupted, let planned = meanwhile[link.device], link.questions >= planned.questions
    else { return }
    meanwhile[link.device] = nil
    let other = world.devices[planned.other]
    guard other.running != nil else { return }
    isInterrupted = true
    defer { isInterrupted = false }
    SimProbe.relayMeanwhile.hit()
    do {
      try world.perform(
        Step(at: world.now - world.plan.startMilliseconds, other.name, "sync"))
    } catch let violation as Violation {
      world.find(violation)
    } catch {
      world.find(world.fail(.expectation, other, "\(error)"))
    }
    world.devices[link.device].takeTurn()
  }

  /// All lines are whole from here on.
  func heal() {
    cutUp = []
    cutDown = []
    meanwhile = [:]
    relay.heal()
    for id in lines.keys.sorted() {
      guard let line = lines[id], line.isDeafUp || line.isDeafDown else { continue }
      schedule(.closeAtRelay(id), after: 1)
      schedule(.closeAtDevice(id), after: 1)
    }
  }
}

extension SimProbe {
  func hit(if condition: Bool) {
    if condition { hit() }
  }
}
