import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync
import HearthTransport
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// A connection of one node to one relay: sockets, TLS, threads and clock around the session.
///
/// One connection carries all mailboxes. The link connects when there is something to ask or to
/// listen to, and reconnects after a loss. A call suspends until there is an answer, for a bounded
/// time; a cancelled task ends it at once.
package final class RelayLink: RelayClientConnection, Sendable {
  /// The relay's address.
  package let address: RelayAddress
  private let loop: any EventLoop
  private let state: NIOLoopBoundBox<LinkState?>

  /// The owner of a link, so that all uses by one node share a connection.
  package struct Owner: Sendable {
    /// Distinguishes the nodes of one process.
    package let name: String
    /// The registration token; empty if the relay needs none.
    package let credential: [UInt8]
    /// The node's key pair for a relay, by the relay's id.
    package let managerPair: @Sendable ([UInt8]) throws -> SigningKeyPair

    package init(
      name: String, credential: [UInt8] = [],
      managerPair: @escaping @Sendable ([UInt8]) throws -> SigningKeyPair
    ) {
      self.name = name
      self.credential = credential
      self.managerPair = managerPair
    }
  }

  private struct Weak: Sendable {
    weak let link: RelayLink?
  }

  private static let links = Mutex<[String: Weak]>([:])

  /// Returns the link of a node to a relay: the existing one or a new one.
  ///
  /// The link lives as long as somebody retains it.
  package static func shared(
    _ address: RelayAddress, _ owner: Owner, timing: RelayClientTiming = RelayClientTiming()
  ) -> RelayLink {
    let key = "\(owner.name) \(address)"
    return links.withLock { links in
      if let known = links[key]?.link { return known }
      links = links.filter { $0.value.link != nil }
      let link = RelayLink(address, owner, timing: timing)
      links[key] = Weak(link: link)
      return link
    }
  }

  /// Creates a link that is not shared.
  package init(
    _ address: RelayAddress, _ owner: Owner, timing: RelayClientTiming = RelayClientTiming()
  ) {
    self.address = address
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    self.loop = loop
    let state = NIOLoopBoundBox.makeEmptyBox(valueType: LinkState.self, eventLoop: loop)
    self.state = state
    loop.execute {
      let session = RelayClientSession(
        pin: address.pin, timing: timing, credential: owner.credential,
        managerPair: owner.managerPair, random: { RandomBytes.make($0) })
      state.value = LinkState(address, loop: loop, session: session, timing: timing)
    }
  }

  deinit {
    let state = state
    loop.execute {
      state.value?.end()
      state.value = nil
    }
  }

  /// Registers a mailbox's keys and cursor.
  package func know(_ access: MailboxAccess, cursor: RelayCursor?) {
    let state = state
    loop.execute { state.value?.know(access, cursor: cursor) }
  }

  /// Prefetches mailboxes: opens all of them at the same time, without waiting.
  package func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {
    let state = state
    loop.execute { state.value?.prefetch(accesses) }
  }

  /// Asks about a known mailbox and waits for the answer.
  ///
  /// - Throws: `RelayFailure`.
  package func ask(_ mailbox: Identifier, _ question: RelayQuestion) async throws -> RelayOutcome {
    try await ask(mailbox, question, reporting: nil)
  }

  /// Asks about a known mailbox, waits for the answer and reports progress.
  ///
  /// The link reports on its own thread, in steps of 64 KiB, how many bytes went over the
  /// connection since the question.
  ///
  /// - Throws: `RelayFailure`; `CancellationError` if the task is cancelled.
  package func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome {
    let (state, loop) = (state, loop)
    let ticket = RelayLink.nextTicket.add(1, ordering: .relaxed).newValue
    let isCancelled = Mutex(false)
    return try await withTaskCancellationHandler {
      try await loop.flatSubmit {
        guard !isCancelled.withLock({ $0 }) else {
          return loop.makeFailedFuture(CancellationError())
        }
        return state.value?.ask(ticket, mailbox, question, reporting)
          ?? loop.makeFailedFuture(RelayFailure.unreachable("the link was closed"))
      }.get()
    } onCancel: {
      isCancelled.withLock { $0 = true }
      loop.execute { state.value?.abandon(ticket) }
    }
  }

  /// Listens to mailboxes.
  ///
  /// The handler receives their news on the link's thread.
  package func listen(
    to accesses: [MailboxAccess], _ handler: @escaping @Sendable (RelayNews) -> Void
  ) -> Int {
    let state = state
    let number = RelayLink.nextListener.add(1, ordering: .relaxed).newValue
    loop.execute { state.value?.listen(number, to: accesses, handler) }
    return number
  }

  /// Ends what `listen` began.
  package func stopListening(_ number: Int) {
    let state = state
    loop.execute { state.value?.stopListening(number) }
  }

  private static let nextListener = Atomic<Int>(0)
  private static let nextTicket = Atomic<UInt64>(0)
}

/// The state of a link, confined to the link's own thread.
private final class LinkState {
  private let address: RelayAddress
  private let loop: any EventLoop
  private let timing: RelayClientTiming
  private var session: RelayClientSession
  private var channel: (any Channel)?
  /// Rises with every connection, so that late events of an old connection are not taken for the
  /// new one's.
  private var connection = 0
  private var waiting: [UInt64: EventLoopPromise<RelayOutcome>] = [:]
  private var listeners: [Int: (mailboxes: Set<Identifier>, handler: @Sendable (RelayNews) -> Void)]
  private var alarm: (time: UInt64, task: Scheduled<Void>)?
  private var context: NIOSSLContext?
  private var sight: CertificateSight?
  /// The progress handler, the bytes so far and the bytes already reported.
  private var reporting: (handler: @Sendable (Int) -> Void, bytes: Int, reported: Int)?

  init(
    _ address: RelayAddress, loop: any EventLoop, session: RelayClientSession,
    timing: RelayClientTiming
  ) {
    self.address = address
    self.loop = loop
    self.session = session
    self.timing = timing
    listeners = [:]
  }

  private var now: UInt64 { NIODeadline.now().uptimeNanoseconds / 1_000_000 }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {
    session.know(access, cursor: cursor, now: now)
    perform()
  }

  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {
    for (access, cursor) in accesses { session.know(access, cursor: cursor, now: now) }
    session.prefetch(accesses.map(\.access.mailbox), now: now)
    perform()
  }

  func ask(
    _ ticket: UInt64, _ mailbox: Identifier, _ question: RelayQuestion,
    _ reporting: (@Sendable (Int) -> Void)?
  ) -> EventLoopFuture<RelayOutcome> {
    self.reporting = reporting.map { ($0, 0, 0) }
    let promise = loop.makePromise(of: RelayOutcome.self)
    waiting[ticket] = promise
    session.ask(ticket, mailbox, question, now: now)
    perform()
    return promise.futureResult
  }

  /// Stops waiting for an answer; one that comes later is dropped.
  func abandon(_ ticket: UInt64) {
    guard let promise = waiting.removeValue(forKey: ticket) else { return }
    session.abandon(ticket)
    promise.fail(CancellationError())
    perform()
  }

  func listen(
    _ number: Int, to accesses: [MailboxAccess],
    _ handler: @escaping @Sendable (RelayNews) -> Void
  ) {
    listeners[number] = (Set(accesses.map(\.mailbox)), handler)
    for access in accesses {
      session.know(access, cursor: nil, now: now)
      session.listen(to: access.mailbox, true, now: now)
    }
    perform()
  }

  func stopListening(_ number: Int) {
    let mailboxes = listeners.removeValue(forKey: number)?.mailboxes ?? []
    for mailbox in mailboxes.sorted()
    where !listeners.values.contains(where: { $0.mailboxes.contains(mailbox) }) {
      session.listen(to: mailbox, false, now: now)
    }
    perform()
  }

  func end() {
    session.end(now: now)
    perform()
    alarm?.task.cancel()
    alarm = nil
  }

  // MARK: Effects

  private func perform() {
    for effect in session.takeEffects() {
      switch effect {
      case .connect: connect()
      case .disconnect: disconnect()
      case .send(let bytes):
        write(bytes)
      case .finish(let ticket, .success(let outcome)):
        waiting.removeValue(forKey: ticket)?.succeed(outcome)
      case .finish(let ticket, .failure(let failure)):
        waiting.removeValue(forKey: ticket)?.fail(failure)
      case .news(let news): notify(news)
      }
    }
    setAlarm()
  }

  /// Long messages are written in parts of this size, so that the link sees whether the network
  /// accepts them.
  private static let partBytes = 16 << 10

  private func write(_ bytes: [UInt8]) {
    guard let channel else { return }
    guard bytes.count > LinkState.partBytes else {
      channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
      return
    }
    let number = connection
    var rest = ByteBuffer(bytes: bytes)
    while let part = rest.readSlice(length: min(LinkState.partBytes, rest.readableBytes)),
      part.readableBytes > 0
    {
      let count = part.readableBytes
      channel.write(part).assumeIsolated().whenSuccess { self.wrote(number, count) }
    }
    channel.flush()
  }

  private func wrote(_ number: Int, _ byteCount: Int) {
    guard number == connection else { return }
    moved(byteCount)
    session.progressed(now: now)
  }

  /// The number of bytes between two progress reports.
  private static let reportStepBytes = 64 << 10

  private func moved(_ byteCount: Int) {
    guard var reporting else { return }
    reporting.bytes += byteCount
    if reporting.bytes - reporting.reported >= LinkState.reportStepBytes {
      reporting.reported = reporting.bytes
      reporting.handler(reporting.bytes)
    }
    self.reporting = reporting
  }

  private func notify(_ news: RelayNews) {
    for number in listeners.keys.sorted() {
      guard let listener = listeners[number] else { continue }
      switch news {
      case .stored(let mailbox, _), .closed(let mailbox):
        guard listener.mailboxes.contains(mailbox) else { continue }
      case .lost: break
      }
      listener.handler(news)
    }
  }

  private func setAlarm() {
    guard let wake = session.wakeTime else {
      alarm?.task.cancel()
      alarm = nil
      return
    }
    if let alarm, alarm.time <= wake, alarm.time > now { return }
    alarm?.task.cancel()
    let wait = wake > now ? wake - now : 1
    let bound = NIOLoopBound(self, eventLoop: loop)
    let task = loop.scheduleTask(in: .milliseconds(Int64(clamping: wait))) {
      bound.value.ring()
    }
    alarm = (wake, task)
  }

  private func ring() {
    alarm = nil
    session.tick(now: now)
    perform()
  }

  // MARK: The connection

  private func connect() {
    connection += 1
    let number = connection
    let bound = NIOLoopBound(self, eventLoop: loop)
    let seen = CertificateSight(of: address)
    let address = address
    do {
      let context = try self.context ?? RelayLinkTLS.context(for: address)
      self.context = context
      ClientBootstrap(group: loop)
        .connectTimeout(.milliseconds(Int64(timing.connectMilliseconds)))
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers([
              try RelayLinkTLS.handler(context, for: address, seen),
              LinkHandler(bound.value, number: number),
            ])
          }
        }
        .connect(host: address.host, port: address.port)
        .assumeIsolated()
        .whenComplete { [self] result in
          guard number == connection else {
            if case .success(let channel) = result { channel.close(promise: nil) }
            return
          }
          switch result {
          case .success(let channel): self.channel = channel
          case .failure(let error): fail(number, RelayLinkTLS.failure(error, seen))
          }
        }
    } catch {
      // Fail in the loop's next turn, because this function is called while effects are performed.
      let failure = (error as? RelayFailure) ?? .unreachable("\(error)")
      loop.execute { bound.value.fail(number, failure) }
    }
    sight = seen
  }

  private func disconnect() {
    connection += 1
    channel?.close(promise: nil)
    channel = nil
  }

  /// - Parameter certificate: the certificate that the relay presented.
  fileprivate func secured(_ number: Int, _ certificate: NIOSSLCertificate?) {
    guard number == connection else { return }
    if address.asksAuthorities {
      guard let der = try? certificate?.toDERBytes() else {
        return fail(number, .untrusted("it shows no certificate"))
      }
      session.saw(pin: RelayAccess.pin(ofCertificate: der))
    }
    session.connected(now: now)
    perform()
  }

  fileprivate func read(_ number: Int, _ bytes: [UInt8]) {
    guard number == connection else { return }
    moved(bytes.count)
    session.received(bytes, now: now)
    perform()
  }

  /// - Parameter certificate: the certificate that the relay presented, if known.
  fileprivate func broke(
    _ number: Int, _ error: (any Error)?, showing certificate: NIOSSLCertificate? = nil
  ) {
    guard number == connection else { return }
    if address.asksAuthorities, let error,
      let reason = RelayAuthorities.objection(to: certificate, of: address.host, error)
    {
      return fail(number, .untrusted(reason))
    }
    let failure =
      error.map { RelayLinkTLS.failure($0, sight) } ?? .unreachable("it closed the connection")
    fail(number, failure)
  }

  private func fail(_ number: Int, _ failure: RelayFailure) {
    guard number == connection else { return }
    connection += 1
    channel?.close(promise: nil)
    channel = nil
    session.lost(failure, now: now)
    perform()
  }
}

/// Forwards a connection's events to its link.
private final class LinkHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let state: LinkState
  private let number: Int

  init(_ state: LinkState, number: Int) {
    self.state = state
    self.number = number
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
      state.secured(number, shown(context))
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    state.read(number, Array(unwrapInboundIn(data).readableBytesView))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    state.broke(number, error, showing: shown(context))
    context.close(promise: nil)
  }

  private func shown(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
    try? context.pipeline.syncOperations.nioSSL_peerCertificate()
  }

  func channelInactive(context: ChannelHandlerContext) {
    state.broke(number, nil)
  }
}
