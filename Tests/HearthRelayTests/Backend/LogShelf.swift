import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres

/// A folder of a test, removed with it.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    let name = "hearth-relay-\(RandomBytes.make(8).map { String($0, radix: 16) }.joined())"
    path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
  }

  deinit {
    // A folder that is left behind harms nothing.
    try? FileManager.default.removeItem(atPath: path)
  }
}

/// The logs that have to keep the same promises.
enum LogKind: String, CaseIterable, Sendable {
  case memory
  case sqlite
  case postgres

  /// Those that can be had here.
  static var allCases: [LogKind] { [.memory] + durable }

  /// Those that an operator works with.
  static var durable: [LogKind] {
    PostgresCluster.isPresent ? [.sqlite, .postgres] : [.sqlite]
  }
}

/// A log of one kind, with its folder.
struct LogShelf {
  let folder: TestFolder
  let log: any RelayLog
  static let mailbox = Identifier(high: 3, low: 4)
  static let generation = Identifier(high: 5, low: 6)
  static let accessKey = [UInt8](repeating: 1, count: 32)
  static let managerKey = [UInt8](repeating: 2, count: 32)
  static let access = RelayAuthority.access(generation: 1)
  static let manager = RelayAuthority.manager(managerKey)

  init(_ kind: LogKind) throws {
    folder = try TestFolder()
    switch kind {
    case .memory: log = MemoryRelayLog()
    case .sqlite: log = try SQLiteRelayLog(folder: folder.path)
    case .postgres:
      let cluster = try PostgresCluster.shared.get()
      log = try PostgresRelayLog(cluster.address(of: cluster.database()))
    }
  }

  static func write(
    _ action: RelayWrite.Action, _ authority: RelayAuthority? = access,
    author: [UInt8]? = nil, quota: RelayQuota = RelayQuota(), mailbox: Identifier = mailbox
  ) -> RelayWrite {
    RelayWrite(
      mailbox: mailbox, authority: authority, author: author ?? LogShelf.author(of: authority),
      action: action, quota: quota, day: 20_000)
  }

  /// Who shows its own key with an authority, unless a test says otherwise: the maker with the
  /// access key.
  static func author(of authority: RelayAuthority?) -> [UInt8] {
    switch authority {
    case .manager(let key), .author(let key): key
    case .access: managerKey
    case .reader, nil: []
    }
  }

  static let creation = RelayWrite.Action.create(
    kind: .sealed, generation: generation, accessKey: accessKey, managerKey: managerKey,
    right: .open)

  func write(
    _ action: RelayWrite.Action, _ authority: RelayAuthority? = access,
    author: [UInt8]? = nil, quota: RelayQuota = RelayQuota()
  ) throws -> RelayWritten {
    try #require(
      try log.write([LogShelf.write(action, authority, author: author, quota: quota)]).first)
  }

  func read(_ question: RelayRead.Question, _ authority: RelayAuthority? = access) throws
    -> RelayAnswer
  {
    try log.read(
      RelayRead(mailbox: LogShelf.mailbox, authority: authority, question: question))
  }

  /// The mailbox as it is found.
  func found() throws -> RelayMailbox? {
    if case .found(let mailbox, _) = try read(.find(chainAt: nil), nil) { mailbox } else { nil }
  }
}
