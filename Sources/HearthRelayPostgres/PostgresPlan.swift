import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// The effect of a batch of writes, computed in memory from the rows that were locked for it.
///
/// A pure value: it begins with the database's state of the batch's mailboxes, applies one write
/// after the other, and ends with the rows to change. So a batch costs a few round trips however
/// many writes it has.
struct PostgresPlan {
  /// The blob of a name.
  struct Live {
    var position: UInt64
    var isReplaceable: Bool
    var byteCount: Int
    var digest: Bytes32
    /// The seat that stored it.
    var seat: Int64
    /// Whether it can be found by its fields.
    var isRecord = false
  }

  /// A mailbox of the batch.
  struct Box {
    /// The row's number; nil for a mailbox that the batch creates.
    var number: Int64?
    var mailbox: RelayMailbox
    var live: [[UInt8]: Live] = [:]
    /// How many records a catalogue has, if the batch's writes depend on it.
    var recordCount = 0
    var day: UInt32?
    /// The first position of the entries that the batch appends.
    var firstPosition: UInt64
    var rows: [Row] = []
    /// Positions of entries of earlier batches that lose their blobs.
    var drops: [UInt64] = []
    /// Records of earlier batches that can no longer be found by their fields.
    var forgotten: [(path: PublicKeyPath, position: UInt64)] = []
    var isChanged = false
    /// Whether the batch confirmed an entry that an earlier transaction stored.
    var isConfirmed = false
    /// Whether keys were changed.
    var isRekeyed = false
    /// Whether all entries of earlier transactions are deleted.
    var isEmptied = false
  }

  /// A new entry.
  struct Row {
    let header: RelayHeader
    let chain: Bytes32
    let seat: Int64
    var blob: [UInt8]?
    /// The record to index by its fields, as long as the blob is there.
    var record: PublicRecord?
  }

  private(set) var boxes: [Identifier: Box] = [:]
  private(set) var usedTokens: Set<Bytes32> = []
  /// The use of all mailboxes, if it matters.
  ///
  /// Other relays may be adding to it at the same time.
  var totalBytes: UInt64?
  /// Mailboxes that were deleted to make room for others.
  private(set) var dropped: [Identifier] = []
  private var tokens: [Bytes32: Int64] = [:]
  private var listed: Set<[UInt8]> = []
  private var siblings: [RelayParent: [RelayRegistrar.Sibling]] = [:]

  // MARK: Database state

  mutating func add(_ number: Int64, _ mailbox: RelayMailbox) {
    boxes[mailbox.name] = Box(
      number: number, mailbox: mailbox, firstPosition: mailbox.head.position + 1)
  }

  mutating func add(_ live: Live, named name: [UInt8], in mailbox: Identifier) {
    boxes[mailbox]?.live[name] = live
  }

  mutating func addRecordCount(_ count: Int, in mailbox: Identifier) {
    boxes[mailbox]?.recordCount = count
  }

  /// Records that an entry can be found by its fields, after the entry was added.
  mutating func addRecord(named name: [UInt8], in mailbox: Identifier) {
    boxes[mailbox]?.live[name]?.isRecord = true
  }

  mutating func addToken(_ digest: Bytes32, uses: Int64) { tokens[digest] = uses }

  mutating func addListed(_ key: [UInt8]) { listed.insert(key) }

  /// Records a child of a parent; the oldest comes first.
  mutating func add(_ sibling: RelayRegistrar.Sibling, of parent: RelayParent) {
    siblings[parent, default: []].append(sibling)
  }

  /// How many uses are left of a token that the batch used.
  func uses(of token: Bytes32) -> Int64 { tokens[token] ?? 0 }

  // MARK: Writes

  mutating func perform(_ write: RelayWrite) -> RelayWritten {
    if case .create(
      let kind, let generation, let accessKey, let managerKey, let right, let adoption) =
      write.action
    {
      let mailbox = RelayMailbox(
        name: write.mailbox, kind: kind, head: RelayCursor(generation: generation, position: 0),
        chain: RelayChain.start(mailbox: write.mailbox, generation: generation),
        accessKey: accessKey, accessGeneration: 1, roster: RelayRoster(managers: [managerKey]),
        usedBytes: 0, quotaBytes: nil)
      return create(mailbox, right, adoption, write.day)
    }
    // Taken out meanwhile, so that changing it copies nothing.
    guard var box = boxes.removeValue(forKey: write.mailbox) else { return .refused(.forbidden) }
    defer { boxes[write.mailbox] = box }
    if let parent = box.mailbox.parent?.mailbox, let owner = boxes[parent] {
      box.mailbox.parentRoster = owner.mailbox.roster
    }
    if let refusal = box.mailbox.refusal(of: write) { return .refused(refusal) }
    let before = box.mailbox.usedBytes
    let others = totalBytes.map { $0 - min($0, before) } ?? 0
    defer { if totalBytes != nil { totalBytes = others + box.mailbox.usedBytes } }
    return PostgresPlan.perform(write, on: &box, others: others)
  }

  private mutating func create(
    _ mailbox: RelayMailbox, _ right: RelayRegistrationRight, _ adoption: RelayAdoption?,
    _ day: UInt32
  ) -> RelayWritten {
    let verdict = RelayRegistrar.judge(
      isTaken: boxes[mailbox.name] != nil, right: standing(of: right, for: mailbox),
      adoption: adoption, parent: adoption.flatMap { boxes[$0.parent.mailbox]?.mailbox },
      siblings: adoption.map { present(of: $0.parent) } ?? [], day: day)
    var mailbox = mailbox
    switch verdict {
    case .refused(let refusal): return .refused(refusal)
    case .registered:
      if case .token(let digest) = right {
        tokens[digest, default: 1] -= 1
        usedTokens.insert(digest)
      }
    case .adopted(let parent, let names):
      mailbox.parent = parent
      mailbox.parentRoster = boxes[parent.mailbox]?.mailbox.roster
      for name in names { drop(name, of: parent) }
      add(
        RelayRegistrar.Sibling(
          name: mailbox.name, isEmpty: true, day: day, maker: mailbox.roster.maker), of: parent)
    }
    boxes[mailbox.name] = Box(
      number: nil, mailbox: mailbox, day: day, firstPosition: 1, isChanged: true)
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

  /// Returns a mailbox's children of the same kind, with the batch's changes so far.
  private func present(of parent: RelayParent) -> [RelayRegistrar.Sibling] {
    (siblings[parent] ?? []).map { sibling in
      RelayRegistrar.Sibling(
        name: sibling.name, isEmpty: sibling.isEmpty,
        day: max(sibling.day, boxes[sibling.name]?.day ?? 0), maker: sibling.maker)
    }
  }

  private mutating func drop(_ name: Identifier, of parent: RelayParent) {
    siblings[parent]?.removeAll { $0.name == name }
    boxes[name] = nil
    dropped.append(name)
  }

  /// - Parameter others: the use of all other mailboxes, if it matters.
  private static func perform(
    _ write: RelayWrite, on box: inout Box, others: UInt64
  ) -> RelayWritten {
    switch write.action {
    case .create: return .refused(.forbidden)
    case .put(let items): return append(write, to: &box, others) { run, box in run.put(items, box) }
    case .remove(let names):
      return append(write, to: &box, others) { run, box in run.remove(names, box) }
    case .rotate(let generation, let key):
      guard generation == box.mailbox.accessGeneration else { return .refused(.conflict) }
      box.mailbox.accessKey = key
      box.mailbox.accessGeneration += 1
      box.isChanged = true
      box.isRekeyed = true
      return .rotated(generation: generation + 1)
    case .setRank(let key, let rank):
      box.isConfirmed = true
      var roster = box.mailbox.roster
      guard roster.set(key, to: rank) else { return .refused(.managers) }
      guard roster != box.mailbox.roster else { return .done }
      box.mailbox.roster = roster
      box.isChanged = true
      box.isRekeyed = true
      return .done
    case .reset(let generation): return reset(&box, to: generation, write.day)
    }
  }

  private static func reset(
    _ box: inout Box, to generation: Identifier, _ day: UInt32
  ) -> RelayWritten {
    box.mailbox.head = RelayCursor(generation: generation, position: 0)
    box.mailbox.chain = RelayChain.start(mailbox: box.mailbox.name, generation: generation)
    box.mailbox.usedBytes = 0
    box.mailbox.roster.clearUse()
    box.recordCount = 0
    (box.live, box.rows, box.drops, box.forgotten, box.firstPosition) = ([:], [], [], [], 1)
    box.isEmptied = true
    box.isChanged = true
    box.isRekeyed = true
    box.day = day
    return .reset(box.mailbox.head)
  }

  private static func append(
    _ write: RelayWrite, to box: inout Box, _ others: UInt64,
    _ body: (inout Run, Box) -> RelayWritten
  ) -> RelayWritten {
    var run = Run(box, write.author)
    let result = body(&run, box)
    var isPut = false
    if case .put = write.action { isPut = true }
    guard !run.rows.isEmpty else {
      box.isConfirmed = true
      return result
    }
    let after = run.mailbox
    if isPut {
      if run.recordCount > PublicLimits.maximumRecords { return .refused(.quota) }
      let share = RelayShare(of: write.author, in: after)
      if let refusal = write.quota.refusal(of: after, share) { return .refused(refusal) }
    } else if after.head.position > write.quota.entries(of: after) {
      return .refused(.quota)
    }
    if isPut,
      write.quota.isBeyondTotal(
        from: box.mailbox.usedBytes, to: after.usedBytes, others: others)
    {
      return .refused(.full)
    }
    run.finish(&box, day: write.day)
    return result
  }
}

/// One write that appends: kept separate until no quota refuses it.
private struct Run {
  private let start: UInt64
  /// The mailbox as the write leaves it.
  private(set) var mailbox: RelayMailbox
  private(set) var recordCount: Int
  private let author: [UInt8]
  private let seat: Int64
  private(set) var rows: [PostgresPlan.Row] = []
  private let isCatalogue: Bool
  private var drops: [(position: UInt64, path: PublicKeyPath?)] = []
  private var live: [[UInt8]: PostgresPlan.Live?] = [:]

  private var head: UInt64 { mailbox.head.position }

  init(_ box: PostgresPlan.Box, _ author: [UInt8]) {
    start = box.mailbox.head.position
    mailbox = box.mailbox
    self.author = author
    seat = box.mailbox.roster.number(of: author)
    recordCount = box.recordCount
    isCatalogue = box.mailbox.kind == .catalogue
  }

  private func standing(_ name: [UInt8], _ box: PostgresPlan.Box) -> PostgresPlan.Live? {
    if let known = live[name] { known } else { box.live[name] }
  }

  mutating func put(_ items: [RelayPut], _ box: PostgresPlan.Box) -> RelayWritten {
    var outcomes: [RelayStored] = []
    for item in items {
      let digest = RelayChain.digest(of: item.blob)
      if let old = standing(item.name, box) {
        if old.digest == digest, old.byteCount == item.blob.count {
          outcomes.append(RelayStored(.present, position: old.position))
          continue
        }
        guard old.isReplaceable, item.isReplaceable,
          mailbox.mayReplace(storedBy: old.seat, author)
        else {
          outcomes.append(RelayStored(.conflict, position: old.position))
          continue
        }
        drop(old, item.name)
      }
      let record = isCatalogue ? PublicEntry.record(name: item.name, blob: item.blob) : nil
      if record != nil { recordCount += 1 }
      charge(UInt64(item.blob.count))
      add(
        RelayHeader(
          position: head + 1, kind: .put, isReplaceable: item.isReplaceable, isLive: true,
          name: item.name, byteCount: item.blob.count, digest: digest), item.blob, record)
      live[item.name] = .some(
        PostgresPlan.Live(
          position: head, isReplaceable: item.isReplaceable, byteCount: item.blob.count,
          digest: digest, seat: seat, isRecord: record != nil))
      outcomes.append(RelayStored(.stored, position: head))
    }
    return .stored(outcomes, appended: rows.map(\.header), head: head)
  }

  mutating func remove(_ names: [[UInt8]], _ box: PostgresPlan.Box) -> RelayWritten {
    var positions: [UInt64] = []
    for name in names {
      guard let old = standing(name, box), mailbox.mayDrop(storedBy: old.seat, author) else {
        positions.append(0)
        continue
      }
      drop(old, name)
      add(
        RelayHeader(
          position: head + 1, kind: .remove, isReplaceable: false, isLive: false, name: name,
          byteCount: 0, digest: RelayChain.emptyDigest), nil, nil)
      live[name] = .some(nil)
      positions.append(head)
    }
    return .removed(positions, appended: rows.map(\.header), head: head)
  }

  private mutating func drop(_ old: PostgresPlan.Live, _ name: [UInt8]) {
    if old.position > start {
      rows[Int(old.position - start - 1)].blob = nil
    } else {
      drops.append((old.position, old.isRecord ? PublicEntry.path(ofName: name) : nil))
    }
    if old.isRecord { recordCount -= 1 }
    mailbox.usedBytes -= min(mailbox.usedBytes, UInt64(old.byteCount))
    mailbox.roster.credit(old.seat, bytes: UInt64(old.byteCount))
  }

  private mutating func charge(_ bytes: UInt64, entries: UInt64 = 0) {
    mailbox.usedBytes += bytes
    mailbox.roster.charge(seat, bytes: bytes, entries: entries)
  }

  private mutating func add(
    _ header: RelayHeader, _ blob: [UInt8]?, _ record: PublicRecord?
  ) {
    mailbox.chain = RelayChain.next(mailbox.chain, header)
    mailbox.head = RelayCursor(
      generation: mailbox.head.generation, position: header.position)
    charge(RelayQuota.cost(ofName: header.name), entries: 1)
    rows.append(
      PostgresPlan.Row(
        header: header, chain: mailbox.chain, seat: seat, blob: blob, record: record))
  }

  /// Applies the write.
  consuming func finish(_ box: inout PostgresPlan.Box, day: UInt32) {
    for (position, path) in drops {
      if position >= box.firstPosition {
        box.rows[Int(position - box.firstPosition)].blob = nil
      } else {
        box.drops.append(position)
        if let path { box.forgotten.append((path, position)) }
      }
    }
    box.rows += rows
    for (name, value) in live { box.live[name] = value }
    box.mailbox = mailbox
    box.recordCount = recordCount
    box.day = day
    box.isChanged = true
  }
}
