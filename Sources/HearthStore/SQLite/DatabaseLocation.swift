import GRDBSQLite

/// The location of a database outside the system's files, in SQLite's terms.
enum DatabaseLocation {
  /// Returns the URI that opens a path on a named VFS (https://www.sqlite.org/uri.html).
  ///
  /// - Throws: `StoreError.failed` if the VFS is not registered, or if this SQLite accepts no URIs:
  ///   it would create a file of that name instead.
  static func uri(path: String, vfs: String) throws -> String {
    guard sqlite3_vfs_find(vfs) != nil else {
      throw StoreError(.failed, "SQLite does not know the VFS \(vfs): register it before opening")
    }
    guard sqlite3_compileoption_used("USE_URI") == 1 else {
      throw StoreError(
        .failed, "this SQLite accepts no URIs, so it cannot open \(path) on the VFS \(vfs)")
    }
    return "file:\(escaped(path))?vfs=\(escaped(vfs))"
  }

  /// Percent-encodes every byte except letters, digits and `-._/`.
  private static func escaped(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "/"):
        result.append(byte)
      default:
        result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
