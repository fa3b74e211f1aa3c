import HearthCRDT
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// Child mailboxes and their parents, in the tables of a PostgreSQL database.
enum PostgresRelayFamily {
  // MARK: Reading

  /// Selects the children of some mailboxes, the oldest first.
  static func siblings(of parents: Set<Identifier>) -> PostgresCall {
    PostgresCall(
      """
      SELECT p.name, c.child::bigint, c.name, (NOT EXISTS(SELECT 1 FROM hearth_relay.entries e
          WHERE e.mailbox = c.number AND e.blob IS NOT NULL))::integer::bigint, c.day, c.roster
        FROM hearth_relay.mailboxes p JOIN hearth_relay.mailboxes c ON c.parent = p.number
        WHERE p.name = ANY($1::bytea[]) ORDER BY c.number
      """, [.byteStrings(parents.sorted().map(\.bytes))])
  }

  /// Selects the use of all mailboxes.
  static let totalBytes = PostgresCall(
    "SELECT coalesce(sum(used_bytes), 0)::bigint FROM hearth_relay.mailboxes")

  /// Reads the result of ``siblings(of:)``.
  static func read(_ rows: PostgresRows, into plan: inout PostgresPlan) throws(PostgresFault) {
    for row in 0..<rows.count {
      guard
        let child = UInt8(exactly: try rows.uint(row, 1)).flatMap({ byte in
          RelayParent.Child(rawValue: byte)
        })
      else { throw PostgresFault.damaged }
      plan.add(
        RelayRegistrar.Sibling(
          name: try rows.identifier(row, 2), isEmpty: try rows.int8(row, 3) != 0,
          day: UInt32(clamping: try rows.int8(row, 4)),
          maker: try PostgresReader.roster(rows, row, 5).maker),
        of: RelayParent(try rows.identifier(row, 0), child))
    }
  }

  // MARK: Writing

  /// Deletes mailboxes with their contents.
  ///
  /// They must have no children besides those named.
  ///
  /// Their rows are locked first, so that a concurrent writer finishes before.
  static func deletion(of names: [Identifier]) -> [PostgresCall] {
    let values = [PostgresValue.byteStrings(names.map(\.bytes))]
    let numbers = "(SELECT number FROM hearth_relay.mailboxes WHERE name = ANY($1::bytea[]))"
    return [
      PostgresCall(
        """
        SELECT number FROM hearth_relay.mailboxes WHERE name = ANY($1::bytea[]) ORDER BY name
          FOR UPDATE
        """, values),
      PostgresCall("DELETE FROM hearth_relay.entries WHERE mailbox IN \(numbers)", values),
      PostgresCall("DELETE FROM hearth_relay.public_records WHERE mailbox IN \(numbers)", values),
      PostgresCall("DELETE FROM hearth_relay.public_fields WHERE mailbox IN \(numbers)", values),
      PostgresCall(
        "DELETE FROM hearth_relay.mailboxes WHERE name = ANY($1::bytea[])", values),
    ]
  }

  /// Deletes the contents of a mailbox whose row is locked.
  static func emptying(_ number: Int64) -> [PostgresCall] {
    let values = [PostgresValue.int8(number)]
    return ["entries", "public_records", "public_fields"].map {
      PostgresCall("DELETE FROM hearth_relay.\($0) WHERE mailbox = $1::bigint", values)
    }
  }

  /// Makes existing mailboxes children of other existing ones.
  static func adoption(_ mailboxes: [(name: Identifier, parent: RelayParent)]) -> PostgresCall {
    PostgresCall(
      """
      UPDATE hearth_relay.mailboxes AS m SET child = n.child, parent = p.number
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS n(name, parent, child)
        JOIN hearth_relay.mailboxes p ON p.name = n.parent
        WHERE m.name = n.name
      """,
      [
        .byteStrings(mailboxes.map(\.name.bytes)),
        .byteStrings(mailboxes.map(\.parent.mailbox.bytes)),
        .int8s(mailboxes.map { Int64($0.parent.child.rawValue) }),
      ])
  }

  // MARK: The operator's view

  /// Returns the problems of parents and children, one sentence each.
  static func problems(_ connection: PostgresConnection) throws(PostgresFault) -> [String] {
    let rows = try connection.run([
      .once(
        """
        SELECT m.name, m.child::bigint, p.number, p.parent FROM hearth_relay.mailboxes m
          LEFT JOIN hearth_relay.mailboxes p ON p.number = m.parent
          WHERE m.parent IS NOT NULL OR m.child IS NOT NULL ORDER BY m.number
        """)
    ])[0]
    var audit = RelayFamilyAudit()
    for row in 0..<rows.count {
      audit.take(
        try rows.identifier(row, 0), child: rows.isNull(row, 1) ? nil : try rows.int8(row, 1),
        parent: rows.isNull(row, 2) ? nil : try rows.int8(row, 2),
        isGrandchild: !rows.isNull(row, 3))
    }
    return audit.problems
  }
}
