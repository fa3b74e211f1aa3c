import Foundation
import Glibc
import HearthCrypto

/// The relay's folder: its master secret, its log, and a lock for the one process that serves.
package final class RelayFolder: Sendable {
  /// The folder's path.
  package let path: String
  private let lock: Int32

  /// Opens a folder, making it for this user alone, and locks it.
  ///
  /// - Throws: `locked` when another process serves it, `inputOutput`.
  package init(path: String) throws(RelayError) {
    self.path = path
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw RelayError(.inputOutput, "\(path) cannot be made: choose --data", cause: error)
    }
    let descriptor = Glibc.open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw RelayError(.inputOutput, "\(path)/lock cannot be written: check the folder's rights")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      Glibc.close(descriptor)
      throw RelayError(.locked, "another relay serves \(path): stop it or choose another --data")
    }
    lock = descriptor
  }

  deinit { Glibc.close(lock) }

  private static let magic = Array("HRLYKEY1".utf8)

  /// The relay's keys; drawn and kept at the first call.
  ///
  /// - Throws: `corrupt` when the file is not what this wrote, `inputOutput`.
  package func identity() throws(RelayError) -> RelayServerIdentity {
    let file = "\(path)/identity.key"
    do {
      if FileManager.default.fileExists(atPath: file) {
        return try RelayServerIdentity(master: read(file))
      }
      let master = try SecretKey.random()
      let secret = master.withUnsafeBytes { Array($0) }
      let check = Blake2b.hash(RelayFolder.magic + secret, count: 16)
      try write(RelayFolder.magic + secret + check, to: file)
      return try RelayServerIdentity(master: master)
    } catch let error as RelayError {
      throw error
    } catch {
      throw RelayError(.inputOutput, "the relay's keys in \(file) cannot be used", cause: error)
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
        "\(file) is damaged: put back a copy, or move it aside for a new address")
    }
    var secret = Array(bytes[start..<start + SecretKey.count])
    return try SecretKey(consuming: &secret)
  }

  /// Writes a new file durably: whole or not at all.
  private func write(_ bytes: [UInt8], to file: String) throws(RelayError) {
    let temporary = file + ".new"
    let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw RelayError(.inputOutput, "\(temporary) cannot be written: check the folder's rights")
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
