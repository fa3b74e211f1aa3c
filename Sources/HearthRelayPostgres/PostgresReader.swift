import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// Answers questions, each from one snapshot and in one round trip.
struct PostgresReader {
  let connection: PostgresConnection

  static let mailboxColumns = """
    number, kind::bigint, generation, access_key, access_generation, head, chain, used_bytes,
    quota_bytes, roster, name, child::bigint,
    (SELECT p.name FROM hearth_relay.mailboxes p WHERE p.number = mailboxes.parent) AS owner,
    (SELECT p.roster FROM hearth_relay.mailboxes p WHERE p.number = mailboxes.parent)
      AS owner_roster
    """
  /// The number of these columns.
  static let mailboxColumnCount = 14
  static let headerColumns = """
    position, flags::bigint, name, size::bigint, digest, (blob IS NOT NULL)::integer::bigint, chain
    """

  private static let begin = PostgresCall("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  private static let end = PostgresCall("COMMIT")
  private static let find = """
    SELECT \(mailboxColumns) FROM hearth_relay.mailboxes WHERE name = $1::bytea
    """
  private static let number = "(SELECT number FROM hearth_relay.mailboxes WHERE name = $1::bytea)"

  /// A mailbox and its row's number.
  static func mailbox(_ rows: PostgresRows, _ row: Int) throws(PostgresFault)
    -> (number: Int64, value: RelayMailbox)
  {
    let accessKey = try rows.bytes(row, 3, atMost: 32)
    let kind = try rows.uint(row, 1)
    guard accessKey.count == 32, kind <= 255 else {
      throw PostgresFault.damaged
    }
    let value = RelayMailbox(
      name: try rows.identifier(row, 10), kind: RelayMailboxKind(rawValue: UInt8(kind)),
      head: RelayCursor(
        generation: try rows.identifier(row, 2), position: try rows.uint(row, 5)),
      chain: try rows.bytes32(row, 6), accessKey: accessKey,
      accessGeneration: try rows.uint(row, 4),
      roster: try roster(rows, row, 9),
      usedBytes: try rows.uint(row, 7),
      quotaBytes: rows.isNull(row, 8) ? nil : try rows.uint(row, 8),
      parent: try parent(rows, row, child: 11, name: 12),
      parentRoster: rows.isNull(row, 13) ? nil : try roster(rows, row, 13))
    return (try rows.int8(row, 0), value)
  }

  /// Reads the roster in a column.
  static func roster(_ rows: PostgresRows, _ row: Int, _ column: Int) throws(PostgresFault)
    -> RelayRoster
  {
    let bytes = try rows.bytes(row, column, atMost: RelayRoster.maximumBytes)
    guard let roster = try? RelayRoster(decoding: bytes) else { throw PostgresFault.damaged }
    return roster
  }

  /// Reads a mailbox's parent from two columns.
  static func parent(
    _ rows: PostgresRows, _ row: Int, child: Int, name: Int
  ) throws(PostgresFault) -> RelayParent? {
    guard !rows.isNull(row, child), !rows.isNull(row, name) else { return nil }
    guard let byte = UInt8(exactly: try rows.uint(row, child)),
      let kind = RelayParent.Child(rawValue: byte)
    else { throw PostgresFault.damaged }
    return RelayParent(try rows.identifier(row, name), kind)
  }

  /// A header and the chain after it, from columns that begin at `first`.
  static func header(_ rows: PostgresRows, _ row: Int, from first: Int = 0) throws(PostgresFault)
    -> (header: RelayHeader, chain: Bytes32)
  {
    let flags = try rows.uint(row, first + 1)
    let size = try rows.uint(row, first + 3)
    guard size <= UInt64(RelayLimits.maximumBlobBytes), flags <= 3 else {
      throw PostgresFault.damaged
    }
    let header = RelayHeader(
      position: try rows.uint(row, first), kind: flags & 1 == 1 ? .remove : .put,
      isReplaceable: flags & 2 != 0, isLive: try rows.uint(row, first + 5) != 0,
      name: try rows.bytes(row, first + 2, atMost: RelayLimits.maximumNameBytes),
      byteCount: Int(size), digest: try rows.bytes32(row, first + 4))
    return (header, try rows.bytes32(row, first + 6))
  }

  /// Answers a read.
  ///
  /// Also returns the mailbox whose state the answer reveals.
  func answer(_ read: RelayRead) throws(PostgresFault) -> (
    answer: RelayAnswer, mailbox: RelayMailbox?
  ) {
    let name = PostgresValue.bytes(read.mailbox.bytes)
    let first = [PostgresReader.begin, PostgresCall(PostgresReader.find, [name])]
    var results: [PostgresRows]
    if case .list(_, _, _, let author?) = read.question {
      // The mailbox's row determines which entries are an author's.
      results = try connection.run(first)
      let wanted = try PostgresReader.found(results)?.roster.entries(of: author)
      let calls = PostgresReader.calls(for: read.question, name, of: wanted ?? .noneOf([]))
      results += try connection.run(calls + [PostgresReader.end])
    } else {
      let calls = PostgresReader.calls(for: read.question, name)
      results = try connection.run(first + calls + [PostgresReader.end])
    }
    let found = try PostgresReader.found(results)
    let rows = results[2]
    if case .find(let position) = read.question {
      guard let found else { return (.found(nil, chain: nil), nil) }
      return (.found(found, chain: try chain(of: found, at: position, rows)), found)
    }
    guard let found, let authority = read.authority else { return (.refused(.forbidden), nil) }
    if let refusal = found.refusal(toRead: authority) { return (.refused(refusal), nil) }
    return (try answer(read.question, about: found, results), found)
  }

  private static func found(_ results: [PostgresRows]) throws(PostgresFault) -> RelayMailbox? {
    results[1].count > 0 ? try mailbox(results[1], 0).value : nil
  }

  private func answer(
    _ question: RelayRead.Question, about found: RelayMailbox, _ results: [PostgresRows]
  ) throws(PostgresFault) -> RelayAnswer {
    let rows = results[2]
    let head = found.head.position
    switch question {
    case .find, .head: return .head(head)
    case .roster: return .roster(found.roster.report)
    case .list(let after, let limit, let isLiveOnly, let author):
      var headers: [RelayHeader] = []
      var chain = found.chain
      for row in 0..<rows.count {
        let next = try PostgresReader.header(rows, row)
        headers.append(next.header)
        chain = next.chain
      }
      if headers.count >= limit, let last = headers.last {
        return .listing(
          RelayListing(headers: headers, through: last.position, head: head, chain: chain))
      }
      let end = RelayLogLook.end(
        after: after, head: head, isSelective: isLiveOnly || author != nil)
      // At the end of the log the chain is the mailbox's own.
      let isHead = end == head || results.count < 4 || results[3].count == 0
      return .listing(
        RelayListing(
          headers: headers, through: end, head: head,
          chain: isHead ? found.chain : try results[3].bytes32(0, 0)))
    case .fetch(_, let byteLimit): return .blobs(try blobs(rows, byteLimit))
    case .query:
      guard found.kind == .catalogue else {
        return .records(PublicAnswer(head: nil, records: [], next: nil))
      }
      return .records(try PostgresCatalogue.answer(rows, results[3]))
    case .page(_, _, let byteLimit):
      let (entries, chain) = try PostgresReader.entries(rows, byteLimit)
      return .page(RelayPage(entries: entries, head: head, chain: chain ?? found.chain))
    }
  }

  private func chain(of mailbox: RelayMailbox, at position: UInt64?, _ rows: PostgresRows)
    throws(PostgresFault) -> Bytes32?
  {
    guard let position else { return nil }
    if position == 0 {
      return RelayChain.start(mailbox: mailbox.name, generation: mailbox.head.generation)
    }
    return rows.count > 0 ? try rows.bytes32(0, 0) : nil
  }

  private static func calls(
    for question: RelayRead.Question, _ name: PostgresValue, of wanted: RelayEntriesOf? = nil
  ) -> [PostgresCall] {
    switch question {
    case .find(nil), .head, .roster: return []
    case .find(let position?):
      return [
        PostgresCall(
          """
          SELECT chain FROM hearth_relay.entries
            WHERE mailbox = \(number) AND position = $2::bigint
          """, [name, .int8(Int64(clamping: position))])
      ]
    case .list(let after, let limit, let isLiveOnly, _):
      return list(name, after, limit, isLiveOnly, of: wanted)
    case .fetch(let names, let byteLimit):
      return [
        PostgresCall(
          """
          SELECT blob, size FROM (
            SELECT place, e.blob, e.size::bigint AS size,
              sum(coalesce(e.size, 0)) OVER (ORDER BY place) AS bytes
              FROM unnest($2::bytea[]) WITH ORDINALITY AS u(wanted, place)
              LEFT JOIN hearth_relay.entries e ON e.mailbox = \(number) AND e.name = wanted
                AND e.blob IS NOT NULL) AS found
            WHERE bytes <= $3::bigint OR place = 1 ORDER BY place
          """, [name, .byteStrings(names), .int8(Int64(byteLimit))])
      ]
    case .page(let after, let limit, let byteLimit):
      return [page(name, after, limit, byteLimit)]
    case .query(let query, let byteLimit):
      return PostgresCatalogue.calls(for: query, byteLimit, number: number, name)
    }
  }

  /// Lists headers after a position, and the chain where the listing ended.
  private static func list(
    _ name: PostgresValue, _ after: UInt64, _ limit: Int, _ isLiveOnly: Bool,
    of wanted: RelayEntriesOf?
  ) -> [PostgresCall] {
    let isSelective = isLiveOnly || wanted != nil
    let end = RelayLogLook.end(after: after, head: UInt64(Int64.max), isSelective: isSelective)
    var values = [
      name, PostgresValue.int8(Int64(clamping: after)), .int8(Int64(limit)),
      .int8(Int64(clamping: end)),
    ]
    var condition = isLiveOnly ? "AND blob IS NOT NULL" : ""
    switch wanted {
    case nil: break
    case .seat(let seat):
      condition += " AND seat = $5::bigint"
      values.append(.int8(seat))
    case .noneOf(let seats):
      condition += " AND NOT (seat = ANY($5::bigint[]))"
      values.append(.int8s(seats))
    }
    return [
      PostgresCall(
        """
        SELECT \(headerColumns) FROM hearth_relay.entries WHERE mailbox = \(number)
          AND position > $2::bigint AND position <= $4::bigint \(condition)
          ORDER BY position LIMIT $3::bigint
        """, values),
      PostgresCall(
        """
        SELECT chain FROM hearth_relay.entries
          WHERE mailbox = \(number) AND position = $2::bigint
        """,
        [name, .int8(Int64(clamping: end))]),
    ]
  }

  /// Reads entries after a position, cut by the server at the byte limit.
  private static func page(
    _ name: PostgresValue, _ after: UInt64, _ limit: Int, _ byteLimit: Int
  ) -> PostgresCall {
    PostgresCall(
      """
      SELECT \(headerColumns), blob FROM (
        SELECT *, row_number() OVER (ORDER BY position) AS place,
          sum(octet_length(name) + CASE WHEN blob IS NULL THEN 0 ELSE size END)
            OVER (ORDER BY position) AS bytes
          FROM (SELECT * FROM hearth_relay.entries WHERE mailbox = \(number)
            AND position > $2::bigint ORDER BY position LIMIT $3::bigint) AS following) AS found
        WHERE bytes <= $4::bigint OR place = 1 ORDER BY position
      """,
      [name, .int8(Int64(clamping: after)), .int8(Int64(limit)), .int8(Int64(byteLimit))])
  }

  private func blobs(_ rows: PostgresRows, _ byteLimit: Int) throws(PostgresFault) -> [[UInt8]?] {
    var budget = RelayByteBudget(byteLimit)
    var found: [[UInt8]?] = []
    for row in 0..<rows.count {
      let blob: [UInt8]? = rows.isNull(row, 0) ? nil : try rows.blob(row, 0)
      if let blob, try rows.uint(row, 1) != UInt64(blob.count) { throw PostgresFault.damaged }
      guard budget.takes(blob?.count ?? 0) else { break }
      found.append(blob)
    }
    return found
  }

  /// Entries with their blobs, and the chain after the last.
  static func entries(_ rows: PostgresRows, _ byteLimit: Int) throws(PostgresFault)
    -> (entries: [RelayEntry], chain: Bytes32?)
  {
    var budget = RelayByteBudget(byteLimit)
    var entries: [RelayEntry] = []
    var end: Bytes32?
    for row in 0..<rows.count {
      let (header, chain) = try header(rows, row)
      let blob = header.isLive ? try rows.blob(row, 7) : []
      guard blob.count == (header.isLive ? header.byteCount : 0) else {
        throw PostgresFault.damaged
      }
      guard budget.takes(header.name.count + blob.count) else { break }
      entries.append(RelayEntry(header: header, blob: blob))
      end = chain
    }
    return (entries, end)
  }

  /// Reads a mailbox and the entries after a position, in one snapshot.
  func news(of mailbox: Identifier, after: UInt64?, limit: Int, byteLimit: Int)
    throws(PostgresFault) -> RelayLogNews
  {
    let name = PostgresValue.bytes(mailbox.bytes)
    var calls = [PostgresReader.begin, PostgresCall(PostgresReader.find, [name])]
    if let after { calls.append(PostgresReader.page(name, after, limit, byteLimit)) }
    let results = try connection.run(calls + [PostgresReader.end])
    return RelayLogNews(
      name: mailbox,
      mailbox: results[1].count > 0 ? try PostgresReader.mailbox(results[1], 0).value : nil,
      entries: after == nil ? [] : try PostgresReader.entries(results[2], byteLimit).entries)
  }

  /// Returns those of the mailboxes that exist.
  func mailboxes(_ names: [Identifier]) throws(PostgresFault) -> [RelayMailbox] {
    let rows = try connection.run([
      PostgresCall(
        """
        SELECT \(PostgresReader.mailboxColumns) FROM hearth_relay.mailboxes
          WHERE name = ANY($1::bytea[])
        """, [.byteStrings(names.map(\.bytes))])
    ])[0]
    var found: [RelayMailbox] = []
    for row in 0..<rows.count { found.append(try PostgresReader.mailbox(rows, row).value) }
    return found
  }
}
