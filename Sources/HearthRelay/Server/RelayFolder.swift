import Foundation
import Glibc
import HearthCrypto
import HearthRelayCore

/// The relay's folder: its master secret, its log, and a lock for the one process that serves.
package final class RelayFolder: Sendable {
  /// The folder's path.
  package let path: String
  private let lock: Int32

  /// Opens and locks a folder.
  ///
  /// Creates it, accessible to this user alone, if necessary.
  ///
  /// - Throws: `locked` if another process serves it, `inputOutput`.
  package init(path: String) throws(RelayError) {
    self.path = path
    try RelayFolder.make(path)
    let descriptor = Glibc.open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw RelayError(
        .inputOutput,
        "\(path)/lock cannot be written: \(SystemWords.words(errno: errno)): check the folder's "
          + "permissions, or choose another --data")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      Glibc.close(descriptor)
      throw RelayError(.locked, "another relay serves \(path): stop it or choose another --data")
    }
    lock = descriptor
  }

  /// Creates a folder and its parents, as far as they do not exist.
  private static func make(_ path: String) throws(RelayError) {
    var made = path.hasPrefix("/") ? "/" : "."
    for part in path.split(separator: "/") {
      made += "/\(part)"
      if mkdir(made, 0o700) == 0 { continue }
      let reason = errno
      var found = stat()
      // An existing entry may be a link to a folder.
      if stat(made, &found) == 0, found.st_mode & S_IFMT == S_IFDIR { continue }
      throw RelayError(
        .inputOutput,
        "the folder \(path) cannot be made: \(SystemWords.words(errno: reason)): choose another "
          + "--data")
    }
  }

  deinit { Glibc.close(lock) }

  private static let magic = Array("HRLYKEY1".utf8)

  /// Returns the relay's keys.
  ///
  /// The first call generates and stores them.
  ///
  /// - Throws: `corrupt` if the file has an invalid content, `inputOutput`.
  package func identity() throws(RelayError) -> RelayServerIdentity {
    let file = "\(path)/identity.key"
    do {
      if FileManager.default.fileExists(atPath: file) {
        return try RelayServerIdentity(master: read(file))
      }
      // New keys would make it a different relay, which no device recognizes.
      let log = "\(path)/\(SQLiteRelayLog.fileName)"
      guard !FileManager.default.fileExists(atPath: log) else {
        throw RelayError(
          .corrupt,
          "\(log) exists without \(file), by which devices recognise the relay: restore a copy "
            + "of that file, or move the log aside for a new relay with a new address")
      }
      let master = try SecretKey.random()
      let secret = master.withUnsafeBytes { Array($0) }
      let check = Blake2b.hash(RelayFolder.magic + secret, count: 16)
      try write(RelayFolder.magic + secret + check, to: file)
      return try RelayServerIdentity(master: master)
    } catch let error as RelayError {
      throw error
    } catch {
      throw RelayError(
        .inputOutput,
        "the relay's keys in \(file) cannot be used: \(SystemWords.words(error)): check the "
          + "folder's permissions")
    }
  }

  private func read(_ file: String) throws -> SecretKey {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
    let start = RelayFolder.magic.count
    guard bytes.count == start + SecretKey.count + 16, bytes.starts(with: RelayFolder.magic),
      Blake2b.hash(Array(bytes.dropLast(16)), count: 16) == Array(bytes.suffix(16))
    else {
      throw RelayError(
        .corrupt,
        "\(file) is damaged: restore a copy, or move it aside for a new address")
    }
    var secret = Array(bytes[start..<start + SecretKey.count])
    return try SecretKey(consuming: &secret)
  }

  /// Writes a new file durably: whole or not at all.
  private func write(_ bytes: [UInt8], to file: String) throws(RelayError) {
    let temporary = file + ".new"
    let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw RelayError(
        .inputOutput, "\(temporary) cannot be written: check the folder's permissions")
    }
    let isWritten =
      bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
      && fsync(descriptor) == 0
    Glibc.close(descriptor)
    guard isWritten, rename(temporary, file) == 0 else {
      throw RelayError(.inputOutput, "\(file) cannot be written: check the disk")
    }
    let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder >= 0 {
      fsync(folder)
      Glibc.close(folder)
    }
  }
}
