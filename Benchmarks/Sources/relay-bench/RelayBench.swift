import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import NIOCore
import NIOPosix
import NIOSSL

/// Measures what a running relay acknowledges: durable puts a second, and how long each takes; or
/// what it holds for subscribers that say nothing.
@main
struct RelayBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay-bench",
    abstract: "Measures a running relay that lets anybody register: durable puts, memory.")
  @Argument(help: "The relay's address line; several writers are spread over several.")
  var addresses: [String]
  @Option(help: "Writers of one mailbox, one measurement after the other.")
  var writers = "1,8,50"
  @Option(help: "Bytes of a blob.") var bytes = 1_024
  @Option(help: "Seconds of each measurement.") var seconds = 5
  @Option(help: "In place of writers: so many subscribers that say nothing.") var idle = 0
  @Option(help: "With --idle: the relay's process here, whose memory is read.") var process: Int32?

  func run() async throws {
    let pair = try SigningKeyPair(seed: SecretKey.random())
    let relays = try addresses.map { try RelayAddress($0) }
    if idle > 0 {
      guard let process else { throw ValidationError("--idle needs --process") }
      return try await IdleSubscribers(relays: relays, process: process).run(idle)
    }
    for count in writers.split(separator: ",").compactMap({ Int($0) }) {
      guard let mailbox = Identifier(bytes: RandomBytes.make(Identifier.byteCount)) else { return }
      var lines: [BenchLine] = []
      for place in 0..<count {
        let line = try await BenchLine.connect(to: relays[place % relays.count])
        try await line.enter(mailbox, pair, creates: place == 0)
        lines.append(line)
      }
      let began = ContinuousClock.now
      let deadline = began + .seconds(seconds)
      let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
        for line in lines { group.addTask { try await line.write(bytes, until: deadline) } }
        return try await group.reduce(into: []) { $0 += $1 }.sorted()
      }
      let rate = Double(times.count) / (began.duration(to: .now) / .seconds(1))
      func milliseconds(_ share: Double) -> String {
        guard !times.isEmpty else { return "-" }
        let time = times[Int(Double(times.count - 1) * share)] / .milliseconds(1)
        return String(format: "%.1f", time)
      }
      let words =
        "\(count) writers: \(Int(rate)) puts/s, p50 \(milliseconds(0.5)) ms, "
        + "p99 \(milliseconds(0.99)) ms\n"
      FileHandle.standardOutput.write(Data(words.utf8))
    }
  }
}

/// One connection that asks one thing at a time.
final class BenchLine: Sendable {
  private let channel: any Channel
  private let pin: Bytes32
  private let waiting: NIOLoopBoundBox<EventLoopPromise<RelayReply>?>

  struct Refused: Error { let words: String }

  private init(
    _ channel: any Channel, _ pin: Bytes32,
    _ waiting: NIOLoopBoundBox<EventLoopPromise<RelayReply>?>
  ) {
    self.channel = channel
    self.pin = pin
    self.waiting = waiting
  }

  static func connect(to address: RelayAddress) async throws -> BenchLine {
    var configuration = TLSConfiguration.makeClientConfiguration()
    // The pin stands for the name; the callback below judges the certificate.
    configuration.certificateVerification = .noHostnameVerification
    configuration.minimumTLSVersion = .tlsv13
    configuration.verifySignatureAlgorithms = [.ed25519]
    let context = try NIOSSLContext(configuration: configuration)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let waiting = NIOLoopBoundBox.makeEmptyBox(
      valueType: EventLoopPromise<RelayReply>.self, eventLoop: loop)
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
          try channel.pipeline.syncOperations.addHandlers([tls, Replies(waiting)])
        }
      }.connect(host: address.host, port: address.port).get()
    return BenchLine(channel, pin, waiting)
  }

  func ask(_ request: RelayRequest) async throws -> RelayReply {
    let bytes = RelayFrame(request: 1, request).encoded
    let channel = self.channel
    let waiting = self.waiting
    return try await channel.eventLoop.flatSubmit {
      let promise = channel.eventLoop.makePromise(of: RelayReply.self)
      waiting.value = promise
      channel.writeAndFlush(ByteBuffer(bytes: bytes)).cascadeFailure(to: promise)
      return promise.futureResult
    }.get()
  }

  /// Opens a mailbox by its key, or makes it.
  func enter(_ mailbox: Identifier, _ pair: SigningKeyPair, creates: Bool) async throws {
    guard
      case .welcome(let welcome) = try await ask(.hello(minimumVersion: 1, maximumVersion: 1)),
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

  /// Waits until the relay answers.
  func ping() async throws {
    let reply = try await ask(.ping)
    guard case .pong = reply else { throw Refused(words: "\(reply)") }
  }

  /// Puts one blob after the other; how long each took to be acknowledged.
  func write(_ bytes: Int, until deadline: ContinuousClock.Instant) async throws -> [Duration] {
    var times: [Duration] = []
    while ContinuousClock.now < deadline {
      let item = RelayPut(name: RandomBytes.make(16), blob: RandomBytes.make(bytes))
      let began = ContinuousClock.now
      let reply = try await ask(.put(channel: 0, items: [item]))
      guard case .stored = reply else { throw Refused(words: "\(reply)") }
      times.append(began.duration(to: .now))
    }
    return times
  }

  private final class Replies: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var buffer = RelayFrameBuffer()
    private let waiting: NIOLoopBoundBox<EventLoopPromise<RelayReply>?>

    init(_ waiting: NIOLoopBoundBox<EventLoopPromise<RelayReply>?>) { self.waiting = waiting }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      buffer.append(Array(unwrapInboundIn(data).readableBytesView))
      do {
        while let bytes = try buffer.next() {
          let frame = try RelayFrame<RelayReply>(decoding: bytes)
          if frame.request > 0 { take()?.succeed(frame.message) }
        }
      } catch {
        context.close(promise: nil)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      take()?.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      take()?.fail(Refused(words: "the relay closed the connection"))
    }

    private func take() -> EventLoopPromise<RelayReply>? {
      defer { waiting.value = nil }
      return waiting.value
    }
  }
}
