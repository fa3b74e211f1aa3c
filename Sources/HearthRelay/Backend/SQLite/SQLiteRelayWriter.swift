import HearthCRDT
import HearthCrypto
import HearthSync

/// Does one write of a batch inside the open transaction.
///
/// A write that is refused has changed nothing: everything that may refuse is looked at before the
/// first row is changed, except quotas, which undo to a savepoint.
struct SQLiteRelayWriter {
  let database: RelayDatabase
  private let tally = Tally()

  init(database: RelayDatabase) { self.database = database }

  /// What all mailboxes hold, counted once a batch and only where it matters.
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
        accessKey: accessKey, accessGeneration: 1, managers: [managerKey], usedBytes: 0,
        quotaBytes: nil)
      return try create(mailbox, right, adoption, write.day)
    }
    let reader = SQLiteRelayReader(database: database)
    guard let (number, mailbox) = try reader.mailbox(write.mailbox), let authority = write.authority
    else { return .refused(.forbidden) }
    if let refusal = mailbox.refusal(of: authority) { return .refused(refusal) }
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
    case .addManager(let key):
      if mailbox.managers.contains(key) { return .done }
      guard mailbox.managers.count < RelayLimits.maximumManagers else {
        return .refused(.managers)
      }
      try database.statement("INSERT INTO managers(mailbox, key) VALUES(?, ?)")
        .bind(number).bind(key).execute()
      return .done
    case .removeManager(let key):
      guard mailbox.managers.contains(key) else { return .done }
      guard mailbox.managers.count > 1 else { return .refused(.managers) }
      try database.statement("DELETE FROM managers WHERE mailbox = ? AND key = ?")
        .bind(number).bind(key).execute()
      return .done
    }
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
        used_bytes, quota_bytes, day) VALUES(?, ?, ?, ?, 1, 0, ?, 0, NULL, ?)
      """
    ).bind(mailbox.name.bytes).bind(Int64(mailbox.kind.rawValue))
      .bind(mailbox.head.generation.bytes).bind(mailbox.accessKey).bind(mailbox.chain.array)
      .bind(Int64(day)).execute()
    try database.statement(
      "INSERT INTO managers(mailbox, key) SELECT number, ? FROM mailboxes WHERE name = ?"
    ).bind(mailbox.managers[0]).bind(mailbox.name.bytes).execute()
  }

  /// What appending to one mailbox has come to.
  private struct Run {
    let number: Int64
    /// Whether records are indexed by their fields.
    let isCatalogue: Bool
    var head: UInt64
    var chain: Bytes32
    var usedBytes: UInt64
    var appended: [RelayHeader] = []
  }

  private func append(
    _ number: Int64, _ mailbox: RelayMailbox, _ write: RelayWrite,
    _ body: (inout Run) throws(RelayError) -> RelayWritten
  ) throws(RelayError) -> RelayWritten {
    var run = Run(
      number: number, isCatalogue: mailbox.kind == .catalogue, head: mailbox.head.position,
      chain: mailbox.chain,
      usedBytes: mailbox.usedBytes)
    try database.statement("SAVEPOINT batch").execute()
    let result = try body(&run)
    var isPut = false
    if case .put = write.action { isPut = true }
    let isOver =
      run.head > write.quota.entries(of: mailbox)
      || (isPut && run.usedBytes > write.quota.bytes(of: mailbox))
    var isFull = false
    if isPut, run.isCatalogue {
      isFull = try SQLiteCatalogue(database: database).count(number) > PublicLimits.maximumRecords
    }
    if !run.appended.isEmpty, isOver || isFull {
      try database.statement("ROLLBACK TO batch").execute()
      try database.statement("RELEASE batch").execute()
      return .refused(.quota)
    }
    if isPut, !run.appended.isEmpty, write.quota.total != nil {
      let others = try totalBytes() - mailbox.usedBytes
      if write.quota.isBeyondTotal(from: mailbox.usedBytes, to: run.usedBytes, others: others) {
        try database.statement("ROLLBACK TO batch").execute()
        try database.statement("RELEASE batch").execute()
        return .refused(.full)
      }
      tally.bytes = others + run.usedBytes
    } else {
      tally.bytes = nil
    }
    if !run.appended.isEmpty {
      try database.statement(
        "UPDATE mailboxes SET head = ?, chain = ?, used_bytes = ?, day = ? WHERE number = ?"
      ).bind(run.head).bind(run.chain.array).bind(run.usedBytes).bind(Int64(write.day))
        .bind(number).execute()
    }
    try database.statement("RELEASE batch").execute()
    return result
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
        guard old.header.isReplaceable, item.isReplaceable else {
          outcomes.append(RelayStored(.conflict, position: old.header.position))
          continue
        }
        try drop(old.header, old.blob, &run)
      }
      try database.statement("INSERT INTO blobs(bytes) VALUES(?)").bind(item.blob).execute()
      run.usedBytes += UInt64(item.blob.count)
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
      guard let old = try live(name, run.number) else {
        positions.append(0)
        continue
      }
      try drop(old.header, old.blob, &run)
      try add(
        RelayHeader(
          position: run.head + 1, kind: .remove, isReplaceable: false, isLive: false, name: name,
          byteCount: 0, digest: RelayChain.emptyDigest), &run)
      positions.append(run.head)
    }
    return .removed(positions, appended: run.appended, head: run.head)
  }

  private func live(_ name: [UInt8], _ number: Int64) throws(RelayError)
    -> (header: RelayHeader, blob: Int64)?
  {
    let row = try database.statement(
      """
      SELECT \(SQLiteRelayReader.headerColumns), blob FROM entries
        WHERE mailbox = ? AND name = ? AND blob IS NOT NULL
      """
    ).bind(number).bind(name)
    guard try row.step() else { return nil }
    defer { row.reset() }
    return (try SQLiteRelayReader.header(row), row.int(6))
  }

  private func drop(_ header: RelayHeader, _ blob: Int64, _ run: inout Run) throws(RelayError) {
    try database.statement("UPDATE entries SET blob = NULL WHERE mailbox = ? AND position = ?")
      .bind(run.number).bind(header.position).execute()
    try database.statement("DELETE FROM blobs WHERE number = ?").bind(blob).execute()
    if run.isCatalogue {
      try SQLiteCatalogue(database: database).forget(name: header.name, run.number)
    }
    run.usedBytes -= UInt64(header.byteCount)
  }

  /// Appends an entry; a live one gets the blob that was inserted last.
  private func add(_ header: RelayHeader, _ run: inout Run) throws(RelayError) {
    run.chain = RelayChain.next(run.chain, header)
    run.head = header.position
    run.usedBytes += RelayQuota.cost(ofName: header.name)
    run.appended.append(header)
    let blob = header.isLive ? "last_insert_rowid()" : "NULL"
    try database.statement(
      """
      INSERT INTO entries(mailbox, position, flags, name, size, digest, chain, blob)
        VALUES(?, ?, ?, ?, ?, ?, ?, \(blob))
      """
    ).bind(run.number).bind(header.position)
      .bind(Int64(header.kind.rawValue | (header.isReplaceable ? 2 : 0))).bind(header.name)
      .bind(Int64(header.byteCount)).bind(header.digest.array).bind(run.chain.array).execute()
  }
}
