import HearthCRDT
import HearthCrypto
import HearthMembership

/// A fault that an audit of a zone's log found.
package struct AuditFinding: Equatable, Sendable {
  /// The author of the log.
  package let author: Author
  /// The affected changes.
  package let changes: ClosedRange<UInt64>
  /// The fault in words.
  package let text: String
}

/// The result of an audit of a zone's log.
package struct LogAudit: Sendable {
  /// The number of opened segments.
  package internal(set) var segments = 0
  /// The number of changes, sealed and unsealed.
  package internal(set) var changes = 0
  /// The faults, in order of author.
  package internal(set) var findings: [AuditFinding] = []
  /// The segments of a zone of records that were opened, as far as there is room.
  fileprivate var opened = OpenedMemory(received: 0, isBounded: false)
}

/// Audits of a zone's log and of its records.
package struct ZoneAudit<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Reopens every stored segment of a zone and follows each author's hash chain to its head.
  ///
  /// The audit checks the digest, signature, authenticity and chain of every segment. It also
  /// checks that segments join without gaps, that unsealed changes continue the chain, and that the
  /// chain ends in the hash of the author's head. It only reads; linear in the log's size.
  package func audit(_ id: ZoneID) throws -> LogAudit {
    let zone = try engine.zone(id)
    var audit = LogAudit()
    let base = try BaseSnapshot(engine: engine).baseHeads(of: zone)
    let opener = SegmentOpener(
      zone: zone, membership: engine.membership(of: zone.group), isStored: true)
    let stored = try engine.store.log.segments(of: id)
    let waiting = try openPending(of: id, with: opener)
    for head in zone.heads {
      var walk = ChainWalk(head: head, base: base.first { $0.author == head.author })
      let own = stored.filter { $0.author == head.author }
        .sorted { ($0.first, $1.last) < ($1.first, $0.last) }
      for segment in own {
        audit.segments += 1
        do {
          guard let opened = try reopen(segment, in: id, with: opener) else { continue }
          walk.follow(opened)
          // Devices may introduce themselves in a control zone, which takes another way.
          if zone.kind == .data { audit.opened.keep(opened) }
        } catch {
          walk.passOver(segment, "the stored segment cannot be used: \(error)")
        }
      }
      // A partly applied segment is stored with the pending ones.
      for opened in waiting where opened.author == head.author {
        if head.forkedAt == nil || opened.agrees(with: head) { walk.follow(opened) }
      }
      let unsealed = try engine.store.log.changes(
        of: head.author, in: id, after: walk.reached, limit: Limits.maximumSegmentChanges * 100)
      for bytes in unsealed { walk.follow(hash: zone.chainHash(of: bytes)) }
      walk.end()
      audit.changes += Int(clamping: walk.reached)
      audit.findings += walk.findings
    }
    return audit
  }

  /// Compares a zone's records with the result of its snapshot and its log.
  ///
  /// Bit rot in a record breaks no signature and no chain: only a rebuild of the records can detect
  /// it. The rebuild is always rolled back; linear in the zone's size.
  ///
  /// - Parameters:
  ///   - audit: The audit of the zone's log just before, whose opened segments are used again.
  ///   - known: The digest of the records as they are, if the caller has it.
  /// - Returns: The fault in words; nil if there is none.
  package func auditRecords(
    of id: ZoneID, after audit: LogAudit? = nil, withDigest known: [UInt8]? = nil,
    nowMilliseconds: UInt64
  ) throws -> String? {
    var trial = engine
    var fault: String?
    do {
      try engine.store.transaction {
        // Newly learned keys may open pending segments, which a rebuild would apply.
        let news = try trial.receive([], in: id, nowMilliseconds: nowMilliseconds)
        let isSame = news.applied == 0 && news.evidence.isEmpty && news.falseClaims.isEmpty
        let held = try (isSame ? known : nil) ?? trial.digest(of: id)
        do {
          try Rebuild.rebuild(
            id, without: nil, opened: audit?.opened, in: &trial, nowMilliseconds: nowMilliseconds)
          if try trial.digest(of: id) != held, !Mutant.auditPassesRecords.isActive {
            fault = "the records do not match the log"
          }
        } catch let error as SyncError {
          fault = "the records cannot be rebuilt from the log: \(error)"
        }
        throw Undone()
      }
    } catch is Undone {}
    return fault
  }

  /// Reopens a stored segment; nil for one of a newer version, which is kept unopened.
  private func reopen(
    _ segment: StoredSegment, in zone: ZoneID, with opener: SegmentOpener
  ) throws -> OpenedSegment? {
    guard let bytes = try engine.store.log.bytes(of: segment.digest, in: zone) else {
      throw SyncError(.corrupt, "its bytes are missing")
    }
    guard segmentDigest(bytes) == segment.digest else {
      throw SyncError(.corrupt, "its bytes do not match its digest")
    }
    let opened: OpenedSegment
    switch try opener.open(bytes) {
    case .opened(let segment): opened = segment
    case .waits(.format): return nil
    case .waits: throw SyncError(.corrupt, "its key or author is no longer known")
    }
    guard opened.author == segment.author, opened.first == segment.first,
      opened.last == segment.last
    else { throw SyncError(.corrupt, "it does not hold the recorded changes") }
    return opened
  }

  private func openPending(
    of zone: ZoneID, with opener: SegmentOpener
  ) throws -> [OpenedSegment] {
    // Of pending segments, only partly applied ones count.
    try engine.store.pending.entries(in: zone).compactMap { entry in
      guard let device = opener.zone.deviceByTag[entry.authorTag],
        entry.first
          <= opener.zone.head(of: Author(device: device, incarnation: entry.incarnation)).sequence,
        let bytes = try engine.store.pending.bytes(of: entry.digest, in: zone),
        case .opened(let opened)? = try? opener.open(bytes)
      else { return nil }
      return opened
    }.sorted { ($0.author, $0.first) < ($1.author, $1.first) }
  }
}

/// Rolls back a transaction whose work was only inspected.
private struct Undone: Error {}

/// Follows one author's hash chain over segments and single changes.
private struct ChainWalk {
  let head: LogHead
  private(set) var reached: UInt64 = 0
  private(set) var findings: [AuditFinding] = []
  /// The hash after the last reached change; nil if it could not be read.
  private var hash: [UInt8]?

  /// - Parameter base: Where the log stood in the zone's base snapshot, if it was in it.
  init(head: LogHead, base: LogHead?) {
    self.head = head
    reached = base?.sequence ?? 0
    hash = base?.hash ?? LogHead(author: head.author).hash
  }

  mutating func follow(_ segment: OpenedSegment) {
    guard segment.last > reached else { return }
    if segment.first > head.sequence { return }
    if segment.first > reached + 1 {
      fail(reached + 1...segment.first - 1, "changes are missing from the log")
    } else if let hash, segment.hash(after: reached) != hash {
      fail(segment.first...segment.last, "the hash chain is broken here")
    }
    reached = min(segment.last, head.sequence)
    hash = segment.hash(after: reached)
  }

  mutating func follow(hash next: [UInt8]) {
    reached += 1
    hash = next
  }

  mutating func fail(_ changes: ClosedRange<UInt64>, _ text: String) {
    findings.append(AuditFinding(author: head.author, changes: changes, text: text))
  }

  /// Notes an unusable segment once and continues after it.
  mutating func passOver(_ segment: StoredSegment, _ text: String) {
    fail(segment.first...segment.last, text)
    guard segment.last > reached else { return }
    reached = min(segment.last, head.sequence)
    hash = nil
  }

  /// Compares the end of the chain with the author's head.
  mutating func end() {
    if reached < head.sequence {
      fail(reached + 1...head.sequence, "changes are missing from the log")
    } else if reached > head.sequence {
      fail(head.sequence + 1...reached, "the log holds changes that were never applied")
    } else if reached > 0, let hash, hash != head.hash {
      fail(reached...reached, "the hash chain does not end where the log does")
    }
  }
}
