import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// Makes one write of a batch inside the open transaction.
///
/// A refused write changes nothing. Everything that may refuse is checked before the first row
/// changes, except quotas, which roll back to a savepoint.
struct SQLiteRelayWriter {
  let database: RelayDatabase
  private let tally = Tally()

  init(database: RelayDatabase) { self.database = database }

  /// The use of all mailboxes, computed once per batch and only if needed.
  private final class Tally {
    var bytes: UInt64?
  }

  private func totalBytes() throws(RelayError) -> UInt64 {
    if let bytes = tally.bytes { return bytes }
    let bytes = try SQLiteRelayFamily(database: database).totalBytes()
    tally.bytes = bytes
    return bytes
  }

  func perform(_ write: RelayWrite) throws(RelayError) -> RelayWritten {
    if case .create(
      let kind, let generation, let accessKey, let managerKey, let right, let adoption) =
      write.action
    {
      let mailbox = RelayMailbox(
        name: write.mailbox, kind: kind,
        head: RelayCursor(generation: generation, position: 0),
        chain: RelayChain.start(mailbox: write.mailbox, generation: generation),
        accessKey: accessKey, accessGeneration: 1, roster: RelayRoster(managers: [managerKey]),
        usedBytes: 0, quotaBytes: nil)
      return try create(mailbox, right, adoption, write.day)
    }
    let reader = SQLiteRelayReader(database: database)
    guard let (number, mailbox) = try reader.mailbox(write.mailbox) else {
      return .refused(.forbidden)
    }
    if let refusal = mailbox.refusal(of: write) { return .refused(refusal) }
    switch write.action {
    case .create: return .refused(.forbidden)
    case .put(let items):
      return try append(number, mailbox, write) { run throws(RelayError) in
        try put(items, &run)
      }
    case .remove(let names):
      return try append(number, mailbox, write) { run throws(RelayError) in
        try remove(names, &run)
      }
    case .rotate(let generation, let key):
      guard generation == mailbox.accessGeneration else { return .refused(.conflict) }
      try database.statement(
        "UPDATE mailboxes SET access_key = ?, access_generation = ? WHERE number = ?"
      ).bind(key).bind(generation + 1).bind(number).execute()
      return .rotated(generation: generation + 1)
    case .setRank(let key, let rank):
      var roster = mailbox.roster
      guard roster.set(key, to: rank) else { return .refused(.managers) }
      try keep(roster, number)
      return .done
    case .reset(let generation): return try reset(number, mailbox, generation, write.day)
    }
  }

  private func keep(_ roster: RelayRoster, _ number: Int64) throws(RelayError) {
    try database.statement("UPDATE mailboxes SET roster = ? WHERE number = ?")
      .bind(roster.encoded).bind(number).execute()
  }

  private func reset(
    _ number: Int64, _ mailbox: RelayMailbox, _ generation: Identifier, _ day: UInt32
  ) throws(RelayError) -> RelayWritten {
    for sql in SQLiteRelayFamily.contents {
      try database.statement(sql).bind(number).execute()
    }
    var roster = mailbox.roster
    roster.clearUse()
    try keep(roster, number)
    let chain = RelayChain.start(mailbox: mailbox.name, generation: generation)
    try database.statement(
      """
      UPDATE mailboxes SET generation = ?, head = 0, chain = ?, used_bytes = 0, day = ?
        WHERE number = ?
      """
    ).bind(generation.bytes).bind(chain.array).bind(Int64(day)).bind(number).execute()
    tally.bytes = nil
    return .reset(RelayCursor(generation: generation, position: 0))
  }

  private func create(
    _ mailbox: RelayMailbox, _ right: RelayRegistrationRight, _ adoption: RelayAdoption?,
    _ day: UInt32
  ) throws(RelayError) -> RelayWritten {
    let reader = SQLiteRelayReader(database: database)
    let family = SQLiteRelayFamily(database: database)
    var parent: RelayMailbox?
    var siblings: [RelayRegistrar.Sibling] = []
    if let adoption {
      parent = try reader.mailbox(adoption.parent.mailbox)?.value
      siblings = try family.siblings(of: adoption.parent)
    }
    let verdict = RelayRegistrar.judge(
      isTaken: try reader.mailbox(mailbox.name) != nil, right: try standing(of: right, mailbox),
      adoption: adoption, parent: parent, siblings: siblings, day: day)
    if case .refused(let refusal) = verdict { return .refused(refusal) }
    try insert(mailbox, day)
    let owner = parent?.roster
    var mailbox = mailbox
    switch verdict {
    case .refused: break
    case .registered:
      if case .token(let digest) = right {
        try database.statement("UPDATE tokens SET uses = uses - 1 WHERE digest = ?")
          .bind(digest.array).execute()
      }
    case .adopted(let parent, let dropped):
      for name in dropped { _ = try family.delete(name) }
      if !dropped.isEmpty { tally.bytes = nil }
      try family.adopt(mailbox.name, by: parent)
      mailbox.parent = parent
      mailbox.parentRoster = owner
    }
    return .created(mailbox)
  }

  private func standing(
    of right: RelayRegistrationRight, _ mailbox: RelayMailbox
  ) throws(RelayError) -> RelayRightStanding {
    switch right {
    case .open: return .good
    case .token(let digest):
      let row = try database.statement("SELECT uses FROM tokens WHERE digest = ?")
        .bind(digest.array)
      guard try row.step() else { return .none }
      defer { row.reset() }
      return row.int(0) > 0 ? .good : .usedUp
    case .listed:
      let row = try database.statement("SELECT 1 FROM listed WHERE key = ?")
        .bind(mailbox.managers[0])
      defer { row.reset() }
      return try row.step() ? .good : .none
    }
  }

  private func insert(_ mailbox: RelayMailbox, _ day: UInt32) throws(RelayError) {
    try database.statement(
      """
      INSERT INTO mailboxes(name, kind, generation, access_key, access_generation, head, chain,
        used_bytes, quota_bytes, day, roster) VALUES(?, ?, ?, ?, 1, 0, ?, 0, NULL, ?, ?)
      """
    ).bind(mailbox.name.bytes).bind(Int64(mailbox.kind.rawValue))
      .bind(mailbox.head.generation.bytes).bind(mailbox.accessKey).bind(mailbox.chain.array)
      .bind(Int64(day)).bind(mailbox.roster.encoded).execute()
  }

  /// The accumulated state of appending to one mailbox.
  private struct Run {
    let number: Int64
    /// Whether records are indexed by their fields.
    let isCatalogue: Bool
    var head: UInt64
    var chain: Bytes32
    /// The mailbox before the write, apart from its use counts.
    var mailbox: RelayMailbox
    /// The author of the write, and the number of its seat.
    let author: [UInt8]
    let seat: Int64
    var appended: [RelayHeader] = []

    /// Charges bytes and entries.
    mutating func charge(_ bytes: UInt64, entries: UInt64 = 0) {
      mailbox.usedBytes += bytes
      mailbox.roster.charge(seat, bytes: bytes, entries: entries)
    }
  }

  private func append(
    _ number: Int64, _ mailbox: RelayMailbox, _ write: RelayWrite,
    _ body: (inout Run) throws(RelayError) -> RelayWritten
  ) throws(RelayError) -> RelayWritten {
    var run = Run(
      number: number, isCatalogue: mailbox.kind == .catalogue, head: mailbox.head.position,
      chain: mailbox.chain, mailbox: mailbox, author: write.author,
      seat: mailbox.roster.number(of: write.author))
    try database.statement("SAVEPOINT batch").execute()
    let result = try body(&run)
    var isPut = false
    if case .put = write.action { isPut = true }
    if let refusal = try refusal(of: run, write.quota, isPut: isPut) {
      try database.statement("ROLLBACK TO batch").execute()
      try database.statement("RELEASE batch").execute()
      return .refused(refusal)
    }
    if isPut, !run.appended.isEmpty, write.quota.total != nil {
      let others = try totalBytes() - mailbox.usedBytes
      if write.quota.isBeyondTotal(
        from: mailbox.usedBytes, to: run.mailbox.usedBytes, others: others)
      {
        try database.statement("ROLLBACK TO batch").execute()
        try database.statement("RELEASE batch").execute()
        return .refused(.full)
      }
      tally.bytes = others + run.mailbox.usedBytes
    } else {
      tally.bytes = nil
    }
    if !run.appended.isEmpty {
      try database.statement(
        """
        UPDATE mailboxes SET head = ?, chain = ?, used_bytes = ?, day = ?, roster = ?
          WHERE number = ?
        """
      ).bind(run.head).bind(run.chain.array).bind(run.mailbox.usedBytes).bind(Int64(write.day))
        .bind(run.mailbox.roster.encoded).bind(number).execute()
    }
    try database.statement("RELEASE batch").execute()
    return result
  }

  /// Returns why a quota refuses a run; nil if none does.
  private func refusal(
    of run: Run, _ quota: RelayQuota, isPut: Bool
  ) throws(RelayError) -> RelayRefusal? {
    guard !run.appended.isEmpty else { return nil }
    guard isPut else { return run.head > quota.entries(of: run.mailbox) ? .quota : nil }
    if run.isCatalogue {
      let count = try SQLiteCatalogue(database: database).count(run.number)
      if count > PublicLimits.maximumRecords { return .quota }
    }
    var mailbox = run.mailbox
    mailbox.head = RelayCursor(generation: mailbox.head.generation, position: run.head)
    return quota.refusal(of: mailbox, RelayShare(of: run.author, in: mailbox))
  }

  private func put(_ items: [RelayPut], _ run: inout Run) throws(RelayError) -> RelayWritten {
    var outcomes: [RelayStored] = []
    for item in items {
      let digest = RelayChain.digest(of: item.blob)
      if let old = try live(item.name, run.number) {
        if old.header.digest == digest, old.header.byteCount == item.blob.count {
          outcomes.append(RelayStored(.present, position: old.header.position))
          if Mutant.relayLeavesGaps.isActive { run.head += 1 }
          continue
        }
        guard old.header.isReplaceable, item.isReplaceable,
          run.mailbox.mayReplace(storedBy: old.seat, run.author)
        else {
          outcomes.append(RelayStored(.conflict, position: old.header.position))
          continue
        }
        try drop(old, &run)
      }
      try database.statement("INSERT INTO blobs(bytes) VALUES(?)").bind(item.blob).execute()
      run.charge(UInt64(item.blob.count))
      try add(
        RelayHeader(
          position: run.head + 1, kind: .put, isReplaceable: item.isReplaceable, isLive: true,
          name: item.name, byteCount: item.blob.count, digest: digest), &run)
      if run.isCatalogue {
        try SQLiteCatalogue(database: database)
          .index(name: item.name, blob: item.blob, position: run.head, run.number)
      }
      outcomes.append(RelayStored(.stored, position: run.head))
    }
    return .stored(outcomes, appended: run.appended, head: run.head)
  }

  private func remove(_ names: [[UInt8]], _ run: inout Run) throws(RelayError) -> RelayWritten {
    var positions: [UInt64] = []
    for name in names {
      guard let old = try live(name, run.number),
        run.mailbox.mayDrop(storedBy: old.seat, run.author)
      else {
        positions.append(0)
        continue
      }
      try drop(old, &run)
      try add(
        RelayHeader(
          position: run.head + 1, kind: .remove, isReplaceable: false, isLive: false, name: name,
          byteCount: 0, digest: RelayChain.emptyDigest), &run)
      positions.append(run.head)
    }
    return .removed(positions, appended: run.appended, head: run.head)
  }

  private func live(_ name: [UInt8], _ number: Int64) throws(RelayError)
    -> Live?
  {
    let row = try database.statement(
      """
      SELECT \(SQLiteRelayReader.headerColumns), blob, seat FROM entries
        WHERE mailbox = ? AND name = ? AND blob IS NOT NULL
      """
    ).bind(number).bind(name)
    guard try row.step() else { return nil }
    defer { row.reset() }
    return Live(header: try SQLiteRelayReader.header(row), blob: row.int(6), seat: row.int(7))
  }

  /// The blob of a name, with the number of its row and the seat that stored it.
  private struct Live {
    let header: RelayHeader
    let blob: Int64
    let seat: Int64
  }

  private func drop(_ old: Live, _ run: inout Run) throws(RelayError) {
    let (header, blob) = (old.header, old.blob)
    try database.statement("UPDATE entries SET blob = NULL WHERE mailbox = ? AND position = ?")
      .bind(run.number).bind(header.position).execute()
    try database.statement("DELETE FROM blobs WHERE number = ?").bind(blob).execute()
    if run.isCatalogue {
      try SQLiteCatalogue(database: database).forget(name: header.name, run.number)
    }
    run.mailbox.usedBytes -= UInt64(header.byteCount)
    run.mailbox.roster.credit(old.seat, bytes: UInt64(header.byteCount))
  }

  /// Appends an entry.
  ///
  /// A live entry gets the last inserted blob.
  private func add(_ header: RelayHeader, _ run: inout Run) throws(RelayError) {
    run.chain = RelayChain.next(run.chain, header)
    run.head = header.position
    run.charge(RelayQuota.cost(ofName: header.name), entries: 1)
    run.appended.append(header)
    let blob = header.isLive ? "last_insert_rowid()" : "NULL"
    try database.statement(
      """
      INSERT INTO entries(mailbox, position, flags, name, size, digest, chain, seat, blob)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, \(blob))
      """
    ).bind(run.number).bind(header.position)
      .bind(Int64(header.kind.rawValue | (header.isReplaceable ? 2 : 0))).bind(header.name)
      .bind(Int64(header.byteCount)).bind(header.digest.array).bind(run.chain.array)
      .bind(run.seat).execute()
  }
}
