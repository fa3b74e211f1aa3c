import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync
import Synchronization

/// A log in memory, for tests and simulation: the simplest implementation of the port's guarantees.
package final class MemoryRelayLog: RelayLog {
  fileprivate struct Box {
    var mailbox: RelayMailbox
    /// The creation number of the mailbox.
    var number: Int
    /// The day of the last change.
    var day: UInt32
    var headers: [RelayHeader] = []
    var chains: [Bytes32] = []
    /// The seat that appended each entry.
    var storedBy: [Int64] = []
    var blobs: [UInt64: [UInt8]] = [:]
    var live: [[UInt8]: UInt64] = [:]
  }

  fileprivate struct State {
    var boxes: [Identifier: Box] = [:]
    var made = 0
    var tokens: [Bytes32: Int] = [:]
    var listed: Set<[UInt8]> = []
    var isFailing = false
  }

  private let state = Mutex(State())

  package init() {}

  /// Lets a token create a number of mailboxes.
  package func addToken(digest: Bytes32, uses: Int) {
    state.withLock { $0.tokens[digest] = uses }
  }

  /// Lets the holder of a manager's key create mailboxes.
  package func list(managerKey: [UInt8]) {
    state.withLock { _ = $0.listed.insert(managerKey) }
  }

  /// Sets the operator's quota for a mailbox.
  package func setQuota(_ bytes: UInt64?, of mailbox: Identifier) {
    state.withLock { $0.boxes[mailbox]?.mailbox.quotaBytes = bytes }
  }

  /// Makes every call throw, as a broken disk does.
  package func setFailing(_ isFailing: Bool) {
    state.withLock { $0.isFailing = isFailing }
  }

  package func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten] {
    let results: [RelayWritten]? = state.withLock { state in
      state.isFailing ? nil : batch.map { state.perform($0) }
    }
    guard let results else { throw RelayError(.inputOutput, "the memory was told to fail") }
    return results
  }

  package func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer {
    let answer: RelayAnswer? = state.withLock { $0.isFailing ? nil : $0.answer(question) }
    guard let answer else { throw RelayError(.inputOutput, "the memory was told to fail") }
    return answer
  }
}

extension MemoryRelayLog.State {
  fileprivate mutating func perform(_ write: RelayWrite) -> RelayWritten {
    if case .create(
      let kind, let generation, let accessKey, let managerKey, let right, let adoption) =
      write.action
    {
      let mailbox = RelayMailbox(
        name: write.mailbox, kind: kind, head: RelayCursor(generation: generation, position: 0),
        chain: RelayChain.start(mailbox: write.mailbox, generation: generation),
        accessKey: accessKey, accessGeneration: 1, roster: RelayRoster(managers: [managerKey]),
        usedBytes: 0,
        quotaBytes: nil)
      return create(mailbox, right, adoption, write.day)
    }
    guard var box = boxes[write.mailbox] else { return .refused(.forbidden) }
    box.mailbox.parentRoster = box.mailbox.parent.flatMap { boxes[$0.mailbox]?.mailbox.roster }
    if let refusal = box.mailbox.refusal(of: write) { return .refused(refusal) }
    let before = box.mailbox.usedBytes
    let result = box.perform(write)
    if case .refused = result { return result }
    if case .put = write.action, write.quota.total != nil {
      let others = boxes.values.reduce(0) { $0 + $1.mailbox.usedBytes } - before
      guard !write.quota.isBeyondTotal(from: before, to: box.mailbox.usedBytes, others: others)
      else { return .refused(.full) }
    }
    if box.mailbox.head != boxes[write.mailbox]?.mailbox.head {
      box.day = write.day
    }
    boxes[write.mailbox] = box
    return result
  }

  private mutating func create(
    _ mailbox: RelayMailbox, _ right: RelayRegistrationRight, _ adoption: RelayAdoption?,
    _ day: UInt32
  ) -> RelayWritten {
    let verdict = RelayRegistrar.judge(
      isTaken: boxes[mailbox.name] != nil, right: standing(of: right, for: mailbox),
      adoption: adoption, parent: adoption.flatMap { boxes[$0.parent.mailbox]?.mailbox },
      siblings: adoption.map { siblings(of: $0.parent) } ?? [], day: day)
    var mailbox = mailbox
    switch verdict {
    case .refused(let refusal): return .refused(refusal)
    case .registered:
      if case .token(let digest) = right { tokens[digest, default: 1] -= 1 }
    case .adopted(let parent, let dropped):
      for name in dropped { boxes[name] = nil }
      mailbox.parent = parent
      mailbox.parentRoster = boxes[parent.mailbox]?.mailbox.roster
    }
    made += 1
    boxes[mailbox.name] = MemoryRelayLog.Box(mailbox: mailbox, number: made, day: day)
    return .created(mailbox)
  }

  private func standing(
    of right: RelayRegistrationRight, for mailbox: RelayMailbox
  ) -> RelayRightStanding {
    switch right {
    case .open: .good
    case .token(let digest): tokens[digest].map { $0 > 0 ? .good : .usedUp } ?? .none
    case .listed: listed.isDisjoint(with: mailbox.managers) ? .none : .good
    }
  }

  /// Returns the children of a mailbox that are of the same kind, the oldest first.
  private func siblings(of parent: RelayParent) -> [RelayRegistrar.Sibling] {
    boxes.values.filter { $0.mailbox.parent == parent }.sorted { $0.number < $1.number }.map {
      RelayRegistrar.Sibling(
        name: $0.mailbox.name, isEmpty: $0.live.isEmpty, day: $0.day,
        maker: $0.mailbox.roster.maker)
    }
  }

  fileprivate func answer(_ read: RelayRead) -> RelayAnswer {
    var box = boxes[read.mailbox]
    if let parent = box?.mailbox.parent {
      box?.mailbox.parentRoster = boxes[parent.mailbox]?.mailbox.roster
    }
    if case .find(let position) = read.question {
      return .found(box?.mailbox, chain: position.flatMap { box?.chain(at: $0) })
    }
    guard let box, let authority = read.authority else { return .refused(.forbidden) }
    if let refusal = box.mailbox.refusal(toRead: authority) { return .refused(refusal) }
    return box.answer(read.question)
  }
}

extension MemoryRelayLog.Box {
  fileprivate func chain(at position: UInt64) -> Bytes32? {
    guard position > 0 else {
      return RelayChain.start(mailbox: mailbox.name, generation: mailbox.head.generation)
    }
    return position <= chains.count ? chains[Int(position) - 1] : nil
  }

  fileprivate mutating func perform(_ write: RelayWrite) -> RelayWritten {
    switch write.action {
    case .create: return .refused(.forbidden)
    case .put(let items): return put(items, write)
    case .remove(let names): return remove(names, write)
    case .rotate(let generation, let key):
      guard generation == mailbox.accessGeneration else { return .refused(.conflict) }
      mailbox.accessGeneration += 1
      mailbox.accessKey = key
      return .rotated(generation: mailbox.accessGeneration)
    case .setRank(let key, let rank):
      return mailbox.roster.set(key, to: rank) ? .done : .refused(.managers)
    case .reset(let generation):
      mailbox.head = RelayCursor(generation: generation, position: 0)
      mailbox.chain = RelayChain.start(mailbox: mailbox.name, generation: generation)
      mailbox.usedBytes = 0
      mailbox.roster.clearUse()
      (headers, chains, blobs, live, storedBy) = ([], [], [:], [:], [])
      return .reset(mailbox.head)
    }
  }

  private mutating func put(_ items: [RelayPut], _ write: RelayWrite) -> RelayWritten {
    let share = RelayShare(of: write.author, in: mailbox)
    let seat = mailbox.roster.number(of: write.author)
    var outcomes: [RelayStored] = []
    var appended: [RelayHeader] = []
    for item in items {
      let digest = RelayChain.digest(of: item.blob)
      if let position = live[item.name] {
        let old = headers[Int(position) - 1]
        if old.digest == digest, old.byteCount == item.blob.count {
          outcomes.append(RelayStored(.present, position: position))
          continue
        }
        guard old.isReplaceable, item.isReplaceable,
          mailbox.mayReplace(storedBy: storedBy[Int(position) - 1], write.author)
        else {
          outcomes.append(RelayStored(.conflict, position: position))
          continue
        }
        drop(position)
      }
      let header = RelayHeader(
        position: mailbox.head.position + 1, kind: .put, isReplaceable: item.isReplaceable,
        isLive: true, name: item.name, byteCount: item.blob.count, digest: digest)
      append(header, seat)
      blobs[header.position] = item.blob
      live[item.name] = header.position
      mailbox.usedBytes += UInt64(item.blob.count)
      mailbox.roster.charge(seat, bytes: UInt64(item.blob.count))
      appended.append(header)
      outcomes.append(RelayStored(.stored, position: header.position))
    }
    let isFull = mailbox.kind == .catalogue && live.count > PublicLimits.maximumRecords + 1
    if !appended.isEmpty {
      if isFull { return .refused(.quota) }
      if let refusal = write.quota.refusal(of: mailbox, share) { return .refused(refusal) }
    }
    return .stored(outcomes, appended: appended, head: mailbox.head.position)
  }

  private mutating func remove(_ names: [[UInt8]], _ write: RelayWrite) -> RelayWritten {
    let seat = mailbox.roster.number(of: write.author)
    var positions: [UInt64] = []
    var appended: [RelayHeader] = []
    for name in names {
      guard let old = live[name], mailbox.mayDrop(storedBy: storedBy[Int(old) - 1], write.author)
      else {
        positions.append(0)
        continue
      }
      drop(old)
      let header = RelayHeader(
        position: mailbox.head.position + 1, kind: .remove, isReplaceable: false, isLive: false,
        name: name, byteCount: 0, digest: RelayChain.emptyDigest)
      append(header, seat)
      appended.append(header)
      positions.append(header.position)
    }
    if mailbox.head.position > write.quota.entries(of: mailbox) { return .refused(.quota) }
    return .removed(positions, appended: appended, head: mailbox.head.position)
  }

  private mutating func append(_ header: RelayHeader, _ seat: Int64) {
    mailbox.chain = RelayChain.next(mailbox.chain, header)
    mailbox.head = RelayCursor(generation: mailbox.head.generation, position: header.position)
    mailbox.usedBytes += RelayQuota.cost(ofName: header.name)
    mailbox.roster.charge(seat, bytes: RelayQuota.cost(ofName: header.name), entries: 1)
    headers.append(header)
    storedBy.append(seat)
    chains.append(mailbox.chain)
  }

  private mutating func drop(_ position: UInt64) {
    let old = headers[Int(position) - 1]
    headers[Int(position) - 1] = old.withoutBlob
    blobs[position] = nil
    live[old.name] = nil
    mailbox.usedBytes -= UInt64(old.byteCount)
    mailbox.roster.credit(storedBy[Int(position) - 1], bytes: UInt64(old.byteCount))
  }

  fileprivate func answer(_ question: RelayRead.Question) -> RelayAnswer {
    let head = mailbox.head.position
    switch question {
    case .find: return .refused(.forbidden)
    case .head: return .head(head)
    case .roster: return .roster(mailbox.roster.report)
    case .list(let after, let limit, let isLiveOnly, let author):
      return list(after, limit, isLiveOnly, author.map { mailbox.roster.entries(of: $0) })
    case .fetch(let names, let byteLimit):
      var budget = RelayByteBudget(byteLimit)
      var found: [[UInt8]?] = []
      for name in names {
        let blob = live[name].flatMap { blobs[$0] }
        guard budget.takes(blob?.count ?? 0) else { break }
        found.append(blob)
      }
      return .blobs(found)
    case .query(let query, let byteLimit): return .records(find(query, byteLimit))
    case .page(let after, let limit, let byteLimit):
      var budget = RelayByteBudget(byteLimit)
      var entries: [RelayEntry] = []
      for header in headers.dropFirst(Int(min(after, head))).prefix(limit) {
        let blob = blobs[header.position] ?? []
        guard budget.takes(header.name.count + blob.count) else { break }
        entries.append(RelayEntry(header: header, blob: blob))
      }
      let last = entries.last?.header.position ?? min(after, head)
      return .page(
        RelayPage(entries: entries, head: head, chain: chain(at: last) ?? mailbox.chain))
    }
  }
}

extension MemoryRelayLog.Box {
  private func list(
    _ after: UInt64, _ limit: Int, _ isLiveOnly: Bool, _ wanted: RelayEntriesOf?
  ) -> RelayAnswer {
    let head = mailbox.head.position
    let end = RelayLogLook.end(
      after: after, head: head, isSelective: isLiveOnly || wanted != nil)
    let found = headers.prefix(Int(end)).dropFirst(Int(min(after, end))).lazy
      .filter { $0.isLive || !isLiveOnly }
      .filter { wanted?.takes(storedBy[Int($0.position) - 1]) ?? true }.prefix(limit)
    let through = found.count < limit ? end : found.last?.position ?? end
    return .listing(
      RelayListing(
        headers: Array(found), through: through, head: head,
        chain: chain(at: through) ?? mailbox.chain))
  }

  private func find(_ query: PublicQuery, _ byteLimit: Int) -> PublicAnswer {
    let head = live[PublicName.head].flatMap { blobs[$0] }
    guard mailbox.kind == .catalogue else {
      return PublicAnswer(head: nil, records: [], next: nil)
    }
    let candidates = live.keys.filter { name in
      PublicEntry.path(ofName: name).map {
        $0.type == query.type && query.after.utf8.lexicographicallyPrecedes($0.id.utf8)
      } ?? false
    }.sorted { $0.lexicographicallyPrecedes($1) }
    var budget = RelayByteBudget(byteLimit)
    var records: [[UInt8]] = []
    var last: String?
    for (place, name) in candidates.enumerated() {
      let blob = live[name].flatMap { blobs[$0] } ?? []
      guard place < PublicLimits.maximumCandidates else {
        return PublicAnswer(head: head, records: records, next: last)
      }
      if let record = PublicEntry.record(name: name, blob: blob), query.accepts(record) {
        guard records.count < query.limit, budget.takes(blob.count) else {
          return PublicAnswer(head: head, records: records, next: last)
        }
        records.append(blob)
      }
      last = PublicEntry.path(ofName: name)?.id
    }
    return PublicAnswer(head: head, records: records, next: nil)
  }
}
