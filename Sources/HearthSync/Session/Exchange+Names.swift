import HearthCRDT
import HearthMembership

// Files whose names may not be true are looked into; decision 0019 says why it is so.
extension Exchange {
  /// How many files of the very same changes as others are looked into in one round.
  private static var examinedCandidates: Int { 16 }

  /// The stored segments that the transport lacks, after a look into the files that seem to hold
  /// them under other names; each file is looked into once in the life of this node.
  ///
  /// - Returns: as ``SyncPlan/publications(to:stored:trusted:of:by:)``.
  mutating func publications(
    of id: ZoneID, holding listing: TransportListing, stored: [StoredSegment]
  ) async throws -> [(segment: StoredSegment, name: SegmentName)] {
    let (missing, suspects) = try turn {
      try $0.publications(of: id, to: listing, stored: stored)
    }
    let right = try await examine(suspects, of: id, stored: stored, listing)
    guard !right.isEmpty else { return missing }
    return try turn {
      try $0.publications(of: id, to: listing, stored: stored, right: right).missing
    }
  }

  /// Looks into files once and remembers what they proved to be.
  ///
  /// - Returns: those whose changes are the ones that are here, as far as can be told.
  mutating func examine(
    _ names: [SegmentName], of id: ZoneID, stored: [StoredSegment], _ listing: TransportListing
  ) async throws -> [SegmentName] {
    guard !names.isEmpty else { return [] }
    var verdicts = try turn { try $0.verdicts(of: id) }
    var right: [SegmentName] = []
    var examined = 0
    for name in names {
      let key = NameVerdicts.key(of: name)
      if let verdict = verdicts[key] {
        if verdict.isBelieved { right.append(name) }
        continue
      }
      guard examined < Replicas.examinedFiles else { continue }
      examined += 1
      guard let (_, verdict) = try await lookInto(name, of: id, stored: stored) else { continue }
      verdicts[key] = verdict
      if verdict.isBelieved { right.append(name) }
    }
    if examined > 0 { try turn { [verdicts] in try $0.remember(verdicts, of: id, listing) } }
    return right
  }

  /// Looks for two histories of one author among files that bring nothing new.
  ///
  /// Without this, who has received one of two changes under one number would never fetch the
  /// other, and would differ for ever from who received that one.
  mutating func examineTwins(in id: ZoneID, holding listing: TransportListing) async throws {
    if Mutant.neverLooksForTwins.isActive { return }
    let (stored, candidates) = try turn { engine in
      let stored = try engine.store.log.segments(of: id)
      return (stored, try engine.equivocationCandidates(in: id, listing, stored: stored))
    }
    guard !candidates.isEmpty else { return }
    let found = try await contradictions(among: candidates, of: id, stored: stored, listing)
    guard !found.isEmpty else { return }
    let now = nowMilliseconds
    // Receiving tells a fork from rubbish, proves it to the others, and keeps the evidence.
    let received = try turn { try $0.receive(found, in: id, nowMilliseconds: now) }
    Probe.twinContradicts.hit(if: !received.forks.isEmpty)
    report.received += received.applied
  }

  /// The first file of each author that contradicts what is here; they are sorted by first change.
  private mutating func contradictions(
    among candidates: [SegmentName], of id: ZoneID, stored: [StoredSegment],
    _ listing: TransportListing
  ) async throws -> [[UInt8]] {
    var verdicts = try turn { try $0.verdicts(of: id) }
    var found: [TagAuthor: [UInt8]] = [:]
    var examined = 0
    for name in candidates
    where found[name.author] == nil && examined < Exchange.examinedCandidates {
      examined += 1
      guard let (bytes, verdict) = try await lookInto(name, of: id, stored: stored) else {
        continue
      }
      verdicts[NameVerdicts.key(of: name)] = verdict
      if verdict == .wrong { found[name.author] = bytes }
    }
    try turn { [verdicts] in try $0.remember(verdicts, of: id, listing) }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Fetches a file and tells what it proves to be; nil while that cannot be told, or while the
  /// file cannot be read.
  private mutating func lookInto(
    _ name: SegmentName, of id: ZoneID, stored: [StoredSegment]
  ) async throws -> (bytes: [UInt8], verdict: NameVerdict)? {
    guard let bytes = try? await transport.fetch(name) else { return nil }
    report.receivedBytes += bytes.count
    let verdict = try turn { try $0.verdict(on: bytes, under: name, of: id, stored: stored) }
    return verdict.map { (bytes, $0) }
  }
}
