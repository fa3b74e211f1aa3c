import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync
import NIOCore
import NIOPosix
import NIOSSL

/// One connection that asks, and counts what is pushed to it.
final class BenchLine: Sendable {
  private let channel: any Channel
  private let pin: Bytes32
  private let talk: NIOLoopBound<Talk>

  struct Refused: Error { let words: String }

  private init(_ channel: any Channel, _ pin: Bytes32, _ talk: NIOLoopBound<Talk>) {
    self.channel = channel
    self.pin = pin
    self.talk = talk
  }

  static func connect(to address: RelayAddress) async throws -> BenchLine {
    var configuration = TLSConfiguration.makeClientConfiguration()
    // The pin stands for the name; the callback below judges the certificate.
    configuration.certificateVerification = .noHostnameVerification
    configuration.trustRoots = .certificates([])
    configuration.minimumTLSVersion = .tlsv13
    configuration.verifySignatureAlgorithms = [.ed25519]
    let context = try NIOSSLContext(configuration: configuration)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let talk = try await loop.submit { NIOLoopBound(Talk(), eventLoop: loop) }.get()
    let pin = address.pin
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let tls = try NIOSSLClientHandler(context: context, serverHostname: nil) {
            certificates, promise in
            let der = (try? certificates.first?.toDERBytes()) ?? []
            promise.succeed(
              RelayAccess.pin(ofCertificate: der) == pin ? .certificateVerified : .failed)
          }
          try channel.pipeline.syncOperations.addHandlers([tls, talk.value])
        }
      }.connect(host: address.host, port: address.port).get()
    return BenchLine(channel, pin, talk)
  }

  /// Asks; several questions may be on their way at once.
  func ask(_ request: RelayRequest) async throws -> RelayReply {
    try await channel.eventLoop.flatSubmit { [talk] in talk.value.ask(request) }.get()
  }

  /// Opens a mailbox by its key, or makes it.
  func enter(_ mailbox: Identifier, _ pair: SigningKeyPair, creates: Bool) async throws {
    guard
      case .welcome(let welcome) = try await ask(.hello(minimumVersion: 2, maximumVersion: 2)),
      case .challenge(_, let nonce) = try await ask(.open(channel: 0, mailbox: mailbox))
    else { throw Refused(words: "the relay does not greet") }
    let binding = RelayAccess.Binding(
      relayID: welcome.relayID, pin: pin, relayNonce: nonce,
      clientNonce: Bytes32(exactly: RandomBytes.make(32)))
    let key = pair.publicKey.bytes
    let request: RelayRequest
    if creates {
      let signed = RelayAccess.Creation(
        kind: RelayMailboxKind.sealed.rawValue, accessKey: key, managerKey: key, credential: [])
      let signature = RelayAccess.signCreation(
        signed, with: pair, mailbox: mailbox.bytes, binding: binding)
      request = .create(
        RelayCreation(
          channel: 0, kind: .sealed, accessKey: key, managerKey: key, credential: [],
          clientNonce: binding.clientNonce, accessSignature: signature,
          managerSignature: signature))
    } else {
      request = .prove(
        RelayProof(
          channel: 0, keyID: RelayAccess.keyID(of: key), clientNonce: binding.clientNonce,
          signature: RelayAccess.prove(pair, mailbox: mailbox.bytes, binding: binding),
          cursor: nil))
    }
    let reply = try await ask(request)
    guard case .opened = reply else { throw Refused(words: "\(reply)") }
  }

  /// Asks for pushes.
  func subscribe() async throws {
    let reply = try await ask(.subscribe(channel: 0))
    guard case .subscribed = reply else { throw Refused(words: "\(reply)") }
  }

  /// Waits until a server that sends back what it gets has done so: then both have their keys.
  func shakeHands() async throws {
    try await channel.eventLoop.flatSubmit { [talk] in talk.value.echo() }.get()
  }

  /// Waits until the relay answers.
  func ping() async throws {
    let reply = try await ask(.ping)
    guard case .pong = reply else { throw Refused(words: "\(reply)") }
  }

  /// Puts blobs in one request.
  func put(_ items: [RelayPut]) async throws {
    let reply = try await ask(.put(channel: 0, items: items))
    guard case .stored = reply else { throw Refused(words: "\(reply)") }
  }

  /// Puts one blob after the other; how long each took to be acknowledged.
  func write(_ bytes: Int, until deadline: ContinuousClock.Instant) async throws -> [Duration] {
    var times: [Duration] = []
    while ContinuousClock.now < deadline {
      let item = RelayPut(name: RandomBytes.make(16), blob: RandomBytes.make(bytes))
      let began = ContinuousClock.now
      try await put([item])
      times.append(began.duration(to: .now))
    }
    return times
  }

  /// Returns once so many entries arrived.
  func wait(for count: Int) async throws {
    try await channel.eventLoop.flatSubmit { [talk] in talk.value.wait(for: count) }.get()
  }

  /// When each entry arrived that was pushed or fetched after a hint, in order of position.
  func arrivals() async throws -> [ContinuousClock.Instant] {
    try await channel.eventLoop.submit { [talk] in talk.value.arrivals }.get()
  }
}

/// What is said on a connection; of one event loop.
private final class Talk: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private(set) var arrivals: [ContinuousClock.Instant] = []
  /// What arrived and is not yet a whole frame.
  private var stream = ByteBuffer()
  private var context: ChannelHandlerContext?
  private var waiting: [UInt32: EventLoopPromise<RelayReply>] = [:]
  private var lastRequest: UInt32 = 0
  private var awaited: (count: Int, promise: EventLoopPromise<Void>)?
  private var echoed: EventLoopPromise<Void>?
  private var isFetching = false
  private var position: UInt64 { UInt64(arrivals.count) }

  /// The type of a push's frame.
  private static let pushType: UInt8 = 0x81
  /// Type, request, channel and count of a push fit in so many bytes.
  private static let headBytes = 16

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func ask(_ request: RelayRequest) -> EventLoopFuture<RelayReply> {
    guard let context else { preconditionFailure("asked before there was a connection") }
    lastRequest += 1
    let promise = context.eventLoop.makePromise(of: RelayReply.self)
    waiting[lastRequest] = promise
    let bytes = RelayFrame(request: lastRequest, request).encoded
    context.channel.writeAndFlush(ByteBuffer(bytes: bytes)).cascadeFailure(to: promise)
    return promise.futureResult
  }

  func echo() -> EventLoopFuture<Void> {
    guard let context else { preconditionFailure("asked before there was a connection") }
    let promise = context.eventLoop.makePromise(of: Void.self)
    echoed = promise
    context.channel.writeAndFlush(ByteBuffer(bytes: [0])).cascadeFailure(to: promise)
    return promise.futureResult
  }

  func wait(for count: Int) -> EventLoopFuture<Void> {
    guard let context else { preconditionFailure("asked before there was a connection") }
    let promise = context.eventLoop.makePromise(of: Void.self)
    awaited = (count, promise)
    settle()
    return promise.futureResult
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if let echoed {
      self.echoed = nil
      echoed.succeed()
      return
    }
    var more = unwrapInboundIn(data)
    stream.writeBuffer(&more)
    do {
      while let count = try nextFrame() {
        if let entries = entriesPushed(inFrameOf: count) {
          stream.moveReaderIndex(forwardBy: count)
          arrived(entries)
        } else {
          try take(RelayFrame<RelayReply>(decoding: stream.readBytes(length: count) ?? []))
        }
      }
      stream.discardReadBytes()
    } catch {
      context.close(promise: nil)
    }
  }

  /// Goes past the length field of a frame that is whole; how long the frame is.
  private func nextFrame() throws -> Int? {
    guard let field = stream.getInteger(at: stream.readerIndex, as: UInt32.self) else { return nil }
    let count = try RelayFraming.frameBytes(announcedBy: field)
    guard stream.readableBytes >= RelayFraming.lengthBytes + count else { return nil }
    stream.moveReaderIndex(forwardBy: RelayFraming.lengthBytes)
    return count
  }

  /// How many entries a push has, by its head alone, as the clients of other brokers in the shared
  /// workload count marks; nil for another frame.
  private func entriesPushed(inFrameOf count: Int) -> Int? {
    guard stream.getInteger(at: stream.readerIndex, as: UInt8.self) == Talk.pushType,
      let head = stream.getBytes(at: stream.readerIndex, length: min(count, Talk.headBytes))
    else { return nil }
    var reader = ByteReader(head)
    _ = try? reader.byte("frame type")
    // The request, which is none, and the channel.
    for _ in 0..<2 { _ = try? reader.varint("number", atMost: .max) }
    return try? reader.varint("entries", atMost: RelayLimits.maximumBatchItems)
  }

  private func take(_ frame: RelayFrame<RelayReply>) {
    if frame.request > 0 {
      waiting.removeValue(forKey: frame.request)?.succeed(frame.message)
    } else if case .behind(_, let head) = frame.message {
      fetch(to: head)
    } else if case .farewell(let fault) = frame.message {
      end(BenchLine.Refused(words: "\(fault)"))
    }
  }

  /// Notes entries, each the next in a mailbox that was empty when this line began to listen.
  private func arrived(_ count: Int) {
    let now = ContinuousClock.now
    arrivals += repeatElement(now, count: count)
    settle()
  }

  /// Fetches what was only hinted at, page by page.
  private func fetch(to head: UInt64) {
    guard !isFetching, position < head else { return }
    isFetching = true
    guard let loop = context?.eventLoop else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    ask(.fetchAfter(channel: 0, after: position, limit: RelayLimits.maximumBatchItems))
      .whenSuccess { reply in
        let talk = bound.value
        talk.isFetching = false
        guard case .entries(let page) = reply else { return }
        talk.arrived(page.entries.count)
        talk.fetch(to: max(head, page.head))
      }
  }

  private func settle() {
    guard let awaited, arrivals.count >= awaited.count else { return }
    self.awaited = nil
    awaited.promise.succeed()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(BenchLine.Refused(words: "the relay closed the connection"))
  }

  private func end(_ error: any Error) {
    for (_, promise) in waiting.sorted(by: { $0.key < $1.key }) { promise.fail(error) }
    waiting.removeAll()
    awaited?.promise.fail(error)
    awaited = nil
    echoed?.fail(error)
    echoed = nil
  }
}
