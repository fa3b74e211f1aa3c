import HearthCRDT
import HearthCrypto

/// The excerpts of stored segments that were looked into last, by digest.
///
/// A segment never changes, so an excerpt stays right whatever becomes of the transaction in which
/// it was made. Two generations: what was not asked for while one filled is forgotten.
final class ExcerptMemory {
  /// How many hashes one generation holds: with the news of their changes a few megabytes at most.
  static let maximumHashes = 64 * 1024

  /// Where logs stood in the snapshots that zones began from, with how their bytes begin: a header
  /// with a nonce, so that no two begin alike.
  private var bases: [ZoneID: (start: [UInt8], heads: [LogHead])] = [:]
  private var young: [Identifier: LogExcerpt] = [:]
  private var old: [Identifier: LogExcerpt] = [:]
  private var count = 0

  /// How many bytes of a snapshot tell it from every other.
  static let baseStartBytes = 256

  /// Where logs stood in the snapshot of a zone that begins so, read if it is not remembered.
  func heads(
    ofBaseOf zone: ZoneID, beginning start: [UInt8], _ read: () throws -> [LogHead]
  ) rethrows -> [LogHead] {
    if let known = bases[zone], known.start == start { return known.heads }
    let heads = try read()
    bases[zone] = (start, heads)
    return heads
  }

  /// Remembers what is at hand of a short segment: the next to write most often cites it.
  func keep(_ excerpt: @autoclosure () -> LogExcerpt, of digest: Identifier, length: Int) {
    guard length <= ExcerptMemory.keptLength else { return }
    _ = self.excerpt(of: digest, excerpt)
  }

  /// Up to how many changes a segment has that is remembered before anybody asks for it.
  private static let keptLength = 256

  /// The excerpt of a segment, made if it is not remembered.
  func excerpt(of digest: Identifier, _ make: () throws -> LogExcerpt) rethrows -> LogExcerpt {
    if let known = young[digest] { return known }
    let excerpt = try old[digest] ?? make()
    if count + excerpt.hashes.count > ExcerptMemory.maximumHashes {
      (old, young, count) = (young, [:], 0)
    }
    young[digest] = excerpt
    count += excerpt.hashes.count
    return excerpt
  }
}

/// What a zone's log answers about a change that somebody cites.
enum CitedLog {
  /// The change is in this stretch.
  case excerpt(LogExcerpt)
  /// The change is part of the snapshot that the zone began from, in which the log stood so.
  case inBase(LogHead)
  /// The log should hold the change and does not, or cannot be opened.
  case unreadable
}

/// Finds stretches of the applied logs of one zone.
///
/// For one batch: what is stored meanwhile is not seen.
final class CitedLogs<S: Store> {
  private let store: S
  private let zone: ZoneState
  private let opener: SegmentOpener
  private let device: DeviceID
  private let memory: ExcerptMemory
  private let baseHeads: () throws -> [LogHead]
  private var segments: [Author: [StoredSegment]]?
  private var base: [Author: LogHead]?
  private var waiting: [PendingEntry]?
  /// The stretch of each log that was asked for last: the next question is most often about it.
  private var last: [Author: LogExcerpt] = [:]

  init(
    _ zone: ZoneState, store: S, opener: SegmentOpener, device: DeviceID, memory: ExcerptMemory,
    baseHeads: @escaping () throws -> [LogHead]
  ) {
    self.zone = zone
    self.store = store
    self.opener = opener
    self.device = device
    self.memory = memory
    self.baseHeads = baseHeads
  }

  /// Where an author's log stood in the snapshot that the zone began from; nil for a later change.
  ///
  /// A merged segment may hold the change all the same. It is not looked into, or the verdict would
  /// follow what arrived first.
  func base(of author: Author, holding sequence: UInt64) throws -> LogHead? {
    let heads =
      try base
      ?? Dictionary(baseHeads().map { ($0.author, $0) }, uniquingKeysWith: { first, _ in first })
    base = heads
    return heads[author].flatMap { $0.sequence >= sequence ? $0 : nil }
  }

  /// The stretch of an author's log that holds a change which is applied here.
  func log(of author: Author, at sequence: UInt64) throws -> CitedLog {
    if let head = try base(of: author, holding: sequence) { return .inBase(head) }
    if let known = last[author], known.holds(sequence) { return .excerpt(known) }
    if let found = try stored(author, sequence) ?? unsealed(author, sequence)
      ?? partlyApplied(author, sequence)
    {
      last[author] = found
      return .excerpt(found)
    }
    return .unreadable
  }

  private func stored(_ author: Author, _ sequence: UInt64) throws -> LogExcerpt? {
    if segments == nil {
      segments = Dictionary(grouping: try store.segments(of: zone.id), by: \.author)
        .mapValues { $0.sorted { ($0.first, $1.last) < ($1.first, $0.last) } }
    }
    let own = segments?[author] ?? []
    // Segments overlap where small ones were merged, and none is longer than its limit.
    var place = own.partitionPoint { $0.first > sequence }
    while place > 0, sequence - own[place - 1].first < UInt64(Limits.maximumSegmentChanges) {
      place -= 1
      let segment = own[place]
      guard segment.last >= sequence else { continue }
      let found = try memory.excerptIfReadable(of: segment.digest) {
        guard let bytes = try store.bytes(of: segment.digest, in: zone.id) else { return nil }
        return opener.reopened(bytes, author: author)
      }
      if let found, found.holds(sequence) { return found }
    }
    return nil
  }

  /// How many own changes that no segment holds are looked into at a time.
  private static var window: Int { 256 }

  private func unsealed(_ author: Author, _ sequence: UInt64) throws -> LogExcerpt? {
    guard author.device == device else { return nil }
    let encoded = try store.changes(
      of: author, in: zone.id, after: sequence - 1, limit: CitedLogs.window)
    guard let first = encoded.first, let start = try? Change(decoding: first),
      start.dot.sequence == sequence
    else { return nil }
    var hashes = [CitedHead.prefix(of: start.previousHash)]
    var news: [LogExcerpt.News] = []
    for bytes in encoded {
      hashes.append(
        bytes.withUnsafeBytes { CitedHead.prefix(of: zone.secret.chainHash(of: $0)) })
      guard let change = try? Change(decoding: bytes) else { return nil }
      if let item = LogExcerpt.news(of: change) { news.append(item) }
    }
    return LogExcerpt(first: sequence, hashes: hashes, news: news)
  }

  /// A segment of which only a part is applied waits for the rest.
  private func partlyApplied(_ author: Author, _ sequence: UInt64) throws -> LogExcerpt? {
    let entries = try waiting ?? store.pendingEntries(in: zone.id)
    waiting = entries
    let head = zone.head(of: author)
    for entry in entries
    where entry.first <= sequence && sequence <= entry.last && entry.author(in: zone) == author {
      guard let bytes = try store.bytes(ofPending: entry.digest, in: zone.id),
        case .opened(let segment)? = try? opener.open(bytes), segment.agrees(with: head)
      else { continue }
      return LogExcerpt(segment)
    }
    return nil
  }
}

extension ExcerptMemory {
  /// The same where the segment may be unreadable; that is not remembered.
  func excerptIfReadable(
    of digest: Identifier, _ open: () throws -> OpenedSegment?
  ) throws -> LogExcerpt? {
    do {
      return try excerpt(of: digest) {
        guard let segment = try open() else { throw Unreadable() }
        return LogExcerpt(segment)
      }
    } catch is Unreadable {
      return nil
    }
  }

  private struct Unreadable: Error {}
}
