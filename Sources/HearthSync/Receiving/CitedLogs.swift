import HearthCRDT
import HearthCrypto

/// The answer of a zone's log to a lookup of a cited change.
enum CitedLog {
  /// The change is in this stretch.
  case excerpt(LogExcerpt)
  /// The change is part of the zone's base snapshot, where the log had this head.
  case inBase(LogHead)
  /// The change should be in the log but is missing or cannot be opened.
  case unreadable
}

/// Finds stretches of the applied logs of one zone.
///
/// An instance serves one batch: it does not see what is stored meanwhile.
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
  /// The last requested stretch of each log, which the next lookup most often needs.
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

  /// Where an author's log stood in the zone's base snapshot; nil for a later change.
  ///
  /// A merged segment may contain the change as well. The lookup ignores it, since otherwise the
  /// verdict would depend on the order of arrival.
  func base(of author: Author, holding sequence: UInt64) throws -> LogHead? {
    let heads =
      try base
      ?? Dictionary(baseHeads().map { ($0.author, $0) }, uniquingKeysWith: { first, _ in first })
    base = heads
    return heads[author].flatMap { $0.sequence >= sequence ? $0 : nil }
  }

  /// The stretch of an author's log that contains an applied change.
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
      segments = Dictionary(grouping: try store.log.segments(of: zone.id), by: \.author)
        .mapValues { $0.sorted { ($0.first, $1.last) < ($1.first, $0.last) } }
    }
    let own = segments?[author] ?? []
    // Merged segments may overlap, and no segment exceeds the limit of length.
    var place = own.partitionPoint { $0.first > sequence }
    while place > 0, sequence - own[place - 1].first < UInt64(Limits.maximumSegmentChanges) {
      place -= 1
      let segment = own[place]
      guard segment.last >= sequence else { continue }
      let found = try memory.excerptIfReadable(of: segment.digest) {
        guard let bytes = try store.log.bytes(of: segment.digest, in: zone.id) else { return nil }
        return opener.reopened(bytes, author: author)
      }
      if let found, found.holds(sequence) { return found }
    }
    return nil
  }

  /// The number of unsealed own changes that are read at a time.
  private static var window: Int { 256 }

  private func unsealed(_ author: Author, _ sequence: UInt64) throws -> LogExcerpt? {
    guard author.device == device else { return nil }
    let encoded = try store.log.changes(
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

  /// Finds a partly applied segment, which is pending on the rest.
  private func partlyApplied(_ author: Author, _ sequence: UInt64) throws -> LogExcerpt? {
    let entries = try waiting ?? store.pending.entries(in: zone.id)
    waiting = entries
    let head = zone.head(of: author)
    for entry in entries
    where entry.first <= sequence && sequence <= entry.last && entry.author(in: zone) == author {
      guard let bytes = try store.pending.bytes(of: entry.digest, in: zone.id),
        case .opened(let segment)? = try? opener.open(bytes), segment.agrees(with: head)
      else { continue }
      return LogExcerpt(segment)
    }
    return nil
  }
}
