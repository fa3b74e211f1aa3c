import HearthCRDT

/// Decides what to take from a transport and what to give it, from its listing alone.
///
/// Pure and stateless: a transport is compared with what is here each time, so whatever it lost,
/// delayed, doubled or brought back is put right by the next round, and equal sides are silent.
package struct SyncPlan {
  /// How far an author's log is here.
  private let sequences: [TagAuthor: UInt64]
  /// The digests that are here, applied or waiting.
  private let known: Set<Identifier>

  /// - Parameters:
  ///   - zone: the zone as it stands.
  ///   - stored: the segments of its log.
  ///   - pending: the digests of the segments that wait.
  package init(zone: ZoneState, stored: [StoredSegment], pending: [Identifier]) {
    self.init(zone: zone, known: Set(stored.map(\.digest)).union(pending))
  }

  /// - Parameters:
  ///   - zone: the zone as it stands.
  ///   - known: the digests that are here, applied or waiting.
  init(zone: ZoneState, known: Set<Identifier>) {
    self.known = known
    sequences = Dictionary(
      uniqueKeysWithValues: zone.heads.map { head in
        (
          TagAuthor(
            tag: zone.authorTag(of: head.author.device), incarnation: head.author.incarnation),
          head.sequence
        )
      })
  }

  /// The segments to fetch, in an order in which each author's log grows without gaps if it can.
  ///
  /// - Parameter failed: segments that could not be fetched or used; others that cover the same
  ///   changes are chosen instead, where there are any.
  package func fetches(
    from listing: TransportListing, except failed: Set<SegmentName> = []
  ) -> [SegmentName] {
    var chosen: [SegmentName] = []
    for (author, names) in SyncPlan.byAuthor(listing.segments.filter { !failed.contains($0) }) {
      let reached = sequences[author] ?? 0
      let news = names.filter {
        $0.last > reached && $0.first <= $0.last && !known.contains($0.digest)
      }
      chosen += SyncPlan.shortestCover(of: news, after: reached)
    }
    return chosen
  }

  /// Whether its author's log is here as far as a name says.
  func reaches(_ name: SegmentName) -> Bool {
    (sequences[name.tagAuthor] ?? 0) >= name.last
  }

  /// Whether a segment goes on where its author's log ends here.
  func isNext(_ name: SegmentName) -> Bool {
    let reached = sequences[name.tagAuthor] ?? 0
    return name.first <= reached + 1 && name.last > reached
  }

  /// The fewest segments that reach as far as all do; the names are sorted by first change.
  ///
  /// At each step the one that reaches furthest without a gap; at a gap, the next one goes on.
  /// Linear: a listing of any length comes from outside.
  private static func shortestCover(
    of names: [SegmentName], after reached: UInt64
  ) -> [SegmentName] {
    var chosen: [SegmentName] = []
    var reached = reached
    var place = 0
    var best: SegmentName?
    while true {
      while place < names.count, names[place].first <= reached &+ 1 {
        if names[place].last > (best?.last ?? reached) { best = names[place] }
        place += 1
      }
      if let next = best {
        chosen.append(next)
        reached = next.last
        best = nil
      } else if place < names.count {
        Probe.gapInListing.hit()
        reached = names[place].first - 1
      } else {
        return chosen
      }
    }
  }

  /// The stored segments that the transport lacks: of this device and of others alike, so that
  /// whatever reaches a node by one transport goes on by all its transports.
  ///
  /// A segment is there under its own name, or where names that are trusted hold all its changes:
  /// anybody who can write to a folder can choose a name that claims any changes. Own segments go
  /// unless *one* such name holds them: a merged one replaces the small ones that hold it together,
  /// which are taken away once it is there.
  ///
  /// - Parameters:
  ///   - trusted: the names that are known to hold what they say.
  ///   - device: whose segments are the own ones.
  package func publications(
    to listing: TransportListing, stored: [StoredSegment], trusted: Set<SegmentName>,
    of zone: ZoneState, by device: DeviceID
  ) -> [(segment: StoredSegment, name: SegmentName)] {
    let unlisted = SyncPlan.unlisted(stored, on: listing, of: zone)
    // Mostly all are there under their own names.
    guard !unlisted.isEmpty else { return [] }
    let ownTag = zone.authorTag(of: device)
    let present = Dictionary(
      uniqueKeysWithValues: SyncPlan.byAuthor(listing.segments.filter { trusted.contains($0) })
        .map { author, names in
          (author, author.tag == ownTag ? SyncPlan.longest(of: names) : SyncPlan.runs(of: names))
        })
    var result: [(StoredSegment, SegmentName)] = []
    for (segment, name) in unlisted {
      let runs = present[name.tagAuthor] ?? []
      if Mutant.publishesAlways.isActive || !SyncPlan.covers(runs, segment.first...segment.last) {
        result.append((segment, name))
      }
    }
    return result
  }

  /// The stored segments that are not on a transport under their own names, in order of author and
  /// first change.
  static func unlisted(
    _ stored: [StoredSegment], on listing: TransportListing, of zone: ZoneState
  ) -> [(segment: StoredSegment, name: SegmentName)] {
    let listed = Set(listing.segments)
    return stored.map { ($0, $0.name(in: zone)) }
      .filter { !listed.contains($0.1) || Mutant.publishesAlways.isActive }
      .sorted { ($0.0.author, $0.0.first) < ($1.0.author, $1.0.first) }
  }

  /// The names of a listing that overlap some others of the same author, in order.
  static func names(
    in listing: TransportListing, covering names: [SegmentName], except known: Set<SegmentName>
  ) -> [SegmentName] {
    let wanted = Dictionary(
      uniqueKeysWithValues: byAuthor(names).map { ($0, runs(of: $1)) })
    return byAuthor(listing.segments).flatMap { author, names -> [SegmentName] in
      guard let runs = wanted[author] else { return [] }
      return names.filter { name in
        name.first <= name.last && !known.contains(name)
          && SyncPlan.overlaps(runs, name.first...name.last)
      }
    }
  }

  /// Whether one of the sorted runs shares a change with a range; logarithmic in their number.
  private static func overlaps(
    _ runs: [ClosedRange<UInt64>], _ range: ClosedRange<UInt64>
  ) -> Bool {
    let place = runs.partitionPoint { $0.upperBound >= range.lowerBound }
    return place < runs.count && runs[place].lowerBound <= range.upperBound
  }

  /// The names under an author's tag that larger segments of it, which are there as well, would
  /// replace.
  ///
  /// Those that are known here are left out; the others are what was merged, in this round or in
  /// one that was cut off, or what somebody put there: only a look into them tells. O(n log n).
  ///
  /// - Parameters:
  ///   - stored: the author's segments that are stored here.
  ///   - sparesKnown: whether those that are stored here are left out. An author's own store has
  ///     forgotten what it merged; everybody else's keeps it.
  package func superseded(
    on listing: TransportListing, by stored: [StoredSegment], of zone: ZoneState, tag: Identifier,
    sparesKnown: Bool = true
  ) -> [SegmentName] {
    let names = Set(stored.map { $0.name(in: zone) })
    let digests = sparesKnown ? Set(stored.map(\.digest)) : []
    var found: [SegmentName] = []
    for (_, mine) in SyncPlan.byAuthor(listing.segments.filter { $0.authorTag == tag }) {
      // How far the held ones reach that begin before a name, and at its first change or before.
      var before: UInt64 = 0
      var upTo: UInt64 = 0
      var start = 0
      while start < mine.count {
        var end = start
        while end < mine.count, mine[end].first == mine[start].first {
          if names.contains(mine[end]) { upTo = max(upTo, mine[end].last) }
          end += 1
        }
        found += mine[start..<end].filter {
          !digests.contains($0.digest) && ($0.last <= before || $0.last < upTo)
        }
        before = upTo
        start = end
      }
    }
    return found
  }

  /// Whether a transport's segments hold every change up to some heads.
  static func holdsAll(
    _ heads: [LogHead], of zone: ZoneState, in listing: TransportListing
  ) -> Bool {
    let present = Dictionary(
      uniqueKeysWithValues: byAuthor(listing.segments).map { ($0, runs(of: $1)) })
    return heads.allSatisfy { head in
      let author = TagAuthor(
        tag: zone.authorTag(of: head.author.device), incarnation: head.author.incarnation)
      return head.sequence == 0 || covers(present[author] ?? [], 1...head.sequence)
    }
  }

  /// How many changes of each author names cover, of those that are applied here; O(n log n).
  static func covered(by names: [SegmentName], of zone: ZoneState) -> Frontier {
    let present = Dictionary(uniqueKeysWithValues: byAuthor(names).map { ($0, runs(of: $1)) })
    return Frontier(
      zone.heads.compactMap { head -> (Author, UInt64)? in
        let author = TagAuthor(
          tag: zone.authorTag(of: head.author.device), incarnation: head.author.incarnation)
        guard head.sequence > 0, let runs = present[author] else { return nil }
        let count = runs.reduce(UInt64(0)) { sum, run in
          let (first, last) = (max(1, run.lowerBound), min(run.upperBound, head.sequence))
          return first <= last ? sum + (last - first + 1) : sum
        }
        return count > 0 ? (head.author, count) : nil
      })
  }

  /// The greatest last change that a listing's names claim of each author; linear.
  static func ends(of listing: TransportListing) -> [TagAuthor: UInt64] {
    var ends: [TagAuthor: UInt64] = [:]
    for name in listing.segments {
      ends[name.tagAuthor] = max(ends[name.tagAuthor] ?? 0, name.last)
    }
    return ends
  }

  /// The changes that segments cover, as ranges with gaps between them; the names are sorted.
  private static func runs(of names: [SegmentName]) -> [ClosedRange<UInt64>] {
    var runs: [ClosedRange<UInt64>] = []
    for name in names where name.first <= name.last {
      if let last = runs.last, name.first <= last.upperBound &+ 1 {
        runs[runs.count - 1] = last.lowerBound...max(last.upperBound, name.last)
      } else {
        runs.append(name.first...name.last)
      }
    }
    return runs
  }

  /// The ranges of names that no other contains, ascending in both ends; the names are sorted.
  private static func longest(of names: [SegmentName]) -> [ClosedRange<UInt64>] {
    var ranges: [ClosedRange<UInt64>] = []
    for name in names where name.first <= name.last && name.last > ranges.last?.upperBound ?? 0 {
      ranges.append(name.first...name.last)
    }
    return ranges
  }

  /// Whether one of the sorted ranges, ascending in both ends, holds a whole range; logarithmic in
  /// their number.
  private static func covers(
    _ runs: [ClosedRange<UInt64>], _ range: ClosedRange<UInt64>
  ) -> Bool {
    let place = runs.partitionPoint { $0.upperBound >= range.upperBound }
    return place < runs.count && runs[place].lowerBound <= range.lowerBound
  }

  /// The names of each author, in order of first change.
  private static func byAuthor(_ names: [SegmentName]) -> [(TagAuthor, [SegmentName])] {
    var groups: [TagAuthor: [SegmentName]] = [:]
    for name in names { groups[name.tagAuthor, default: []].append(name) }
    return groups.keys.sorted().map { author in
      (author, (groups[author] ?? []).sorted { ($0.first, $1.last) < ($1.first, $0.last) })
    }
  }
}
