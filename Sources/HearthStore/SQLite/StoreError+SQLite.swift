import GRDBSQLite

extension StoreError {
  /// The error of a failed call of SQLite.
  ///
  /// - Parameter doing: The statement.
  static func ofSQLite(
    _ handle: OpaquePointer?, _ status: Int32, _ doing: String
  ) -> StoreError {
    let text = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "unknown"
    switch status & 0xff {
    case SQLITE_FULL:
      return StoreError(
        .full, "the disk is full: free some space and try again; nothing was changed")
    case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
      return StoreError(
        .readOnly,
        "the node's database cannot be written (\(text)): check the folder's permissions")
    case SQLITE_IOERR:
      return StoreError(
        .io, "reading or writing the node's database failed (\(text)): check the disk")
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return StoreError(
        .corrupt,
        "the node's database is damaged (\(text)): keep the folder, move it aside and join again")
    case SQLITE_BUSY, SQLITE_LOCKED:
      return StoreError(.locked, "another process uses this node: wait for it or end it")
    default:
      return StoreError(.failed, "the database refused a statement (\(text)): \(doing.prefix(120))")
    }
  }
}
