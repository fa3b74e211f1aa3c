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
      var reached = sequences[author] ?? 0
      var rest = names.filter { $0.last > reached && !known.contains($0.digest) }
      while !rest.isEmpty {
        // The segment that reaches furthest without a gap; beyond a gap, the one that starts first.
        let next =
          rest.filter { $0.first <= reached + 1 }.max { $0.last < $1.last }
          ?? rest.min { ($0.first, $1.last) < ($1.first, $0.last) }
        guard let next else { break }
        chosen.append(next)
        reached = next.last
        rest = rest.filter { $0.last > reached }
      }
    }
    return chosen
  }

  /// The stored segments that the transport lacks: of this device and of others alike, so that
  /// whatever reaches a node by one way goes on by all its ways.
  package func publications(
    to listing: TransportListing, stored: [StoredSegment], tag: (Author) -> Identifier
  ) -> [(segment: StoredSegment, name: SegmentName)] {
    let present = Dictionary(uniqueKeysWithValues: SyncPlan.byAuthor(listing.segments))
    var result: [(StoredSegment, SegmentName)] = []
    for segment in stored.sorted(by: { ($0.author, $0.first) < ($1.author, $1.first) }) {
      let authorTag = tag(segment.author)
      let name = SegmentName(
        zoneTag: zoneTag, authorTag: authorTag, incarnation: segment.author.incarnation,
        first: segment.first, last: segment.last, digest: segment.digest)
      let names =
        present[TagAuthor(tag: authorTag, incarnation: segment.author.incarnation)] ?? []
      if !SyncPlan.covers(names, segment.first...segment.last) {
        result.append((segment, name))
      }
    }
    return result
  }

  /// The own segments on the transport that larger own ones have replaced.
  package func superseded(
    on listing: TransportListing, own: [SegmentName]
  ) -> [SegmentName] {
    listing.segments.filter { name in
      !own.contains(name)
        && own.contains {
          $0.authorTag == name.authorTag && $0.incarnation == name.incarnation
            && $0.first <= name.first && name.last <= $0.last
            && listing.segments.contains($0)
        }
    }
  }

  /// Whether segments cover a range of changes without a gap.
  private static func covers(_ names: [SegmentName], _ range: ClosedRange<UInt64>) -> Bool {
    var reached = range.lowerBound - 1
    for name in names where name.first <= reached + 1 && name.last > reached {
      reached = name.last
      if reached >= range.upperBound { return true }
    }
    return false
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
