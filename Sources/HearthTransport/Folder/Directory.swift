import Glibc

/// An open directory, closed when it goes out of scope.
///
/// All access below the folder's root goes step by step through descriptors. No step follows a
/// symbolic link, so nothing outside the folder can be read or written.
struct Directory: ~Copyable {
  /// The kind of an entry, as far as the directory itself reports it.
  enum Kind: Sendable {
    case file
    case directory
    /// A link, pipe, socket or device.
    case other
    /// The file system reports the kind only for the entry itself.
    case unknown
  }

  /// Whether to continue reading a directory.
  enum Step {
    case next
    case stop
  }

  /// The whole content of a file, or why it was not read.
  enum Content {
    case bytes([UInt8])
    case missing
    case notRegular
    /// The file is larger than allowed; its size in bytes.
    case tooLarge(Int64)
  }

  private let descriptor: Int32

  deinit { close(descriptor) }

  /// Opens a directory by its path.
  ///
  /// A link as the path itself is followed, because the user chose it.
  static func root(_ path: String) throws(SystemFault) -> Directory {
    let descriptor = retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw .last("open") }
    return Directory(descriptor: descriptor)
  }

  /// Opens a directory inside this one.
  ///
  /// A link is refused.
  func directory(_ name: FolderName) throws(SystemFault) -> Directory {
    let descriptor = name.withCString { name in
      retrying { openat(self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    }
    guard descriptor >= 0 else { throw .last("openat") }
    return Directory(descriptor: descriptor)
  }

  /// Creates a directory inside this one and makes its entry durable.
  ///
  /// - Returns: whether it was created; false if something of that name exists.
  func makeDirectory(_ name: FolderName) throws(SystemFault) -> Bool {
    guard name.withCString({ mkdirat(descriptor, $0, 0o777) }) == 0 else {
      if errno == EEXIST { return false }
      throw .last("mkdirat")
    }
    try synchronize()
    return true
  }

  /// Calls `body` for every entry but `.` and `..`, in the file system's order.
  ///
  /// Takes one pass and constant memory. The names passed to `body` are valid only during the call.
  func forEachEntry(
    _ body: (UnsafeBufferPointer<UInt8>, Kind) throws(SystemFault) -> Step
  ) throws(SystemFault) {
    let copy = retrying { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard copy >= 0 else { throw .last("openat") }
    guard let stream = fdopendir(copy) else {
      let fault = SystemFault.last("fdopendir")
      close(copy)
      throw fault
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno == 0 { return }
        throw .last("readdir")
      }
      let kind = Directory.kind(entry.pointee.d_type)
      let base = UnsafeRawPointer(entry) + Directory.nameOffset
      let first = base.assumingMemoryBound(to: UInt8.self)
      let name = UnsafeBufferPointer(
        start: first, count: strlen(base.assumingMemoryBound(to: CChar.self)))
      if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
      if try body(name, kind) == .stop { return }
    }
  }

  /// Returns the status of an entry without opening or following it; nil if it does not exist.
  func status(_ name: FolderName) throws(SystemFault) -> stat? {
    var status = stat()
    let result = name.withCString { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) }
    if result == 0 { return status }
    if errno == ENOENT { return nil }
    throw .last("fstatat")
  }

  /// Returns the kind of an entry; `other` if it does not exist.
  func kind(_ name: FolderName) throws(SystemFault) -> Kind {
    guard let status = try status(name) else { return .other }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .directory
    default: return .other
    }
  }

  /// Reads a whole regular file if it has at most `limit` bytes.
  ///
  /// Anything but a regular file is not opened: opening a pipe would block, and opening a device
  /// can do anything. The kind and size of the opened file are checked again. No more than `limit +
  /// 1` bytes are ever read, whatever is exchanged or grows meanwhile.
  func read(_ name: FolderName, limit: Int) throws(SystemFault) -> Content {
    guard let before = try status(name) else { return .missing }
    guard before.st_mode & S_IFMT == S_IFREG else { return .notRegular }
    guard before.st_size <= limit else { return .tooLarge(Int64(before.st_size)) }
    let file = name.withCString { name in
      retrying { openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
    }
    guard file >= 0 else {
      if errno == ENOENT { return .missing }
      if errno == ELOOP { return .notRegular }
      throw .last("openat")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .last("fstat") }
    guard status.st_mode & S_IFMT == S_IFREG else { return .notRegular }
    guard status.st_size <= limit else { return .tooLarge(Int64(status.st_size)) }
    return try Directory.readAll(file, expecting: Int(status.st_size), limit: limit)
  }

  /// Writes a new file that must not exist yet, and makes its content durable.
  ///
  /// If anything fails, the partial file is removed.
  func write(_ name: FolderName, _ bytes: [UInt8]) throws(SystemFault) {
    let file = name.withCString { name in
      retrying {
        openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
      }
    }
    guard file >= 0 else { throw .last("openat") }
    do throws(SystemFault) {
      try Directory.writeAll(file, bytes)
      guard retrying({ fsync(file) }) == 0 else { throw .last("fsync") }
    } catch {
      close(file)
      _ = name.withCString { unlinkat(descriptor, $0, 0) }
      throw error
    }
    // Network file systems may report a full disk only now.
    guard close(file) == 0 || errno == EINTR else {
      let fault = SystemFault.last("close")
      _ = name.withCString { unlinkat(descriptor, $0, 0) }
      throw fault
    }
  }

  /// Makes an existing file's content durable, no matter who wrote it.
  func synchronizeFile(_ name: FolderName) throws(SystemFault) {
    let file = name.withCString { name in
      retrying { openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
    }
    guard file >= 0 else { throw .last("openat") }
    defer { close(file) }
    guard retrying({ fsync(file) }) == 0 else { throw .last("fsync") }
  }

  /// Renames a file in one step, replacing anything but a directory.
  func rename(_ old: FolderName, to new: FolderName) throws(SystemFault) {
    let result = old.withCString { old in
      new.withCString { new in renameat(descriptor, old, descriptor, new) }
    }
    guard result == 0 else { throw .last("renameat") }
  }

  /// Removes an entry that is not a directory.
  ///
  /// Does nothing if it does not exist.
  ///
  /// - Returns: whether something was removed.
  @discardableResult
  func remove(_ name: FolderName) throws(SystemFault) -> Bool {
    if name.withCString({ unlinkat(descriptor, $0, 0) }) == 0 { return true }
    if errno == ENOENT { return false }
    throw .last("unlinkat")
  }

  /// Removes an empty directory.
  ///
  /// Does nothing if it is not empty.
  func removeEmptyDirectory(_ name: FolderName) {
    _ = name.withCString { unlinkat(descriptor, $0, AT_REMOVEDIR) }
  }

  /// Makes the directory's entries durable.
  ///
  /// Some file systems do not support this for directories and report that. This method then does
  /// nothing.
  func synchronize() throws(SystemFault) {
    if retrying({ fsync(descriptor) }) == 0 { return }
    let fault = SystemFault.last("fsync")
    guard [EINVAL, ENOTSUP, ENOSYS, EBADF].contains(fault.number) else { throw fault }
  }

  private static let nameOffset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 19

  private static func kind(_ type: UInt8) -> Kind {
    switch Int(type) {
    case Int(DT_REG): .file
    case Int(DT_DIR): .directory
    case Int(DT_UNKNOWN): .unknown
    default: .other
    }
  }

  private static func readAll(
    _ file: Int32, expecting size: Int, limit: Int
  ) throws(SystemFault) -> Content {
    var bytes = [UInt8](repeating: 0, count: size + 1)
    var count = 0
    while true {
      if count == bytes.count {
        guard count <= limit else { return .tooLarge(Int64(count)) }
        bytes.append(contentsOf: repeatElement(0, count: min(count, limit + 1 - count)))
      }
      let space = bytes.count - count
      let got = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(file, buffer.baseAddress.map { $0 + count }, space)
      }
      if got == 0 { break }
      if got < 0 {
        if errno == EINTR { continue }
        throw .last("read")
      }
      count += got
    }
    guard count <= limit else { return .tooLarge(Int64(count)) }
    bytes.removeLast(bytes.count - count)
    return .bytes(bytes)
  }

  private static func writeAll(_ file: Int32, _ bytes: [UInt8]) throws(SystemFault) {
    var written = 0
    while written < bytes.count {
      let result = bytes.withUnsafeBytes { buffer in
        Glibc.write(file, buffer.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if result < 0 {
        if errno == EINTR { continue }
        throw .last("write")
      }
      guard result > 0 else { throw SystemFault("write", ENOSPC) }
      written += result
    }
  }
}

/// Repeats a call that a signal interrupted.
private func retrying(_ call: () -> Int32) -> Int32 {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}
