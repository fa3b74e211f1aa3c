import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// Answers questions from one connection's snapshot.
struct SQLiteRelayReader {
  let database: RelayDatabase

  /// A mailbox and its row's number.
  func mailbox(_ name: Identifier) throws(RelayError) -> (number: Int64, value: RelayMailbox)? {
    let row = try database.statement(
      """
      SELECT number, kind, generation, access_key, access_generation, head, chain, used_bytes,
        quota_bytes, child, (SELECT p.name FROM mailboxes p WHERE p.number = m.parent), roster,
        (SELECT p.roster FROM mailboxes p WHERE p.number = m.parent)
        FROM mailboxes m WHERE name = ?
      """
    ).bind(name.bytes)
    guard try row.step() else { return nil }
    let number = row.int(0)
    let value = RelayMailbox(
      name: name, kind: RelayMailboxKind(rawValue: UInt8(truncatingIfNeeded: row.int(1))),
      head: RelayCursor(generation: try row.identifier(2), position: row.uint(5)),
      chain: try row.bytes32(6), accessKey: row.blob(3), accessGeneration: row.uint(4),
      roster: try Self.roster(row.blob(11)), usedBytes: row.uint(7),
      quotaBytes: row.isNull(8) ? nil : row.uint(8),
      parent: try Self.parent(row, child: 9, name: 10),
      parentRoster: row.isNull(12) ? nil : try Self.roster(row.blob(12)))
    row.reset()
    return (number, value)
  }

  /// Reads the roster in a row.
  static func roster(_ bytes: [UInt8]) throws(RelayError) -> RelayRoster {
    do {
      return try RelayRoster(decoding: bytes)
    } catch {
      throw RelayError(.corrupt, "the keys of a mailbox are damaged: \(error)")
    }
  }

  /// Reads a mailbox's parent from two columns.
  static func parent(
    _ row: RelayStatement, child: Int32, name: Int32
  ) throws(RelayError) -> RelayParent? {
    guard !row.isNull(child), !row.isNull(name),
      let kind = RelayParent.Child(rawValue: UInt8(truncatingIfNeeded: row.int(child)))
    else { return nil }
    return RelayParent(try row.identifier(name), kind)
  }

  func chain(of mailbox: RelayMailbox, _ number: Int64, at position: UInt64) throws(RelayError)
    -> Bytes32?
  {
    if position == 0 {
      return RelayChain.start(mailbox: mailbox.name, generation: mailbox.head.generation)
    }
    if position == mailbox.head.position { return mailbox.chain }
    let row = try database.statement(
      "SELECT chain FROM entries WHERE mailbox = ? AND position = ?"
    ).bind(number).bind(position)
    guard try row.step() else { return nil }
    defer { row.reset() }
    return try row.bytes32(0)
  }

  func answer(_ read: RelayRead) throws(RelayError) -> RelayAnswer {
    let found = try mailbox(read.mailbox)
    if case .find(let position) = read.question {
      guard let found else { return .found(nil, chain: nil) }
      let chain =
        if let position { try chain(of: found.value, found.number, at: position) } else {
          Bytes32?.none
        }
      return .found(found.value, chain: chain)
    }
    guard let found, let authority = read.authority else { return .refused(.forbidden) }
    if let refusal = found.value.refusal(toRead: authority) { return .refused(refusal) }
    switch read.question {
    case .find, .head: return .head(found.value.head.position)
    case .roster: return .roster(found.value.roster.report)
    case .list(let after, let limit, let isLiveOnly, let author):
      return try list(
        found.value, found.number, after, limit, isLiveOnly,
        of: author.map { found.value.roster.entries(of: $0) })
    case .fetch(let names, let byteLimit): return try fetch(found.number, names, byteLimit)
    case .page(let after, let limit, let byteLimit):
      return try page(found.value, found.number, after, limit, byteLimit)
    case .query(let query, let byteLimit):
      return .records(
        try SQLiteCatalogue(database: database).answer(query, byteLimit, found.number))
    }
  }

  static let headerColumns = "position, flags, name, size, digest, blob IS NOT NULL"

  static func header(_ row: RelayStatement) throws(RelayError) -> RelayHeader {
    let flags = UInt8(truncatingIfNeeded: row.int(1))
    return RelayHeader(
      position: row.uint(0), kind: flags & 1 == 1 ? .remove : .put, isReplaceable: flags & 2 != 0,
      isLive: row.int(5) != 0, name: row.blob(2), byteCount: Int(row.int(3)),
      digest: try row.bytes32(4))
  }

  private func list(
    _ mailbox: RelayMailbox, _ number: Int64, _ after: UInt64, _ limit: Int, _ isLiveOnly: Bool,
    of wanted: RelayEntriesOf?
  ) throws(RelayError) -> RelayAnswer {
    let head = mailbox.head.position
    let end = RelayLogLook.end(
      after: after, head: head, isSelective: isLiveOnly || wanted != nil)
    let row = try database.statement(
      """
      SELECT \(Self.headerColumns), seat FROM entries
        WHERE mailbox = ? AND position > ? AND position <= ?
        \(isLiveOnly ? "AND blob IS NOT NULL" : "") ORDER BY position
      """
    ).bind(number).bind(after).bind(end)
    var headers: [RelayHeader] = []
    while headers.count < limit, try row.step() {
      if wanted?.takes(row.int(6)) ?? true { headers.append(try Self.header(row)) }
    }
    row.reset()
    let through = headers.count < limit ? end : headers.last?.position ?? end
    return .listing(
      RelayListing(
        headers: headers, through: through, head: head,
        chain: try chain(of: mailbox, number, at: through) ?? mailbox.chain))
  }

  private func fetch(_ number: Int64, _ names: [[UInt8]], _ byteLimit: Int) throws(RelayError)
    -> RelayAnswer
  {
    var budget = RelayByteBudget(byteLimit)
    var found: [[UInt8]?] = []
    for name in names {
      let row = try database.statement(
        """
        SELECT bytes FROM entries JOIN blobs ON blobs.number = entries.blob
          WHERE mailbox = ? AND name = ? AND blob IS NOT NULL
        """
      ).bind(number).bind(name)
      let blob: [UInt8]? = try row.step() ? row.blob(0) : nil
      row.reset()
      guard budget.takes(blob?.count ?? 0) else { break }
      found.append(blob)
    }
    return .blobs(found)
  }

  private func page(
    _ mailbox: RelayMailbox, _ number: Int64, _ after: UInt64, _ limit: Int, _ byteLimit: Int
  ) throws(RelayError) -> RelayAnswer {
    var budget = RelayByteBudget(byteLimit)
    var entries: [RelayEntry] = []
    let row = try database.statement(
      """
      SELECT \(Self.headerColumns), bytes, chain FROM entries
        LEFT JOIN blobs ON blobs.number = entries.blob
        WHERE mailbox = ? AND position > ? ORDER BY position LIMIT ?
      """
    ).bind(number).bind(after).bind(Int64(limit))
    var end = try chain(of: mailbox, number, at: min(after, mailbox.head.position))
    while try row.step() {
      let header = try Self.header(row)
      guard budget.takes(header.name.count + (header.isLive ? header.byteCount : 0)) else { break }
      let blob = header.isLive ? row.blob(6) : []
      guard blob.count == (header.isLive ? header.byteCount : 0) else {
        throw RelayStatement.damaged("the log")
      }
      entries.append(RelayEntry(header: header, blob: blob))
      end = try row.bytes32(7)
    }
    row.reset()
    return .page(
      RelayPage(
        entries: entries, head: mailbox.head.position, chain: end ?? mailbox.chain))
  }
}
