import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The records of catalogues by their fields, in tables beside the log.
struct SQLiteCatalogue {
  let database: RelayDatabase

  /// Indexes an entry that was just stored; the head is not indexed.
  func index(name: [UInt8], blob: [UInt8], position: UInt64, _ number: Int64) throws(RelayError) {
    guard let record = PublicEntry.record(name: name, blob: blob) else { return }
    try database.statement(
      "INSERT INTO public_records(mailbox, type, id, position) VALUES(?, ?, ?, ?)"
    ).bind(number).bind(text: record.path.type).bind(text: record.path.id).bind(position).execute()
    for field in record.fields {
      let row = try database.statement(
        "INSERT INTO public_fields(mailbox, type, id, name, kind, value) VALUES(?, ?, ?, ?, ?, ?)"
      ).bind(number).bind(text: record.path.type).bind(text: record.path.id)
        .bind(text: field.name).bind(Int64(field.value.kind))
      try bind(field.value, to: row)
      try row.execute()
    }
  }

  /// Removes a replaced or removed entry from the index.
  func forget(name: [UInt8], _ number: Int64) throws(RelayError) {
    guard let path = PublicEntry.path(ofName: name) else { return }
    for table in ["public_records", "public_fields"] {
      try database.statement("DELETE FROM \(table) WHERE mailbox = ? AND type = ? AND id = ?")
        .bind(number).bind(text: path.type).bind(text: path.id).execute()
    }
  }

  /// Returns how many records a catalogue has.
  func count(_ number: Int64) throws(RelayError) -> Int {
    let row = try database.statement("SELECT count(*) FROM public_records WHERE mailbox = ?")
      .bind(number)
    defer { row.reset() }
    return try row.step() ? Int(row.int(0)) : 0
  }

  /// Answers a query.
  ///
  /// The index of its first equality gives candidates in order of id. The other conditions are
  /// looked up for each candidate. Blobs are read only of those that meet all.
  func answer(_ query: PublicQuery, _ byteLimit: Int, _ number: Int64) throws(RelayError)
    -> PublicAnswer
  {
    let head = try blob(PublicName.head, number)
    let driver = query.conditions.firstIndex {
      if case .equals = $0.test { true } else { false }
    }
    let rest = query.conditions.enumerated().filter { $0.offset != driver }.map(\.element)
    let row = try database.statement(sql(query, driver: driver, rest))
    // The parameters are in the order of the text: first the lookups, then the candidates.
    for condition in rest { try bind(condition, number, query.type, to: row) }
    try row.bind(number).bind(text: query.type).bind(text: query.after)
    if let driver, case .equals(let value) = query.conditions[driver].test {
      try row.bind(text: query.conditions[driver].field).bind(Int64(value.kind))
      try bind(value, to: row)
    }
    try row.bind(Int64(PublicLimits.maximumCandidates + 1))
    defer { row.reset() }
    var budget = RelayByteBudget(byteLimit)
    var records: [[UInt8]] = []
    var last: String?
    var candidates = 0
    while try row.step() {
      candidates += 1
      let id = row.text(0)
      let stop = PublicAnswer(head: head, records: records, next: last)
      guard candidates <= PublicLimits.maximumCandidates else { return stop }
      if row.int(1) != 0 {
        guard records.count < query.limit else { return stop }
        let blob = try blob(PublicName.entry(type: query.type, id: id), number) ?? []
        guard budget.takes(blob.count) else { return stop }
        records.append(blob)
      }
      last = id
    }
    return PublicAnswer(head: head, records: records, next: nil)
  }

  private func sql(
    _ query: PublicQuery, driver: Int?, _ rest: [PublicCondition]
  ) -> String {
    let tests = rest.map { condition in
      let test =
        switch condition.test {
        case .equals: "f.kind = ? AND f.value = ?"
        case .range: "f.kind = 1 AND f.value BETWEEN ? AND ?"
        }
      return """
        EXISTS(SELECT 1 FROM public_fields f WHERE f.mailbox = ? AND f.type = ? AND f.id = c.id
          AND f.name = ? AND \(test))
        """
    }
    // Both indexes are in order of id here, so rows come one by one and are tested as they come.
    let candidates =
      driver == nil
      ? "public_records c WHERE c.mailbox = ? AND c.type = ? AND c.id > ?"
      : """
      public_fields c INDEXED BY public_values
        WHERE c.mailbox = ? AND c.type = ? AND c.id > ? AND c.name = ? AND c.kind = ?
        AND c.value = ?
      """
    return """
      SELECT c.id, \(tests.isEmpty ? "1" : tests.joined(separator: " AND "))
        FROM \(candidates) ORDER BY c.id LIMIT ?
      """
  }

  private func bind(
    _ condition: PublicCondition, _ number: Int64, _ type: String, to row: RelayStatement
  ) throws(RelayError) {
    try row.bind(number).bind(text: type).bind(text: condition.field)
    switch condition.test {
    case .equals(let value):
      try row.bind(Int64(value.kind))
      try bind(value, to: row)
    case .range(let least, let most): try row.bind(least ?? .min).bind(most ?? .max)
    }
  }

  private func bind(_ value: PublicValue, to row: RelayStatement) throws(RelayError) {
    switch value {
    case .bool(let value): try row.bind(Int64(value ? 1 : 0))
    case .int(let value): try row.bind(value)
    // As bytes: a text may contain a zero, at which SQLite's texts end.
    case .text(let value): try row.bind(Array(value.utf8))
    }
  }

  private func blob(_ name: [UInt8], _ number: Int64) throws(RelayError) -> [UInt8]? {
    let row = try database.statement(
      """
      SELECT bytes FROM entries JOIN blobs ON blobs.number = entries.blob
        WHERE mailbox = ? AND name = ? AND blob IS NOT NULL
      """
    ).bind(number).bind(name)
    defer { row.reset() }
    return try row.step() ? row.blob(0) : nil
  }
}
