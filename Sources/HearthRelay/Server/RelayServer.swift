import Foundation
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A certificate that a relay presents instead of its own.
package struct RelayCertificateFiles: Sendable {
  /// The chain in PEM, leaf first.
  package var chain: String
  /// The private key in PEM.
  package var key: String

  package init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}

/// A running relay: sockets, TLS, threads and clock around the core.
package final class RelayServer: Sendable {
  /// The address for clients.
  package let address: RelayAddress
  /// The operator's port; nil if there is none.
  package let healthPort: Int?
  private let group: MultiThreadedEventLoopGroup
  private let pool: NIOThreadPool
  private let hub: NIOLoopBound<RelayHub>
  private let channels: [any Channel]
  private let ticking: RepeatedTask
  private let log: any RelayLog

  /// Starts to serve.
  ///
  /// - Parameters:
  ///   - host: the address to listen on.
  ///   - port: the port, or 0 for any that is free.
  ///   - healthPort: the port of `/healthz` and `/metrics` on 127.0.0.1, 0 for any, nil for none.
  ///   - publicHost: the host in the address line, if it is not `host`.
  ///   - log: the durable log.
  ///   - identity: the relay's identity.
  ///   - configuration: the bounds.
  ///   - files: a certificate to present instead of the relay's own.
  ///   - byAuthority: whether the address line pins nothing, because an authority that clients
  ///     trust vouches for that certificate.
  ///   - logger: the logger for events.
  /// - Throws: `RelayError.cannotListen`, `badCertificate`.
  package static func start(
    host: String, port: Int, healthPort: Int?, publicHost: String? = nil, log: any RelayLog,
    identity: RelayServerIdentity, configuration: RelayConfiguration = RelayConfiguration(),
    files: RelayCertificateFiles? = nil, byAuthority: Bool = false, logger: Logger
  ) throws -> RelayServer {
    let (context, pin) = try RelayTLS.serverContext(identity, files)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let pool = NIOThreadPool(numberOfThreads: 2)
    pool.start()
    let loop = group.next()
    let core = RelayCore(
      configuration: configuration,
      identity: RelayIdentity(
        relayID: identity.relayID, pin: pin, decoyKey: identity.decoyKey.bytes,
        decoySecret: identity.decoySecret), random: { RandomBytes.make($0) })
    do {
      let hub = try loop.submit {
        NIOLoopBound(
          RelayHub(
            loop: loop, core: core, log: log, pool: pool, logger: logger, clock: RelayServer.now),
          eventLoop: loop)
      }.wait()
      let main = try listen(host, port, group, hub, context)
      let health = try healthPort.map { try listenForHealth($0, group, hub) }
      let ticking = loop.scheduleRepeatedTask(
        initialDelay: .seconds(1), delay: .seconds(1)
      ) { _ in hub.value.tick() }
      (log as? any RelaySharedLog)?.listen { tidings in
        loop.execute { hub.value.hear(tidings) }
      }
      return RelayServer(
        address: try RelayAddress(
          host: publicHost ?? host, port: main.localAddress?.port ?? port,
          pin: byAuthority ? RelayAddress.byAuthority : pin),
        healthPort: health?.localAddress?.port, group: group, pool: pool, hub: hub,
        channels: [main] + (health.map { [$0] } ?? []), ticking: ticking, log: log)
    } catch {
      try? group.syncShutdownGracefully()
      try? pool.syncShutdownGracefully()
      throw error
    }
  }

  private init(
    address: RelayAddress, healthPort: Int?, group: MultiThreadedEventLoopGroup,
    pool: NIOThreadPool, hub: NIOLoopBound<RelayHub>, channels: [any Channel],
    ticking: RepeatedTask, log: any RelayLog
  ) {
    self.address = address
    self.healthPort = healthPort
    self.group = group
    self.pool = pool
    self.hub = hub
    self.channels = channels
    self.ticking = ticking
    self.log = log
  }

  private static func listen(
    _ host: String, _ port: Int, _ group: MultiThreadedEventLoopGroup,
    _ hub: NIOLoopBound<RelayHub>, _ context: NIOSSLContext
  ) throws -> any Channel {
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 512)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(
        .writeBufferWaterMark, value: .init(low: 128 << 10, high: 512 << 10)
      )
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let hub = hub.value
          let limit = RelayFrameLimit()
          let connection = RelayConnection(id: hub.nextID(), hub: hub, limit: limit)
          try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: context),
            ByteToMessageHandler(RelayFrameDecoder(limit: limit)), connection,
          ])
        }
      }
    do {
      return try bootstrap.bind(host: host, port: port).wait()
    } catch {
      throw RelayError(
        .cannotListen,
        "cannot listen on \(host):\(port): \(SystemWords.words(error)): choose another "
          + "--listen"
      )
    }
  }

  private static func listenForHealth(
    _ port: Int, _ group: MultiThreadedEventLoopGroup, _ hub: NIOLoopBound<RelayHub>
  ) throws -> any Channel {
    let loop = group.next()
    let status: @Sendable () -> EventLoopFuture<RelayStatus> = {
      loop.submit { hub.value.status }
    }
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(HealthHandler(status: status))
        }
      }
    do {
      return try bootstrap.bind(host: "127.0.0.1", port: port).wait()
    } catch {
      throw RelayError(
        .cannotListen,
        "cannot listen on 127.0.0.1:\(port): \(SystemWords.words(error)): choose another "
          + "--health")
    }
  }

  /// Returns the relay's counters and gauges.
  package func status() throws -> RelayStatus {
    let hub = hub
    return try hub.eventLoop.submit { hub.value.status }.wait()
  }

  /// Stops accepting connections, answers pending requests, ends all sessions, and stops.
  ///
  /// - Parameter graceMilliseconds: the time after which remaining connections are cut.
  package func stop(graceMilliseconds: Int64 = 10_000) throws {
    let hub = hub
    for channel in channels { try? channel.close().wait() }
    let deadline = hub.eventLoop.makePromise(of: Void.self)
    let timer = hub.eventLoop.scheduleTask(in: .milliseconds(graceMilliseconds)) {
      deadline.succeed()
    }
    hub.eventLoop.execute { hub.value.drain().cascade(to: deadline) }
    try deadline.futureResult.wait()
    timer.cancel()
    ticking.cancel()
    (log as? any RelaySharedLog)?.stopListening()
    try pool.syncShutdownGracefully()
    try group.syncShutdownGracefully()
  }

  /// Stops everything at once, as the end of the process would; for tests.
  package func kill() throws {
    ticking.cancel()
    (log as? any RelaySharedLog)?.stopListening()
    try group.syncShutdownGracefully()
    try pool.syncShutdownGracefully()
  }

  @Sendable
  private static func now() -> RelayTime {
    RelayTime(
      milliseconds: NIODeadline.now().uptimeNanoseconds / 1_000_000,
      day: UInt32(max(0, Date().timeIntervalSince1970) / 86_400))
  }
}

/// The TLS configuration of relays.
package enum RelayTLS {
  /// Creates the server's context: TLS 1.3 only, the relay's own certificate or the operator's.
  ///
  /// - Returns: the context and the pin of the leaf certificate.
  package static func serverContext(
    _ identity: RelayServerIdentity, _ files: RelayCertificateFiles?
  ) throws -> (NIOSSLContext, Bytes32) {
    do {
      var configuration: TLSConfiguration
      let leaf: [UInt8]
      if let files {
        let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
        guard let first = chain.first else {
          throw RelayError(.badCertificate, "\(files.chain) holds no certificate")
        }
        leaf = try first.toDERBytes()
        configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: chain.map { .certificate($0) },
          privateKey: .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem)))
      } else {
        leaf = identity.certificate
        let key = try identity.withPrivateKey { try NIOSSLPrivateKey(bytes: $0, format: .der) }
        configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: [.certificate(try NIOSSLCertificate(bytes: leaf, format: .der))],
          privateKey: .privateKey(key))
        configuration.signingSignatureAlgorithms = [.ed25519]
      }
      configuration.minimumTLSVersion = .tlsv13
      // After an ended session, wait no longer than its last message takes over a slow network:
      // until then all of the connection's state is kept.
      configuration.shutdownTimeout = .seconds(1)
      return (
        try NIOSSLContext(configuration: configuration), RelayAccess.pin(ofCertificate: leaf)
      )
    } catch let error as RelayError {
      throw error
    } catch {
      throw RelayError(
        .badCertificate,
        files.map {
          "the certificate \($0.chain) and the key \($0.key) cannot be used: both must "
            + "exist, be in PEM, and belong together"
        } ?? "the relay's own certificate cannot be used: report this as a fault of Hearth")
    }
  }
}
