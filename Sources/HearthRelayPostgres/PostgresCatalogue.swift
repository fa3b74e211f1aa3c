import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// The records of catalogues by their fields, in tables beside the log.
///
/// Values are stored as bytes whose order is that of the values. So a condition of either kind is a
/// range, and one prepared statement answers queries of every shape.
enum PostgresCatalogue {
  /// The most rows of fields in one INSERT.
  static let maximumInsertFields = 10_000

  // MARK: Reading

  /// Entries of a batch that may be records, by the names of their mailboxes.
  struct Wanted {
    var mailboxes: [Identifier] = []
    var paths: [PublicKeyPath] = []

    mutating func add(_ name: [UInt8], _ mailbox: Identifier) {
      // Names of sealed blobs are usually no paths. Without paths no statement is necessary.
      guard let path = PublicEntry.path(ofName: name) else { return }
      mailboxes.append(mailbox)
      paths.append(path)
    }

    /// The statements for how many records the mailboxes' catalogues have, and which entries are
    /// records.
    var calls: [PostgresCall] {
      guard !paths.isEmpty else { return [] }
      return [
        PostgresCall(
          """
          SELECT m.name,
            (SELECT count(*) FROM hearth_relay.public_records r WHERE r.mailbox = m.number)
            FROM hearth_relay.mailboxes m
            WHERE m.name = ANY($1::bytea[]) AND m.kind = \(RelayMailboxKind.catalogue.rawValue)
          """, [.byteStrings(Set(mailboxes).sorted().map(\.bytes))]),
        PostgresCall(
          """
          SELECT box, r.type, r.id
            FROM unnest($1::bytea[], $2::text[], $3::text[]) AS wanted(box, type, id)
            JOIN hearth_relay.mailboxes m ON m.name = box
            JOIN hearth_relay.public_records r ON r.mailbox = m.number AND r.type = wanted.type
              AND r.id = wanted.id
          """,
          [
            .byteStrings(mailboxes.map(\.bytes)), .texts(paths.map(\.type)),
            .texts(paths.map(\.id)),
          ]),
      ]
    }

    /// Reads the results of the two statements.
    func read(_ counts: PostgresRows, _ records: PostgresRows, into plan: inout PostgresPlan)
      throws(PostgresFault)
    {
      for row in 0..<counts.count {
        plan.addRecordCount(Int(try counts.int8(row, 1)), in: try counts.identifier(row, 0))
      }
      for row in 0..<records.count {
        plan.addRecord(
          named: PublicName.entry(type: try records.text(row, 1), id: try records.text(row, 2)),
          in: try records.identifier(row, 0))
      }
    }
  }

  /// Counts how many records of a mailbox can be found by their fields.
  static func count(_ number: Int64) -> PostgresCall {
    PostgresCall(
      "SELECT count(*) FROM hearth_relay.public_records WHERE mailbox = $1::bigint",
      [.int8(number)])
  }

  // MARK: Writing

  /// A batch's changes to the tables, over all its catalogues.
  struct Change {
    /// A record at its position.
    private struct Row {
      let mailbox: Int64
      let path: PublicKeyPath
      let position: Int64
    }

    private var forgotten: [Row] = []
    private var records: [Row] = []
    private var fields: [(row: Row, field: PublicField)] = []

    mutating func add(_ box: PostgresPlan.Box, _ number: Int64) {
      func row(_ path: PublicKeyPath, _ position: UInt64) -> Row {
        Row(mailbox: number, path: path, position: Int64(clamping: position))
      }
      forgotten += box.forgotten.map { row($0.path, $0.position) }
      for entry in box.rows {
        // An entry that the same batch replaced has lost its blob.
        guard entry.blob != nil, let record = entry.record else { continue }
        let row = row(record.path, entry.header.position)
        records.append(row)
        for field in record.fields { fields.append((row, field)) }
      }
    }

    /// The statements, first those that make room.
    var calls: [PostgresCall] {
      var calls: [PostgresCall] = []
      if !forgotten.isEmpty {
        calls.append(
          PostgresCall(
            """
            DELETE FROM hearth_relay.public_records AS r
              USING unnest($1::bigint[], $2::text[], $3::text[]) AS gone(mailbox, type, id)
              WHERE r.mailbox = gone.mailbox AND r.type = gone.type AND r.id = gone.id
            """,
            [
              .int8s(forgotten.map(\.mailbox)), .texts(forgotten.map(\.path.type)),
              .texts(forgotten.map(\.path.id)),
            ]))
        calls.append(
          PostgresCall(
            """
            DELETE FROM hearth_relay.public_fields AS f
              USING unnest($1::bigint[], $2::bigint[]) AS gone(mailbox, position)
              WHERE f.mailbox = gone.mailbox AND f.position = gone.position
            """,
            [.int8s(forgotten.map(\.mailbox)), .int8s(forgotten.map(\.position))]))
      }
      if !records.isEmpty {
        calls.append(
          PostgresCall(
            """
            INSERT INTO hearth_relay.public_records(mailbox, type, id, position)
              SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
            """,
            [
              .int8s(records.map(\.mailbox)), .texts(records.map(\.path.type)),
              .texts(records.map(\.path.id)), .int8s(records.map(\.position)),
            ]))
      }
      for start in stride(from: 0, to: fields.count, by: maximumInsertFields) {
        calls.append(Change.insert(fields[start..<min(start + maximumInsertFields, fields.count)]))
      }
      return calls
    }

    private static func insert(_ fields: ArraySlice<(row: Row, field: PublicField)>)
      -> PostgresCall
    {
      PostgresCall(
        """
        INSERT INTO hearth_relay.public_fields(mailbox, position, type, id, name, kind, value)
          SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[],
            $6::bigint[], $7::bytea[])
        """,
        [
          .int8s(fields.map(\.row.mailbox)), .int8s(fields.map(\.row.position)),
          .texts(fields.map(\.row.path.type)), .texts(fields.map(\.row.path.id)),
          .texts(fields.map(\.field.name)), .int8s(fields.map { Int64($0.field.value.kind) }),
          .byteStrings(fields.map { bytes(of: $0.field.value) }),
        ])
    }
  }

  /// A value as bytes that are ordered like the values of its kind.
  static func bytes(of value: PublicValue) -> [UInt8] {
    switch value {
    case .bool(let value): return [value ? 1 : 0]
    case .int(let value):
      let raised = UInt64(bitPattern: value) ^ 1 << 63
      return withUnsafeBytes(of: raised.bigEndian) { Array($0) }
    case .text(let value): return Array(value.utf8)
    }
  }

  // MARK: Queries

  /// The statements that answer a query: the head, then the records.
  ///
  /// The index of the query's first equality gives candidates in order of id. The other conditions
  /// are looked up for each candidate, and blobs are read only of those that meet all. Rows end
  /// with the first candidate beyond a limit. The answer then reports only the candidate before it.
  static func calls(
    for query: PublicQuery, _ byteLimit: Int, number: String, _ name: PostgresValue
  ) -> [PostgresCall] {
    let driver = query.conditions.firstIndex {
      if case .equals = $0.test { true } else { false }
    }
    let rest = query.conditions.enumerated().filter { $0.offset != driver }.map(\.element)
    let ranges = rest.map { range(of: $0.test) }
    // If every candidate matches, no more are needed than the answer may contain.
    let most =
      rest.isEmpty
      ? min(query.limit, PublicLimits.maximumCandidates) : PublicLimits.maximumCandidates
    var values: [PostgresValue] = [
      name, .text(query.type), .text(query.after), .texts(rest.map(\.field)),
      .int8s(ranges.map { Int64($0.kind) }), .byteStrings(ranges.map(\.least)),
      .byteStrings(ranges.map(\.most)), .int8(Int64(most + 1)), .int8(Int64(query.limit)),
      .int8(Int64(byteLimit)),
    ]
    if let driver, case .equals(let value) = query.conditions[driver].test {
      values += [
        .text(query.conditions[driver].field), .int8(Int64(value.kind)), .bytes(bytes(of: value)),
      ]
    }
    return [
      PostgresCall(
        """
        SELECT blob FROM hearth_relay.entries WHERE mailbox = \(number) AND name = $2::bytea
          AND blob IS NOT NULL
        """, [name, .bytes(PublicName.head)]),
      PostgresCall(sql(hasDriver: driver != nil, number: number), values),
    ]
  }

  private static func range(of test: PublicCondition.Test)
    -> (kind: Int, least: [UInt8], most: [UInt8])
  {
    switch test {
    case .equals(let value): (value.kind, bytes(of: value), bytes(of: value))
    case .range(let least, let most):
      (
        PublicValue.int(0).kind, bytes(of: .int(least ?? .min)), bytes(of: .int(most ?? .max))
      )
    }
  }

  private static func sql(hasDriver: Bool, number: String) -> String {
    let table = hasDriver ? "public_fields" : "public_records"
    let equality =
      hasDriver ? "AND c.name = $11::text AND c.kind = $12::bigint AND c.value = $13::bytea" : ""
    return """
      WITH candidates AS MATERIALIZED (
        SELECT c.id, c.mailbox, c.position, NOT EXISTS(
          SELECT 1 FROM unnest($4::text[], $5::bigint[], $6::bytea[], $7::bytea[])
            AS t(name, kind, least, most)
            WHERE NOT EXISTS(SELECT 1 FROM hearth_relay.public_fields f
              WHERE f.mailbox = c.mailbox AND f.position = c.position AND f.name = t.name
                AND f.kind = t.kind AND f.value BETWEEN t.least AND t.most)) AS fits
        FROM hearth_relay.\(table) c
          WHERE c.mailbox = \(number) AND c.type = $2::text AND c.id > $3::text \(equality)
        ORDER BY c.id LIMIT $8::bigint
      ), counted AS (
        SELECT c.mailbox, c.position, c.fits, row_number() OVER w AS place,
          count(*) FILTER (WHERE c.fits) OVER w AS fitting,
          sum(e.size) FILTER (WHERE c.fits) OVER w AS bytes, lag(c.id) OVER w AS previous
          FROM candidates c
          LEFT JOIN hearth_relay.entries e ON e.mailbox = c.mailbox AND e.position = c.position
          WINDOW w AS (ORDER BY c.id)
      ), judged AS (
        SELECT *, bool_or(place > \(PublicLimits.maximumCandidates) OR fits
          AND (fitting > $9::bigint OR fitting > 1 AND bytes > $10::bigint))
          OVER (ORDER BY place) AS is_over
          FROM counted
      )
      SELECT j.is_over::integer::bigint, j.previous, e.blob FROM judged j
        LEFT JOIN hearth_relay.entries e
          ON e.mailbox = j.mailbox AND e.position = j.position AND NOT j.is_over
        WHERE j.fits AND NOT j.is_over OR j.place = (SELECT min(place) FROM judged WHERE is_over)
        ORDER BY j.place
      """
  }

  /// Reads the results of ``calls(for:_:number:_:)``.
  static func answer(_ head: PostgresRows, _ rows: PostgresRows) throws(PostgresFault)
    -> PublicAnswer
  {
    var records: [[UInt8]] = []
    var next: String?
    for row in 0..<rows.count {
      if try rows.int8(row, 0) != 0 {
        next = try rows.text(row, 1)
        break
      }
      records.append(try rows.blob(row, 2))
    }
    return PublicAnswer(
      head: head.count > 0 ? try head.blob(0, 0) : nil, records: records,
      next: next)
  }
}
