import HearthCRDT
import HearthRelayProtocol
import HearthSync

/// Child mailboxes and their parents, in the tables of a SQLite file.
struct SQLiteRelayFamily {
  let database: RelayDatabase

  /// Returns the children of a mailbox that are of the same kind, the oldest first.
  func siblings(of parent: RelayParent) throws(RelayError) -> [RelayRegistrar.Sibling] {
    let row = try database.statement(
      """
      SELECT name, NOT EXISTS(SELECT 1 FROM entries WHERE mailbox = m.number
        AND blob IS NOT NULL), day, roster
        FROM mailboxes m WHERE parent = (SELECT number FROM mailboxes WHERE name = ?)
          AND child = ? ORDER BY number
      """
    ).bind(parent.mailbox.bytes).bind(Int64(parent.child.rawValue))
    var found: [RelayRegistrar.Sibling] = []
    while try row.step() {
      found.append(
        RelayRegistrar.Sibling(
          name: try row.identifier(0), isEmpty: row.int(1) != 0,
          day: UInt32(truncatingIfNeeded: row.int(2)),
          maker: try SQLiteRelayReader.roster(row.blob(3)).maker))
    }
    return found
  }

  /// Makes a mailbox a child of another.
  func adopt(_ name: Identifier, by parent: RelayParent) throws(RelayError) {
    try database.statement(
      """
      UPDATE mailboxes SET child = ?, parent = (SELECT number FROM mailboxes WHERE name = ?)
        WHERE name = ?
      """
    ).bind(Int64(parent.child.rawValue)).bind(parent.mailbox.bytes).bind(name.bytes).execute()
  }

  /// Deletes a mailbox with its contents and children.
  ///
  /// - Returns: how many mailboxes were deleted; 0 if there is none of the name.
  func delete(_ name: Identifier) throws(RelayError) -> Int {
    let row = try database.statement("SELECT number FROM mailboxes WHERE name = ?")
      .bind(name.bytes)
    guard try row.step() else { return 0 }
    let number = row.int(0)
    row.reset()
    return try delete(number)
  }

  /// Deletes a mailbox by the number of its row, with its contents and children.
  func delete(_ number: Int64) throws(RelayError) -> Int {
    let row = try database.statement(
      "SELECT number FROM mailboxes WHERE number = ?1 OR parent = ?1 ORDER BY number"
    ).bind(number)
    var numbers: [Int64] = []
    while try row.step() { numbers.append(row.int(0)) }
    for number in numbers {
      for sql in SQLiteRelayFamily.contents + ["DELETE FROM mailboxes WHERE number = ?"] {
        try database.statement(sql).bind(number).execute()
      }
    }
    return numbers.count
  }

  /// The statements that delete a mailbox's contents, by the number of its row.
  static let contents = [
    """
    DELETE FROM blobs WHERE number IN (
      SELECT blob FROM entries WHERE mailbox = ? AND blob IS NOT NULL)
    """,
    "DELETE FROM entries WHERE mailbox = ?", "DELETE FROM public_records WHERE mailbox = ?",
    "DELETE FROM public_fields WHERE mailbox = ?",
  ]

  /// Returns the use of all mailboxes.
  func totalBytes() throws(RelayError) -> UInt64 {
    let row = try database.statement("SELECT coalesce(sum(used_bytes), 0) FROM mailboxes")
    guard try row.step() else { return 0 }
    defer { row.reset() }
    return row.uint(0)
  }

  /// Returns the problems of parents and children, one sentence each.
  func problems() throws(RelayError) -> [String] {
    let row = try database.statement(
      """
      SELECT m.name, m.child, p.number, p.parent FROM mailboxes m
        LEFT JOIN mailboxes p ON p.number = m.parent
        WHERE m.parent IS NOT NULL OR m.child IS NOT NULL ORDER BY m.number
      """)
    var audit = RelayFamilyAudit()
    while try row.step() {
      audit.take(
        try row.identifier(0), child: row.isNull(1) ? nil : row.int(1),
        parent: row.isNull(2) ? nil : row.int(2), isGrandchild: !row.isNull(3))
    }
    return audit.problems
  }
}
