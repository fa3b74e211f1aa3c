import ArgumentParser
import CMalloc
import Foundation
import Glibc
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import Logging

/// Who may create mailboxes, as a word on the command line.
///
/// The help shows raw values, which for the registration itself are numbers of the protocol.
enum RegistrationWord: String, CaseIterable, ExpressibleByArgument {
  case open
  case token
  case allowList = "allow-list"

  var registration: RelayRegistration {
    switch self {
    case .open: .open
    case .token: .token
    case .allowList: .allowList
    }
  }
}

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serves until it is stopped; needs no configuration.")
  @OptionGroup var folder: FolderOptions
  @Option(help: "Address and port for clients.") var listen =
    "127.0.0.1:\(RelayAddress.defaultPort)"
  @Option(help: "Port on 127.0.0.1 of /healthz and /metrics, or `off`.") var health = "7441"
  @Option(help: "The host that clients use, if it is not the one of --listen.")
  var host: String?
  @Option(
    help: "Who may make mailboxes: anybody, holders of a token, or keys that the operator lists.")
  var registration = RegistrationWord.open
  @Option(help: "Bytes that a mailbox may hold.") var mailboxBytes = RelayQuota().bytes
  @Option(help: "Bytes that all mailboxes together may hold; without it, the disk is the limit.")
  var totalBytes: UInt64?
  @Option(help: "The maximum number of connections.")
  var connections = RelayConfiguration().maximumSessions
  @Option(help: "The maximum number of connections from one address.")
  var connectionsPerAddress = RelayConfiguration().maximumSessionsPerAddress
  @Option(help: "A certificate chain in PEM, instead of the relay's own.") var certificate: String?
  @Option(help: "Its private key in PEM.") var certificateKey: String?
  @Flag(help: "Pin nothing: clients rely on the authorities that their system trusts.")
  var byAuthority = false

  func run() throws {
    ArgumentVeil.draw()
    let signals = TerminationSignals()
    let place = try Self.place(listen)
    let database = try folder.address()
    let healthPort = try Self.healthPort(health)
    try requirePositive()
    var configuration = RelayConfiguration()
    configuration.registration = registration.registration
    configuration.quota.bytes = mailboxBytes
    configuration.quota.total = totalBytes
    configuration.maximumSessions = connections
    configuration.maximumSessionsPerAddress = connectionsPerAddress
    let logger = Logger(label: "hearth-relay") { JSONLogHandler(label: $0) }
    // All written files belong to this user alone, even in a folder that existed before.
    umask(0o077)
    let folder = try RelayFolder(path: folder.data)
    ServeCommand.giveBackLargeBuffers()
    let identity = try folder.identity()
    let log: any RelayOperatorLog =
      if let database {
        try database.open(relayID: identity.relayID)
      } else {
        try SQLiteRelayLog(folder: folder.path)
      }
    try log.setTotalQuota(totalBytes)
    let server = try RelayServer.start(
      host: place.host, port: place.port, healthPort: healthPort, publicHost: host, log: log,
      identity: identity, configuration: configuration, files: try files(),
      byAuthority: byAuthority, logger: logger)
    Say.line("\(server.address)")
    logger.info(
      "serving",
      metadata: [
        "port": "\(server.address.port)", "health": "\(server.healthPort ?? 0)",
        "registration": "\(registration.rawValue)", "backend": "\(database?.description ?? "file")",
      ])
    signals.wait()
    logger.info("draining")
    try server.stop()
    logger.info("ended")
    withExtendedLifetime(folder) {}
  }

  /// Refuses limits under which the relay could serve nobody.
  private func requirePositive() throws(RelayError) {
    let limits: [(name: String, isPositive: Bool)] = [
      ("--mailbox-bytes", mailboxBytes > 0), ("--total-bytes", totalBytes != 0),
      ("--connections", connections > 0), ("--connections-per-address", connectionsPerAddress > 0),
    ]
    for limit in limits where !limit.isPositive {
      throw RelayError(.invalidOption, "\(limit.name) is a number from 1")
    }
  }

  private func files() throws -> RelayCertificateFiles? {
    if byAuthority, certificate == nil {
      throw RelayError(
        .invalidOption,
        "--by-authority needs --certificate and --certificate-key: no authority "
          + "vouches for the relay's own certificate")
    }
    switch (certificate, certificateKey) {
    case (nil, nil): return nil
    case (let chain?, let key?): return RelayCertificateFiles(chain: chain, key: key)
    default:
      throw RelayError(.invalidOption, "--certificate and --certificate-key go together")
    }
  }

  /// Makes glibc return the buffers of long frames to the system as soon as they are free.
  ///
  /// Otherwise glibc takes the size of the first large buffer that is freed as the minimum that it
  /// returns, and keeps all smaller ones for later: the peak of an attack would stay for good.
  private static func giveBackLargeBuffers() {
    _ = mallopt(M_MMAP_THRESHOLD, 256 << 10)
  }

  /// Returns host and port of `--listen`; an IPv6 address stands in brackets.
  static func place(_ text: String) throws(RelayError) -> (host: String, port: Int) {
    let fault = RelayError(
      .invalidOption, "--listen is HOST:PORT, such as 127.0.0.1:7440 or [::]:7440, not \(text)")
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw fault }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    guard !host.isEmpty, text.hasPrefix("[") || !host.contains(":") else { throw fault }
    return (host, port)
  }

  /// Returns the port of `--health`; nil for none.
  static func healthPort(_ text: String) throws(RelayError) -> Int? {
    if text == "off" { return nil }
    guard let port = Int(text), (0...65_535).contains(port) else {
      throw RelayError(.invalidOption, "--health is a port or `off`, not \(text)")
    }
    return port
  }
}

/// Waits for SIGTERM or SIGINT.
///
/// Create it before the process has a second thread.
///
/// Both signals are blocked from then on, in every later thread, and stay pending until this type
/// takes them. A handler would lose some: it runs in whichever thread the system chooses, and what
/// it passes on to another may get lost while threads begin.
struct TerminationSignals {
  private var awaited = sigset_t()

  init() {
    sigemptyset(&awaited)
    for number in [SIGTERM, SIGINT] { sigaddset(&awaited, number) }
    let status = pthread_sigmask(SIG_BLOCK, &awaited, nil)
    precondition(status == 0, "signals cannot be blocked: \(status)")
  }

  func wait() {
    var awaited = awaited
    var number: Int32 = 0
    let status = sigwait(&awaited, &number)
    precondition(status == 0, "signals cannot be awaited: \(status)")
  }
}
