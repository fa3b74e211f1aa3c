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
  private let zoneTag: Identifier

  private struct TagAuthor: Hashable, Comparable {
    let tag: Identifier
    let incarnation: UInt64

    static func < (left: TagAuthor, right: TagAuthor) -> Bool {
      left.tag != right.tag ? left.tag < right.tag : left.incarnation < right.incarnation
    }
  }

  /// - Parameters:
  ///   - zone: the zone as it stands.
  ///   - stored: the segments of its log.
  ///   - pending: the digests of the segments that wait.
  package init(zone: ZoneState, stored: [StoredSegment], pending: [Identifier]) {
    zoneTag = zone.tag
    sequences = Dictionary(
      uniqueKeysWithValues: zone.heads.map { head in
        (
          TagAuthor(
            tag: zone.authorTag(of: head.author.device), incarnation: head.author.incarnation),
          head.sequence
        )
      })
    known = Set(stored.map(\.digest)).union(pending)
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
  /// whatever reaches a node by one way goes on by all its ways.
  package func publications(
    to listing: TransportListing, stored: [StoredSegment], tag: (Author) -> Identifier
  ) -> [(segment: StoredSegment, name: SegmentName)] {
    let present = Dictionary(
      uniqueKeysWithValues: SyncPlan.byAuthor(listing.segments).map {
        ($0, SyncPlan.runs(of: $1))
      })
    var result: [(StoredSegment, SegmentName)] = []
    for segment in stored.sorted(by: { ($0.author, $0.first) < ($1.author, $1.first) }) {
      let authorTag = tag(segment.author)
      let runs = present[TagAuthor(tag: authorTag, incarnation: segment.author.incarnation)] ?? []
      if Mutant.publishesAlways.isActive || !SyncPlan.covers(runs, segment.first...segment.last) {
        result.append(
          (
            segment,
            SegmentName(
              zoneTag: zoneTag, authorTag: authorTag, incarnation: segment.author.incarnation,
              first: segment.first, last: segment.last, digest: segment.digest)
          ))
      }
    }
    return result
  }

  /// The own segments on the transport that larger own ones, which are there as well, replace.
  ///
  /// Those that are known here stay; the others are what was merged, in this round or in one that
  /// was cut off.
  package func superseded(
    on listing: TransportListing, own: [StoredSegment], tag: Identifier
  ) -> [SegmentName] {
    let digests = Set(own.map(\.digest))
    let mine = listing.segments.filter { $0.authorTag == tag }
    let held = mine.filter { digests.contains($0.digest) }
    return mine.filter { name in
      !digests.contains(name.digest)
        && held.contains {
          $0.incarnation == name.incarnation && $0.first <= name.first && name.last <= $0.last
            && ($0.first < name.first || name.last < $0.last)
        }
    }
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

  /// Whether one of the sorted runs holds a whole range; logarithmic in their number.
  private static func covers(
    _ runs: [ClosedRange<UInt64>], _ range: ClosedRange<UInt64>
  ) -> Bool {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].upperBound < range.upperBound { low = middle + 1 } else { high = middle }
    }
    return low < runs.count && runs[low].lowerBound <= range.lowerBound
  }

  /// The names of each author, in order of first change.
  private static func byAuthor(_ names: [SegmentName]) -> [(TagAuthor, [SegmentName])] {
    var groups: [TagAuthor: [SegmentName]] = [:]
    for name in names {
      groups[TagAuthor(tag: name.authorTag, incarnation: name.incarnation), default: []]
        .append(name)
    }
    return groups.keys.sorted().map { author in
      (author, (groups[author] ?? []).sorted { ($0.first, $1.last) < ($1.first, $0.last) })
    }
  }
}
