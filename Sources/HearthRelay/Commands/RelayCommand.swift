import ArgumentParser
import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// The program `hearth-relay`.
package struct RelayCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "hearth-relay",
    abstract: "Stores and forwards the encrypted data of households; cannot read it.",
    version: "hearth-relay \(HearthVersion.text)",
    subcommands: [
      ServeCommand.self, StatsCommand.self, QuotaCommand.self, TokenCommand.self,
      RemoveCommand.self,
      GCCommand.self, VerifyCommand.self, ExportCommand.self,
    ])

  package init() {}

  /// Runs the command line of this process.
  ///
  /// Invalid options end it with status 64.
  ///
  /// - Parameter backend: the database that `--backend` may name.
  package static func begin(backend: (any RelayBackend.Type)?) -> Never {
    LinkedBackend.link(backend)
    do {
      try ProcessMemory.hide()
      var command = try parseAsRoot()
      try command.run()
      exit(withError: nil)
    } catch let error as RelayError where error.code == .invalidOption {
      FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
      exit(withError: ExitCode.validationFailure)
    } catch {
      exit(withError: error)
    }
  }
}

struct StatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Lists mailboxes and what they hold, the largest first.")
  @OptionGroup var folder: FolderOptions
  @Flag(help: "Print JSON, one mailbox per line.") var json = false

  func run() throws {
    let log = try folder.log()
    let mailboxes = try log.statistics()
    for item in mailboxes {
      let quota = item.quotaBytes.map(String.init)
      let parent = item.parent.map { Hex.encode($0.mailbox.bytes) }
      if json {
        Say.line(
          "{\"mailbox\":\"\(Hex.encode(item.name.bytes))\",\"entries\":\(item.head),"
            + "\"blobs\":\(item.liveBlobs),\"bytes\":\(item.usedBytes),"
            + "\"quota\":\(quota ?? "null"),\"day\":\(item.day),"
            + "\"parent\":\(parent.map { "\"\($0)\"" } ?? "null"),"
            + "\"child\":\(item.parent.map { "\"\(StatsCommand.word($0.child))\"" } ?? "null")}")
      } else {
        Say.line(
          "\(Hex.encode(item.name.bytes))  \(Say.count(item.usedBytes, "byte")) in "
            + "\(Say.count(UInt64(item.liveBlobs), "blob")), "
            + "\(Say.count(item.head, "entry", "entries")), quota \(quota ?? "default")"
            + (item.parent.map { ", a \(StatsCommand.words($0.child)) of \(parent ?? "")" } ?? ""))
      }
    }
    if !json {
      let limit = try log.totalQuota().map { " of \($0) that all may hold" } ?? ""
      Say.line(
        Say.count(UInt64(mailboxes.count), "mailbox", "mailboxes") + ", "
          + Say.count(mailboxes.reduce(0) { $0 + $1.usedBytes }, "byte")
          + limit)
    }
  }

  /// What a child mailbox is, in words.
  private static func words(_ child: RelayParent.Child) -> String {
    switch child {
    case .handoff: "rekey handoff"
    case .place: "meeting place"
    case .words: "place of recovery words"
    }
  }

  /// What a child mailbox is, in JSON.
  private static func word(_ child: RelayParent.Child) -> String {
    switch child {
    case .handoff: "door"
    case .place: "place"
    case .words: "words"
    }
  }
}

struct QuotaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quota", abstract: "Sets how many bytes one mailbox may hold.")
  @OptionGroup var folder: FolderOptions
  @Argument(help: "The mailbox, as `stats` shows it.") var mailbox: String
  @Argument(help: "Bytes, or `default`.") var bytes: String

  func run() throws {
    let name = try FolderOptions.mailbox(named: mailbox)
    let quota = UInt64(bytes)
    guard quota != nil || bytes == "default" else {
      throw RelayError(.invalidOption, "a quota is a number of bytes, or `default`")
    }
    try folder.log().setQuota(quota, of: name)
    Say.line("set")
  }
}

struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Makes a token that lets its holder register, or lists a device's key.")
  @OptionGroup var folder: FolderOptions
  @Option(help: "How many mailboxes the token may make.") var uses = 64
  @Option(help: "A note for yourself.") var note = ""
  @Option(help: "A manager's key in hexadecimal, to list instead of a token.") var allow: String?

  func run() throws {
    let log = try folder.log()
    if let allow {
      guard let key = try? SigningPublicKey(validating: Hex.decode(allow)) else {
        throw RelayError(.invalidOption, "a manager's key is 64 hexadecimal digits")
      }
      try log.list(managerKey: key.bytes, note: note)
      Say.line("listed")
      return
    }
    guard (1...1_000_000).contains(uses) else {
      throw RelayError(.invalidOption, "--uses is a number from 1 to 1000000")
    }
    let token = RandomBytes.make(RelayToken.byteCount)
    try log.addToken(digest: RelayToken.digest(of: token), uses: uses, note: note)
    Say.line(Base32.encode(token))
  }
}

struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Deletes one mailbox, its content and the mailboxes that belong to it for good.",
    discussion: """
      Devices that still use it and may register make it again and fill it with what they have. \
      Entries that no device still has are lost.
      """)
  @OptionGroup var folder: FolderOptions
  @Argument(help: "The mailbox, as `stats` shows it.") var mailbox: String
  @Flag(help: "Confirm; without this flag nothing is deleted.") var yes = false

  func run() throws {
    let name = try FolderOptions.mailbox(named: mailbox)
    let log = try folder.log()
    let all = try log.statistics()
    guard let found = all.first(where: { $0.name == name }) else { throw RelayError.noMailbox }
    let children = all.count { $0.parent?.mailbox == name }
    guard yes else {
      throw RelayError(
        .invalidOption,
        "this deletes \(found.liveBlobs) blobs, \(found.usedBytes) bytes, for good, and "
          + "\(children) mailboxes that belong to it: add --yes")
    }
    let count = try log.remove(name)
    Say.line("deleted, with \(count - 1) mailboxes that belonged to it")
  }
}

struct GCCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc", abstract: "Deletes empty mailboxes nobody uses; frees disk space.")
  @OptionGroup var folder: FolderOptions
  @Option(help: "Days without a change.") var days = 90
  @Flag(
    help: "Give every mailbox a new generation: do this after restoring a backup.")
  var renewGenerations = false

  func run() throws {
    guard days >= 0 else { throw RelayError(.invalidOption, "--days is 0 or more") }
    let log = try folder.log()
    if renewGenerations {
      // Whoever serves must not answer from two lives of one log.
      // Over a database they hear of it and send their clients away to compare.
      let lock = try folder.address() == nil ? RelayFolder(path: folder.data) : nil
      let count = try withExtendedLifetime(lock) {
        try log.renewGenerations { RandomBytes.make($0) }
      }
      Say.line("\(count) mailboxes have a new generation")
    }
    let today = Int(Date().timeIntervalSince1970 / 86_400)
    let count = try log.collectGarbage(before: UInt32(max(0, today - days)))
    Say.line("\(count) empty mailboxes deleted")
  }
}

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Checks positions, chains, digests and counts of everything.")
  @OptionGroup var folder: FolderOptions

  func run() throws {
    let problems = try folder.log().verify()
    for problem in problems { Say.line(problem) }
    guard problems.isEmpty else { throw ExitCode(1) }
    Say.line("all is well")
  }
}

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Copies the log into a new file, also while it is in use.")
  @OptionGroup var folder: FolderOptions
  @Argument(help: "The file to write; it must not exist.") var file: String

  func run() throws {
    guard !file.isEmpty else {
      throw RelayError(.invalidOption, "the name of the file is empty: name a new file")
    }
    guard !FileManager.default.fileExists(atPath: file) else {
      throw RelayError(.invalidOption, "\(file) exists: name a new file")
    }
    let log = try folder.log()
    try makeTarget()
    do {
      try log.export(to: file)
    } catch {
      unlink(file)
      guard [.diskFull, .inputOutput].contains(error.code) else { throw error }
      throw RelayError(error.code, "the copy \(file) cannot be written completely", cause: error)
    }
    Say.line("written to \(file)")
  }

  /// Makes the empty file, so that it is told of the new file where that cannot be written.
  private func makeTarget() throws {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      let number = errno
      let reason =
        number == ENOENT ? "there is no such folder" : SystemWords.words(errno: number)
      throw RelayError(
        .inputOutput, "the copy \(file) cannot be made: \(reason); name another file")
    }
    close(descriptor)
  }
}
