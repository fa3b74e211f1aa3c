import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import Logging
import NIOCore
import NIOPosix

/// The one owner of the core: passes events in and effects out, on one event loop.
///
/// Writes that queue while the log is busy go to it together: that is the group commit. Answers are
/// sent after the commit, and each connection is flushed once a round.
final class RelayHub: RelayConnectionOwner {
  private let loop: any EventLoop
  private let log: any RelayLog
  private let pool: NIOThreadPool
  private let logger: Logger
  private let clock: @Sendable () -> RelayTime
  private var core: RelayCore
  private var connections: [RelaySessionID: RelayConnection] = [:]
  private var dirty: [RelayConnection] = []
  /// How many connections of `dirty` have been flushed.
  private var sent = 0
  private var isSending = false
  private var isSendingLater = false
  private var nextSession: UInt64 = 0
  private var queue = RelayCommitQueue()
  private var news = RelayNewsQueue()
  private var isNewsTurn = false
  private var lastFailure: RelayError.Code?
  /// Why the last transaction failed; nil once one has succeeded since.
  private var commitFailure: RelayError.Code?
  private var drained: EventLoopPromise<Void>?
  /// The number of transactions that contained the writes.
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

  /// Processes one event.
  ///
  /// The resulting output is sent at the next ``flush()``.
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
        share(tail, with: targets)
      case .write(let ticket, let box): queue.add(ticket, box.write)
      case .read(let ticket, let box): queue.add(ticket, box.read)
      case .pause(let id, let isPaused): connections[id]?.setPaused(isPaused)
      case .trust(let id): connections[id]?.trust()
      case .close(let id): connections[id]?.closeAfterSending()
      }
    }
  }

  /// Writes one push to many sessions, which share its bytes: most have the mailbox on the same
  /// channel.
  private func share(_ tail: RelayPushTail, with targets: [RelayPushTarget]) {
    var made: [Int: ByteBuffer] = [:]
    for target in targets {
      guard let connection = connections[target.session] else { continue }
      let buffer =
        made[target.channel]
        ?? ByteBuffer(bytes: tail.head(channel: target.channel) + tail.bytes)
      made[target.channel] = buffer
      write(buffer, to: connection)
    }
  }

  private func write(_ buffer: ByteBuffer, to connection: RelayConnection) {
    if !connection.isDirty { dirty.append(connection) }
    connection.write(buffer)
  }

  /// Starts the pending requests to the log and sends the pending output.
  func flush() {
    startWriting()
    startReading()
    send()
  }

  /// How many bytes to send before the loop does other work.
  private static let sendingBytes = 256 << 10
  /// How many flushed connections to keep in the list while others still wait.
  private static let keptConnections = 1_024

  /// Sends the pending output in portions, with the log's answers in between.
  ///
  /// So the log receives its next writes while many sessions still receive the results of the last
  /// ones. Sockets are read after that.
  private func send() {
    // A flush may report at once that the connection is congested or gone, and so call this again.
    guard !isSending else { return }
    isSending = true
    defer { isSending = false }
    var bytes = 0
    while sent < dirty.count, bytes < RelayHub.sendingBytes {
      let connection = dirty[sent]
      sent += 1
      bytes += connection.flush()
    }
    if sent == dirty.count {
      dirty.removeAll(keepingCapacity: true)
      sent = 0
      return
    }
    if sent >= RelayHub.keptConnections {
      dirty.removeFirst(sent)
      sent = 0
    }
    if !isSendingLater {
      isSendingLater = true
      loop.assumeIsolated().execute {
        self.isSendingLater = false
        self.send()
      }
    }
  }

  private func startWriting() {
    guard let batch = queue.nextBatch() else { return }
    let log = self.log
    let work = pool.runIfActive(eventLoop: loop) { () -> Result<[RelayWritten], RelayError> in
      Result { () throws(RelayError) in try log.write(batch.writes) }
    }
    work.assumeIsolated().whenComplete { outcome in
      self.queue.finishedWriting()
      self.commits += 1
      let result = RelayHub.result(of: outcome)
      self.note(result)
      if case .failure(let error) = result {
        self.commitFailure = error.code
      } else {
        self.commitFailure = nil
      }
      for event in batch.events(result) { self.handle(event) }
      self.flush()
    }
  }

  private func startReading() {
    // Reads and news alternate: each piece of news may take a commit, and clients wait for answers.
    guard !queue.isReading else { return }
    if isNewsTurn, startFollowing() {
      isNewsTurn = false
      return
    }
    guard let (ticket, read) = queue.nextRead() else {
      _ = startFollowing()
      return
    }
    isNewsTurn = true
    let log = self.log
    ask(
      { () throws(RelayError) in try log.read(read) },
      then: { hub, result in hub.handle(.answered(ticket: ticket, result)) })
  }

  /// Asks the log what another relay has changed, if there is something to learn.
  private func startFollowing() -> Bool {
    guard let shared = log as? any RelaySharedLog, let next = news.next() else {
      return false
    }
    queue.beginReading()
    follow(next, in: shared)
    return true
  }

  /// Runs a question on the log's threads, one at a time, so that answers stay in order.
  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable () throws(RelayError) -> Answer,
    then body: @escaping (RelayHub, Result<Answer, RelayError>) -> Void
  ) {
    let work = pool.runIfActive(eventLoop: loop) { () -> Result<Answer, RelayError> in
      Result { () throws(RelayError) in try question() }
    }
    work.assumeIsolated().whenComplete { outcome in
      self.queue.finishedReading()
      let result = RelayHub.result(of: outcome)
      self.note(result)
      body(self, result)
      self.flush()
    }
  }

  /// Logs a failure once, not with every request that meets it.
  private func note<Value>(_ result: Result<Value, RelayError>) {
    switch result {
    case .success:
      if lastFailure != nil { logger.info("the log works again") }
      lastFailure = nil
    case .failure(let error):
      if error.code != lastFailure { logger.error("the log failed: \(error)") }
      lastFailure = error.code
    }
  }

  // MARK: Other relays of the same log

  /// Processes a notification about other relays.
  func hear(_ tidings: RelayTidings) {
    switch tidings {
    case .changed(let mailbox):
      if core.isOpen(mailbox) { news.changed(mailbox) }
    case .missed: news.missed(core.openMailboxes)
    case .replaced:
      logger.warning("the database was replaced: all mailboxes are opened again")
      handle(.replaced)
    }
    flush()
  }

  private func follow(_ step: RelayNewsQueue.Step, in log: any RelaySharedLog) {
    switch step {
    case .changed(let mailbox):
      let reported = core.reportedHead(of: mailbox)
      let byteLimit = core.configuration.maximumPushBytes
      ask(
        { () throws(RelayError) in
          try log.news(
            of: mailbox, after: reported, limit: RelayLimits.maximumBatchItems, byteLimit: byteLimit
          )
        },
        then: { hub, result in
          switch result {
          case .success(let news): hub.handle(.news(news))
          case .failure: hub.news.failed([mailbox])
          }
        })
    case .compare(let names):
      ask(
        { () throws(RelayError) in try log.mailboxes(names) },
        then: { hub, result in
          guard case .success(let mailboxes) = result else {
            hub.news.failed(names)
            return
          }
          var found: [Identifier: RelayMailbox] = [:]
          for mailbox in mailboxes { found[mailbox.name] = mailbox }
          for name in names {
            hub.handle(.news(RelayLogNews(name: name, mailbox: found[name], entries: [])))
          }
        })
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
    news.isPaused = false
    flush()
  }

  /// Ends all sessions once their writes are answered.
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
      strangers: core.strangerCount, mailboxesOpen: core.openMailboxCount,
      writesWaiting: queue.writesWaiting, readsWaiting: queue.readsWaiting,
      trouble: RelayStatus.trouble(commitFailure, logIsHealthy: log.isHealthy))
  }
}
