import Glibc
import HearthCRDT
import HearthSync

/// The rollback guard as a file of the node's folder, identified by inode and change time.
struct DiskAnchorFile: AnchorFile {
  let path: String

  func read(atMost limit: Int) throws -> [UInt8]? {
    try DurableFile.read(path, atMost: limit)
  }

  func replace(_ bytes: [UInt8]) throws {
    try DurableFile.write(bytes, to: path, mode: 0o600)
  }

  func identity() throws -> [UInt8] {
    var information = stat()
    guard stat(path, &information) == 0 else {
      throw HearthError(.io, "\(path) cannot be examined: \(String(cString: strerror(errno)))")
    }
    var writer = ByteWriter(capacity: 32)
    writer.fixed64(UInt64(information.st_ino))
    writer.fixed64(UInt64(bitPattern: Int64(information.st_ctim.tv_sec)))
    writer.fixed64(UInt64(bitPattern: Int64(information.st_ctim.tv_nsec)))
    return writer.bytes
  }
}
