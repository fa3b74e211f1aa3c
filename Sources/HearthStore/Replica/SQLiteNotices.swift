import HearthCRDT
import HearthSync

/// The notices to a node's person.
package struct SQLiteNotices: NoticeStore {
  let connection: Connection

  package func add(_ notice: Notice) throws {
    let statement = try connection.statement(
      "INSERT INTO hearth_notices(kind, zone, device, text, time) VALUES(?, ?, ?, ?, ?)")
    try statement.bind(notice.kind.rawValue)
    if let zone = notice.zone { try statement.bind(zone) } else { try statement.bindNull() }
    if let device = notice.device { try statement.bind(device) } else { try statement.bindNull() }
    try statement.bind(notice.text).bind(notice.milliseconds).execute()
  }

  /// Removes notices that turned out to be false.
  package func remove(of kind: Notice.Kind, in zone: ZoneID?, saying text: String) throws {
    let statement = try connection.statement(
      "DELETE FROM hearth_notices WHERE kind = ? AND zone IS ? AND text = ?")
    try statement.bind(kind.rawValue)
    if let zone { try statement.bind(zone) } else { try statement.bindNull() }
    try statement.bind(text).execute()
  }

  /// Returns the notices to the node's person, oldest first.
  package func all() throws -> [Notice] {
    try connection.run {
      let statement = try connection.statement(
        "SELECT kind, zone, device, text, time FROM hearth_notices ORDER BY number")
      var notices: [Notice] = []
      while try statement.step() {
        guard let kind = Notice.Kind(rawValue: statement.text(0)) else { continue }
        notices.append(
          Notice(
            kind: kind, zone: statement.isNull(1) ? nil : try statement.identifier(1),
            device: statement.isNull(2) ? nil : try statement.identifier(2),
            text: statement.text(3), milliseconds: statement.uint(4)))
      }
      return notices
    }
  }
}
