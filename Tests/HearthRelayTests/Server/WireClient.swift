import HearthCRDT
import HearthCrypto
import HearthSync
import NIOCore
import NIOPosix
import NIOSSL

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// A small client over a real socket, as far as tests of the server need one.
final class WireClient: Sendable {
  private let channel: any Channel
  private let state: NIOLoopBound<State>
  let pin: Bytes32

  /// What waits and what came, on the client's loop.
  final class State {
    var next: UInt32 = 0
    var waiting: [UInt32: EventLoopPromise<RelayReply>] = [:]
    var pushes: [RelayReply] = []
    var waitingPush: EventLoopPromise<RelayReply>?
    var buffer = RelayFrameBuffer()
    var seenPin: Bytes32?
    var isClosed = false
    var closing: [EventLoopPromise<Void>] = []
  }

  struct Ended: Error {}

  private init(channel: any Channel, state: NIOLoopBound<State>, pin: Bytes32) {
    self.channel = channel
    self.state = state
    self.pin = pin
  }

  /// Connects, refusing every certificate but the pinned one.
  static func connect(
    to address: RelayAddress, greets: Bool = true, maximumVersion: TLSVersion? = nil,
    group: MultiThreadedEventLoopGroup = .singleton
  ) async throws -> WireClient {
    var configuration = TLSConfiguration.makeClientConfiguration()
    // The pin stands for the name; the callback below judges the certificate.
    configuration.certificateVerification = .noHostnameVerification
    configuration.minimumTLSVersion = maximumVersion ?? .tlsv13
    configuration.maximumTLSVersion = maximumVersion
    if maximumVersion == nil { configuration.verifySignatureAlgorithms = [.ed25519] }
    let context = try NIOSSLContext(configuration: configuration)
    let loop = group.next()
    let state = try await loop.submit { NIOLoopBound(State(), eventLoop: loop) }.get()
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pin = address.pin
          let tls = try NIOSSLClientHandler(context: context, serverHostname: nil) {
            certificates, promise in
            let der = (try? certificates.first?.toDERBytes()) ?? []
            promise.succeed(
              RelayAccess.pin(ofCertificate: der) == pin ? .certificateVerified : .failed)
          }
          try channel.pipeline.syncOperations.addHandlers([tls, Handler(state.value)])
        }
      }.connect(host: address.host, port: address.port).get()
    let client = WireClient(channel: channel, state: state, pin: address.pin)
    if greets { _ = try await client.ask(.hello(minimumVersion: 2, maximumVersion: 2)) }
    return client
  }

  /// Asks and waits for the answer.
  func ask(_ request: RelayRequest) async throws -> RelayReply {
    try await begin(request).get()
  }

  /// Asks without waiting.
  func begin(_ request: RelayRequest) -> EventLoopFuture<RelayReply> {
    let state = self.state
    let channel = self.channel
    return channel.eventLoop.flatSubmit {
      let state = state.value
      let promise = channel.eventLoop.makePromise(of: RelayReply.self)
      guard !state.isClosed else {
        promise.fail(Ended())
        return promise.futureResult
      }
      state.next += 1
      state.waiting[state.next] = promise
      channel.writeAndFlush(
        ByteBuffer(bytes: RelayFrame(request: state.next, request).encoded), promise: nil)
      return promise.futureResult
    }
  }

  /// Sends bytes as they are.
  func send(_ bytes: [UInt8]) async throws {
    try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
  }

  /// The next push, which may have come already.
  func push() async throws -> RelayReply {
    let state = self.state
    let loop = channel.eventLoop
    return try await loop.flatSubmit {
      let state = state.value
      let promise = loop.makePromise(of: RelayReply.self)
      if !state.pushes.isEmpty {
        promise.succeed(state.pushes.removeFirst())
      } else if state.isClosed {
        promise.fail(Ended())
      } else {
        state.waitingPush = promise
      }
      return promise.futureResult
    }.get()
  }

  /// Reads nothing more from the socket, or goes on.
  func setReading(_ isReading: Bool) async throws {
    try await channel.setOption(.autoRead, value: isReading).get()
  }

  /// Waits as a relay asked for that was not able to answer.
  func wait(milliseconds: Int) async throws {
    try await channel.eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {}
      .futureResult.get()
  }

  /// Waits until the relay has closed the connection.
  func end() async throws {
    try await channel.closeFuture.get()
  }

  func close() async throws {
    try? await channel.close().get()
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let state: State

    init(_ state: State) { self.state = state }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      state.buffer.append(Array(unwrapInboundIn(data).readableBytesView))
      do {
        while let bytes = try state.buffer.next() {
          let frame = try RelayFrame<RelayReply>(decoding: bytes)
          if frame.request > 0 {
            state.waiting.removeValue(forKey: frame.request)?.succeed(frame.message)
          } else if let promise = state.waitingPush {
            state.waitingPush = nil
            promise.succeed(frame.message)
          } else {
            state.pushes.append(frame.message)
          }
        }
      } catch {
        context.close(promise: nil)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      state.isClosed = true
      for number in state.waiting.keys.sorted() {
        state.waiting.removeValue(forKey: number)?.fail(Ended())
      }
      state.waitingPush?.fail(Ended())
      state.waitingPush = nil
    }
  }
}

extension RelayConfiguration {
  /// The defaults, but no client is too slow, however busy the machine is.
  static var unhurried: RelayConfiguration {
    var configuration = RelayConfiguration()
    configuration.handshakeMilliseconds = 3_600_000
    configuration.slowReaderMilliseconds = 3_600_000
    configuration.heartbeatSeconds = 1_200
    return configuration
  }
}

/// A relay of a test, on a free port and a folder of its own.
final class ServerShelf {
  let folder: TestFolder
  private(set) var server: RelayServer
  let identity: RelayServerIdentity
  let mailbox = Identifier(high: 11, low: 12)

  init(_ configuration: RelayConfiguration = .unhurried) throws {
    folder = try TestFolder()
    identity = try RelayServerIdentity(master: CoreWorld.key(0x44))
    server = try ServerShelf.start(folder, identity, configuration)
  }

  static func start(
    _ folder: TestFolder, _ identity: RelayServerIdentity, _ configuration: RelayConfiguration
  ) throws -> RelayServer {
    try RelayServer.start(
      host: "127.0.0.1", port: 0, healthPort: 0, log: SQLiteRelayLog(folder: folder.path),
      identity: identity, configuration: configuration, logger: .quiet)
  }

  func restart() throws {
    try server.kill()
    server = try ServerShelf.start(folder, identity, .unhurried)
  }

  /// The mailbox of a challenge, proven or made by the pair.
  func enter(
    _ client: WireClient, _ pair: SigningKeyPair, creates: Bool = false,
    cursor: RelayCursor? = nil
  ) async throws -> RelayReply {
    try await WireEntry(mailbox: mailbox, relayID: identity.relayID)
      .enter(client, pair, creates: creates, cursor: cursor)
  }
}

/// One mailbox at one relay, and the way in.
struct WireEntry {
  let mailbox: Identifier
  let relayID: Bytes32

  /// The mailbox of a challenge, proven or made by the pair.
  func enter(
    _ client: WireClient, _ pair: SigningKeyPair, creates: Bool = false,
    cursor: RelayCursor? = nil
  ) async throws -> RelayReply {
    let challenge = try await client.ask(.open(channel: 0, mailbox: mailbox))
    guard case .challenge(_, let nonce) = challenge else { return challenge }
    let binding = RelayAccess.Binding(
      relayID: relayID, pin: client.pin, relayNonce: nonce,
      clientNonce: Bytes32(exactly: RandomBytes.make(32)))
    guard creates else {
      let proof = RelayProof(
        channel: 0, keyID: RelayAccess.keyID(of: pair.publicKey.bytes),
        clientNonce: binding.clientNonce,
        signature: RelayAccess.prove(pair, mailbox: mailbox.bytes, binding: binding),
        cursor: cursor)
      return try await client.ask(.prove(proof))
    }
    let signed = RelayAccess.Creation(
      kind: 0, accessKey: pair.publicKey.bytes, managerKey: pair.publicKey.bytes, credential: [])
    let signature = RelayAccess.signCreation(
      signed, with: pair, mailbox: mailbox.bytes, binding: binding)
    return try await client.ask(
      .create(
        RelayCreation(
          channel: 0, kind: .sealed, accessKey: signed.accessKey, managerKey: signed.managerKey,
          credential: [], clientNonce: binding.clientNonce, accessSignature: signature,
          managerSignature: signature)))
  }
}

/// Asks a port for a page of plain HTTP.
enum PlainText {
  static func get(_ path: String, port: Int) async throws -> String {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = loop.makePromise(of: String.self)
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Collector(promise))
        }
      }.connect(host: "127.0.0.1", port: port).get()
    try await channel.writeAndFlush(
      ByteBuffer(string: "GET \(path) HTTP/1.1\r\nhost: localhost\r\n\r\n")
    ).get()
    return try await promise.futureResult.get()
  }

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var text = ""
    private let promise: EventLoopPromise<String>

    init(_ promise: EventLoopPromise<String>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      text += String(buffer: unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }
  }
}
