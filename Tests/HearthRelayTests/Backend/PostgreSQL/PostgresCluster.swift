import Foundation
import Glibc
import HearthCrypto
import HearthRelay
import HearthRelayCore
import HearthRelayPostgres
import Synchronization
import Testing

@testable import HearthRelay
@testable import HearthRelayPostgres

/// A private PostgreSQL cluster in a temporary folder, gone when the test process ends.
///
/// A shell waits for the end of this process, however it comes, and then stops the server and
/// removes the folder.
final class PostgresCluster: Sendable {
  let folder: String
  let port: Int
  private let keeper: Pipe
  private let count = Mutex(0)

  struct Failed: Error { let words: String }

  /// The programs of the newest version that is installed; nil where there is none.
  static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return versions.compactMap { Int($0) }.sorted().reversed()
      .map { "\(root)/\($0)/bin" }
      .first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
  }()

  static let isPresent: Bool = {
    if programs == nil { FileHandle.standardError.write(Data("\(absence)\n".utf8)) }
    return programs != nil
  }()

  static let absence = "PostgreSQL is not installed: its tests are passed over (apt: postgresql)"

  /// The cluster that all tests share which do not stop it.
  static let shared = Result { try PostgresCluster() }

  init(settings: String = "") throws {
    let programs = try #require(PostgresCluster.programs)
    let name = "hearth-pg-\(Hex.encode(RandomBytes.make(6)))"
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    port = try PostgresCluster.freePort()
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    if getuid() == 0, let user = PostgresCluster.user {
      chown(folder, user.id, user.group)
    }
    keeper = Pipe()
    try PostgresCluster.run(
      [
        "\(programs)/initdb", "-D", "\(folder)/data", "-A", "trust", "-U", "relay", "-E", "UTF8",
        "--locale=C", "--no-sync",
      ])
    let text = """
      port = \(port)
      listen_addresses = '127.0.0.1'
      unix_socket_directories = '\(folder)'
      max_connections = 60
      shared_buffers = 32MB
      \(settings)
      """
    try PostgresCluster.run(
      ["/bin/sh", "-c", "cat >> \"$0\"/data/postgresql.conf", folder], input: text)
    // Before all others: one role that has to say a password.
    try PostgresCluster.run(
      [
        "/bin/sh", "-c",
        "sed -i '1i host all careful 127.0.0.1/32 scram-sha-256' \"$0\"/data/pg_hba.conf", folder,
      ])
    let watch = Process()
    watch.executableURL = URL(fileURLWithPath: "/bin/sh")
    let stop = PostgresCluster.asUser([
      "\(programs)/pg_ctl", "-D", "\(folder)/data", "-m",
      "immediate", "stop",
    ]).map { "'\($0)'" }.joined(separator: " ")
    watch.arguments = ["-c", "trap '' INT TERM; read line; \(stop); rm -rf '\(folder)'"]
    watch.standardInput = keeper
    watch.standardOutput = FileHandle.nullDevice
    watch.standardError = FileHandle.nullDevice
    try watch.run()
    try start()
  }

  deinit { try? keeper.fileHandleForWriting.close() }

  // MARK: The server

  /// Starts the server as a child of this process.
  ///
  /// `pg_ctl` would leave it descriptors by which Foundation waits for the end of `pg_ctl`.
  func start() throws {
    let programs = try #require(PostgresCluster.programs)
    let words = PostgresCluster.asUser(["\(programs)/postgres", "-D", "\(folder)/data"])
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = ["LC_ALL": "C", "PATH": "/usr/bin:/bin"]
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let address = try address(of: "postgres")
    while process.isRunning {
      if (try? PostgresConnection(address)) != nil { return }
    }
    throw Failed(words: "the server does not start")
  }

  /// Stops the server: `fast` as an operator does, `immediate` as a power cut does.
  func stop(_ mode: String) throws {
    try control(["-w", "-m", mode, "stop"])
  }

  func reload() throws { try control(["reload"]) }

  func control(_ arguments: [String]) throws {
    let programs = try #require(PostgresCluster.programs)
    try PostgresCluster.run(["\(programs)/pg_ctl", "-D", "\(folder)/data"] + arguments)
  }

  // MARK: Databases

  /// A fresh database, empty.
  func database() throws -> String {
    let name = count.withLock { count in
      count += 1
      return "db\(count)"
    }
    try execute("CREATE DATABASE \(name)", in: "postgres")
    return name
  }

  func address(of database: String, user: String = "relay", password: String? = nil) throws
    -> PostgresAddress
  {
    try PostgresAddress(url(of: database, user: user, password: password))
  }

  func url(of database: String, user: String = "relay", password: String? = nil) -> String {
    "postgres://\(user)\(password.map { ":\($0)" } ?? "")@127.0.0.1:\(port)/\(database)"
  }

  @discardableResult
  func execute(_ sql: String, in database: String) throws -> PostgresRows {
    let connection = try PostgresConnection(address(of: database))
    return try connection.run([.once(sql)])[0]
  }

  // MARK: Processes

  private static let user: (id: uid_t, group: gid_t)? = {
    for name in ["postgres", "nobody"] {
      if let entry = getpwnam(name) { return (entry.pointee.pw_uid, entry.pointee.pw_gid) }
    }
    return nil
  }()

  /// The server refuses to run as root, so another user runs it then.
  static func asUser(_ command: [String]) -> [String] {
    guard getuid() == 0, let user else { return command }
    return [
      "/usr/bin/setpriv", "--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups",
    ] + command
  }

  @discardableResult
  static func run(_ command: [String], input: String = "") throws -> String {
    let words = asUser(command)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = ["LC_ALL": "C", "PATH": "/usr/bin:/bin"]
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    let inward = Pipe()
    let file = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-out-\(Hex.encode(RandomBytes.make(6)))")
    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: file) }
    let output = try FileHandle(forWritingTo: file)
    process.standardInput = inward
    process.standardOutput = output
    process.standardError = output
    try process.run()
    inward.fileHandleForWriting.write(Data(input.utf8))
    try inward.fileHandleForWriting.close()
    process.waitUntilExit()
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    guard process.terminationStatus == 0 else {
      throw Failed(words: "\(words.joined(separator: " ")): \(text)")
    }
    return text
  }

  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 ? getsockname(descriptor, address, &length) : -1
      }
    }
    guard status == 0 else { throw Failed(words: "no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
