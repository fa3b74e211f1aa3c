import CProcess
import Glibc
import HearthCRDT
import HearthSync

/// The rollback guard as a file of the node's folder, identified by its inode and its birth time.
///
/// Each generation is a new file, so an older one never has this identity: neither as a copy nor
/// written over this file. A change of mode, owner or times keeps the identity.
struct DiskAnchorFile: AnchorFile {
  let path: String

  func read(atMost limit: Int) throws -> [UInt8]? {
    try DurableFile.read(path, atMost: limit)
  }

  func replace(_ bytes: [UInt8]) throws {
    try DurableFile.write(bytes, to: path, mode: 0o600)
  }

  func identity() throws -> [UInt8] {
    var birth = hearth_file_birth()
    let found = hearth_birth(path, &birth)
    guard found != 1 else { return try changeIdentity() }
    guard found == 0 else { throw failure() }
    return identity(birth.inode, seconds: birth.seconds, nanoseconds: Int64(birth.nanoseconds))
  }

  /// The identity by change time, for file systems that keep no time of birth.
  private func changeIdentity() throws -> [UInt8] {
    var information = stat()
    guard stat(path, &information) == 0 else { throw failure() }
    let changed = information.st_ctim
    return identity(
      UInt64(information.st_ino), seconds: Int64(changed.tv_sec),
      nanoseconds: Int64(changed.tv_nsec))
  }

  private func identity(_ inode: UInt64, seconds: Int64, nanoseconds: Int64) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.fixed64(inode)
    writer.fixed64(UInt64(bitPattern: seconds))
    writer.fixed64(UInt64(bitPattern: nanoseconds))
    return writer.bytes
  }

  private func failure() -> HearthError {
    HearthError(.io, "\(path) cannot be examined: \(String(cString: strerror(errno)))")
  }
}
