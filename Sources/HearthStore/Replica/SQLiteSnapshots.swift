import HearthCRDT
import HearthSync

/// The base snapshots of a replica.
package struct SQLiteSnapshots: SnapshotStore {
  let connection: Connection
  let zones: SQLiteZones

  package func base(of zone: ZoneID, atMost byteCount: Int) throws -> [UInt8]? {
    try connection.run {
      let statement = try connection.statement(
        "SELECT substr(bytes, 1, ?) FROM hearth_snapshots WHERE zone = ?")
      try statement.bind(Int64(byteCount)).bind(try zones.recordNumber(of: zone))
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func saveBase(_ bytes: [UInt8], of zone: ZoneID) throws {
    try connection.statement("INSERT OR REPLACE INTO hearth_snapshots(zone, bytes) VALUES(?, ?)")
      .bind(try zones.recordNumber(of: zone)).bind(bytes).execute()
  }

  package func removeBase(of zone: ZoneID) throws {
    try connection.statement("DELETE FROM hearth_snapshots WHERE zone = ?")
      .bind(try zones.recordNumber(of: zone)).execute()
  }
}
