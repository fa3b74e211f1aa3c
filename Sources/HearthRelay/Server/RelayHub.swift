import HearthCrypto
import HearthSync
import Logging
import NIOCore
import NIOPosix

/// The one owner of the core: carries events in and effects out, on one event loop.
///
/// Writes that wait while the log is busy go to it together: that is the group commit. Answers are
/// sent after the commit, and each connection is flushed once a round.
final class RelayHub {
  private let loop: any EventLoop
  private let log: any RelayLog
  private let pool: NIOThreadPool
  private let logger: Logger
  private let clock: @Sendable () -> RelayTime
  private var core: RelayCore
  private var connections: [RelaySessionID: RelayConnection] = [:]
  private var dirty: [RelayConnection] = []
  private var nextSession: UInt64 = 0
  private var desk = RelayDesk()
  private var drained: EventLoopPromise<Void>?
  /// How many transactions the writes were gathered in.
  private(set) var commits = 0

  init(
    loop: any EventLoop, core: RelayCore, log: any RelayLog, pool: NIOThreadPool, logger: Logger,
    clock: @escaping @Sendable () -> RelayTime
  ) {
    self.loop = loop
    self.core = core
    self.log = log
    self.pool = pool
    self.logger = logger
    self.clock = clock
  }

  // MARK: Connections

  func nextID() -> RelaySessionID {
    nextSession += 1
    return RelaySessionID(nextSession)
  }

  func opened(_ connection: RelayConnection, address: [UInt8]) {
    connections[connection.id] = connection
    handle(.connected(connection.id, address: address))
    flush()
  }

  func closed(_ connection: RelayConnection) {
    connections[connection.id] = nil
    handle(.disconnected(connection.id))
    flush()
  }

  // MARK: Events and effects

  /// Takes one event; what is written meanwhile goes out at the next ``flush()``.
  func handle(_ event: RelayEvent) {
    loop.preconditionInEventLoop()
    let time = clock()
    perform(core.handle(event, now: time.milliseconds, day: time.day))
    if core.isDrained, connections.isEmpty { drained?.succeed() }
  }

  private func perform(_ effects: [RelayEffect]) {
    for effect in effects {
      switch effect {
      case .send(let id, let bytes):
        if let connection = connections[id] { write(ByteBuffer(bytes: bytes), to: connection) }
      case .share(let targets, let tail):
        for target in targets {
          guard let connection = connections[target.session] else { continue }
          let head = RelayPushFrame.head(channel: target.channel, tailCount: tail.count)
          var buffer = ByteBufferAllocator().buffer(capacity: head.count + tail.count)
          buffer.writeBytes(head)
          buffer.writeBytes(tail)
          write(buffer, to: connection)
        }
      case .write(let ticket, let box): desk.add(ticket, box.write)
      case .read(let ticket, let box): desk.add(ticket, box.read)
      case .pause(let id, let isPaused): connections[id]?.setPaused(isPaused)
      case .trust(let id): connections[id]?.trust()
      case .close(let id): connections[id]?.closeAfterSending()
      }
    }
  }

  private func write(_ buffer: ByteBuffer, to connection: RelayConnection) {
    if !connection.isDirty { dirty.append(connection) }
    connection.write(buffer)
  }

  /// Sends what was written and begins what the log was asked for.
  func flush() {
    let waiting = dirty
    dirty.removeAll(keepingCapacity: true)
    for connection in waiting { connection.flush() }
    startWriting()
    startReading()
  }

  private func startWriting() {
    guard let batch = desk.nextBatch() else { return }
    let log = self.log
    let work = pool.runIfActive(eventLoop: loop) { () -> Result<[RelayWritten], RelayError> in
      Result { () throws(RelayError) in try log.write(batch.writes) }
    }
    work.assumeIsolated().whenComplete { outcome in
      self.desk.finishedWriting()
      self.commits += 1
      let result = RelayHub.result(of: outcome)
      if case .failure(let error) = result { self.logger.error("the log failed: \(error)") }
      for event in batch.events(result) { self.handle(event) }
      self.flush()
    }
  }

  private func startReading() {
    guard let (ticket, read) = desk.nextRead() else { return }
    let log = self.log
    let work = pool.runIfActive(eventLoop: loop) { () -> Result<RelayAnswer, RelayError> in
      Result { () throws(RelayError) in try log.read(read) }
    }
    work.assumeIsolated().whenComplete { outcome in
      self.desk.finishedReading()
      self.handle(.answered(ticket: ticket, RelayHub.result(of: outcome)))
      self.flush()
    }
  }

  private static func result<Value>(
    of outcome: Result<Result<Value, RelayError>, any Error>
  ) -> Result<Value, RelayError> {
    switch outcome {
    case .success(let result): result
    case .failure(let error):
      .failure(RelayError(.inputOutput, "the log's threads are gone", cause: error))
    }
  }

  // MARK: The operator's view

  func tick() {
    for connection in connections.values { connection.look() }
    handle(.tick)
    flush()
  }

  /// Sends everybody away once their writes are answered.
  func drain() -> EventLoopFuture<Void> {
    let promise = drained ?? loop.makePromise(of: Void.self)
    drained = promise
    handle(.drain)
    flush()
    return promise.futureResult
  }

  var status: RelayStatus {
    RelayStatus(
      counters: core.counters, commits: commits, sessions: core.sessionCount,
      strangers: core.strangerCount, mailboxesOpen: core.roomCount,
      writesWaiting: desk.writesWaiting, readsWaiting: desk.readsWaiting)
  }
}

/// The time as the core takes it.
package struct RelayTime: Sendable {
  /// Milliseconds of a clock that never goes back.
  package var milliseconds: UInt64
  /// Days since 1970.
  package var day: UInt32

  package init(milliseconds: UInt64, day: UInt32) {
    self.milliseconds = milliseconds
    self.day = day
  }
}

/// What the relay tells of itself to its operator: numbers, no names.
package struct RelayStatus: Sendable {
  package var counters: RelayCounters
  package var commits: Int
  package var sessions: Int
  package var strangers: Int
  package var mailboxesOpen: Int
  package var writesWaiting: Int
  package var readsWaiting: Int

  /// The text that Prometheus reads (exposition format 0.0.4).
  package var metrics: String {
    let gauges: [(String, String, Int)] = [
      ("sessions", "Connections now.", sessions),
      ("strangers", "Connections that have opened no mailbox.", strangers),
      ("mailboxes_open", "Mailboxes open in some session.", mailboxesOpen),
      ("writes_waiting", "Writes that wait for the log.", writesWaiting),
      ("reads_waiting", "Reads that wait for the log.", readsWaiting),
    ]
    let totals: [(String, String, Int)] = [
      ("sessions", "Connections so far.", counters.sessionsEver),
      ("frames", "Frames received.", counters.framesReceived),
      ("entries", "Entries appended.", counters.entriesAppended),
      ("appended_bytes", "Bytes of blobs appended.", counters.bytesAppended),
      ("commits", "Transactions of the log.", commits),
      ("pages", "Pages read.", counters.pagesRead),
      ("pushes", "Pushes to a session.", counters.pushes),
      ("hints", "Hints in place of a push.", counters.hints),
      ("mailboxes_made", "Mailboxes made.", counters.mailboxesMade),
      ("rotations", "Access keys changed.", counters.rotations),
      ("refusals", "Proofs and registrations refused.", counters.refusals),
      ("limited", "Requests beyond a limit.", counters.limited),
      ("malformed", "Connections that sent no frames.", counters.malformed),
      ("slow_readers", "Connections ended because they did not read.", counters.slowReaders),
      ("timeouts", "Connections ended because they were silent.", counters.timeouts),
      ("log_failures", "Requests that the log failed.", counters.logFailures),
    ]
    var text = ""
    for (name, help, value) in gauges {
      let name = "hearth_relay_\(name)"
      text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n\(name) \(value)\n"
    }
    for (name, help, value) in totals {
      let name = "hearth_relay_\(name)_total"
      text += "# HELP \(name) \(help)\n# TYPE \(name) counter\n\(name) \(value)\n"
    }
    return text
  }
}
