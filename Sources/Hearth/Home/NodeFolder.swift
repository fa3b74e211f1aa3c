import Foundation
import Glibc
import HearthCrypto

/// The files of one node in its home folder.
struct NodeFolder {
  let root: URL

  init(_ path: String) {
    root = URL(fileURLWithPath: path, isDirectory: true)
  }

  var database: String { root.appendingPathComponent("node.db").path }
  var keyFile: String { root.appendingPathComponent("key").path }
  var anchor: String { root.appendingPathComponent("anchor").path }
  var catalogues: String { root.appendingPathComponent("catalogues.db").path }
  var lock: String { root.appendingPathComponent("lock").path }
  /// Who takes the lock next.
  var lockQueue: String { root.appendingPathComponent("lock.queue").path }
  /// Exists while a node is being created: data beside it without a key belongs to nobody yet.
  var beginning: String { root.appendingPathComponent("beginning").path }

  /// Returns whether a node was created here.
  ///
  /// - Throws: `io` if the folder cannot be searched, so that nobody knows what is in it.
  func holdsNode() throws -> Bool { try exists(keyFile) }

  /// Returns whether the folder has a node's data without its key, which was lost or moved away.
  private func lacksKey() throws -> Bool {
    try !holdsNode() && exists(database) && !exists(beginning)
  }

  /// Returns whether a file of the folder exists.
  private func exists(_ path: String) throws -> Bool {
    var information = stat()
    guard stat(path, &information) != 0 else { return true }
    guard errno != ENOENT, errno != ENOTDIR else { return false }
    let reason = String(cString: strerror(errno))
    throw HearthError(
      .io,
      "the folder \(root.path) cannot be searched: \(reason); check the owner and permissions of "
        + "it and of the folders above it, or choose another --home")
  }

  /// Refuses to replace data whose key may come back.
  ///
  /// - Throws: `corrupt` if there is data without its key.
  func checkKeyIsNotMissing() throws {
    guard try lacksKey() else { return }
    throw HearthError(
      .corrupt,
      "\(database) has no key file \(keyFile), so this device lacks its identity: put back a copy "
        + "of that file. If you have none, move the folder aside; then `hearth recover` with "
        + "recovery words, or an invitation to a further device, brings back what was synced")
  }

  /// Whether the folder contains a key that only a passphrase opens.
  var isProtected: Bool {
    guard let bytes = try? DurableFile.read(keyFile, atMost: KeyFile.maximumFileBytes),
      let mode = try? KeyFile.mode(of: bytes)
    else { return false }
    return mode != .plain
  }

  /// Refuses a folder that is not empty.
  ///
  /// - Throws: `exists`; `corrupt` if there is data without its key.
  func requireFree() throws {
    try checkKeyIsNotMissing()
    let (home, files) = (root.path, FileManager.default)
    let content = try? files.contentsOfDirectory(atPath: home)
    guard content?.isEmpty ?? !files.fileExists(atPath: home) else {
      throw HearthError(
        .exists,
        "\(home) is not empty: recover into a new home (--home DIR), or remove what is there")
    }
  }

  /// Removes the folder with all that is in it, if it is there.
  func remove() throws {
    guard FileManager.default.fileExists(atPath: root.path) else { return }
    try FileManager.default.removeItem(at: root)
  }

  /// Moves the folder with a complete node to a home, which is empty or missing.
  ///
  /// - Throws: `io` if that fails, also because the home was filled meanwhile. The folder is then
  ///   removed.
  func move(to home: String) throws {
    guard rename(root.path, home) == 0 else {
      let reason = String(cString: strerror(errno))
      try? remove()
      throw HearthError(.io, "the node cannot be moved to \(home): \(reason)")
    }
  }

  /// Removes the mark of an unfinished creation, if there is one, once there is a key.
  ///
  /// If it remains, the next opening removes it. It matters only if the key is lost before that.
  func noteCompleted() {
    if FileManager.default.fileExists(atPath: beginning) {
      try? FileManager.default.removeItem(atPath: beginning)
    }
  }

  /// Removes the files of a creation that was never completed.
  func clear() throws {
    for path in [database, database + "-wal", database + "-shm"]
    where FileManager.default.fileExists(atPath: path) {
      do {
        try FileManager.default.removeItem(atPath: path)
      } catch {
        throw HearthError(
          .io,
          "\(path), left over from an interrupted setup, cannot be removed: check the folder's "
            + "permissions", cause: error)
      }
    }
  }

  /// The remedy for a home whose files no longer belong together.
  static let aside =
    "keep the folder and move it aside, then `hearth recover` with your recovery words, or "
    + "`hearth init` and join again; what was synced is on the other devices"

  /// Refuses a home whose database is missing, before an empty one would replace it.
  ///
  /// The key is written last, so a home with a key had a database.
  func requireDatabase() throws {
    var information = stat()
    guard stat(database, &information) == 0 else {
      guard errno == ENOENT else { return }
      throw HearthError(
        .corrupt,
        "there is a key in \(root.path), but its database \(database) is missing: put it back, or "
          + NodeFolder.aside)
    }
    guard information.st_size > 0 else {
      throw HearthError(
        .corrupt,
        "the database \(database) is empty, although its key is there: put a copy back, or "
          + NodeFolder.aside)
    }
  }

  /// Creates the folder, readable by its owner alone.
  func prepare() throws {
    do {
      try FileManager.default.createDirectory(
        at: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw HearthError(
        .io, "the folder \(root.path) cannot be created: check its parent and permissions",
        cause: error)
    }
  }
}

/// A file that is written completely or not at all, and durable when the call returns.
enum DurableFile {
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws {
    let temporary = path + ".new"
    // Without O_NONBLOCK a pipe of that name would keep the caller until somebody reads from it.
    let descriptor = open(
      temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
    guard descriptor >= 0 else { throw failure("written", path) }
    do {
      defer { close(descriptor) }
      guard sizeOfFile(descriptor) != nil else { throw foreign(temporary) }
      var offset = 0
      while offset < bytes.count {
        let written = bytes.withUnsafeBytes {
          Glibc.write(descriptor, $0.baseAddress?.advanced(by: offset), bytes.count - offset)
        }
        guard written > 0 else { throw failure("written", path) }
        offset += written
      }
      guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else {
        throw failure("written", path)
      }
    }
    guard rename(temporary, path) == 0 else { throw failure("replaced", path) }
    try syncFolder(of: path)
  }

  /// Reads a file of bounded size; nil if it does not exist.
  ///
  /// A pipe or device is refused without waiting for it.
  ///
  /// - Throws: `corrupt` for anything but a regular file of that size; `io`.
  static func read(_ path: String, atMost limit: Int) throws -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read", path)
    }
    defer { close(descriptor) }
    guard let size = sizeOfFile(descriptor), size <= limit else { throw foreign(path) }
    var bytes = [UInt8](repeating: 0, count: size)
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
      }
      guard count > 0 else { throw failure("read", path) }
      offset += count
    }
    return bytes
  }

  /// The size of what was opened; nil if that is no regular file.
  private static func sizeOfFile(_ descriptor: Int32) -> Int? {
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
      return nil
    }
    return Int(information.st_size)
  }

  private static func foreign(_ path: String) -> HearthError {
    HearthError(.corrupt, "\(path) is not a file of this program")
  }

  private static func syncFolder(of path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("opened", folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("made durable", folder) }
  }

  private static func failure(_ what: String, _ path: String) -> HearthError {
    let reason = String(cString: strerror(errno))
    return HearthError(.io, "\(path) cannot be \(what): \(reason)")
  }
}
