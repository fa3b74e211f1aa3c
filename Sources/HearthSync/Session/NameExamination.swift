import HearthCRDT
import HearthMembership

/// The step of an exchange that examines files whose names may be false.
///
/// Decision 0019 explains the reasons.
struct NameExamination<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// The most files with the same changes as others that are examined in one round.
  private static var examinedCandidates: Int { 16 }

  /// The stored segments that the transport lacks, after an examination of the files that seem to
  /// hold them under other names; each file is examined once by this node.
  ///
  /// - Returns: The result of ``SyncPlan/publications(to:stored:trusted:of:by:)``.
  func publications(
    of id: ZoneID, holding listing: TransportListing, stored: [StoredSegment],
    _ report: inout TransportReport
  ) async throws -> [(segment: StoredSegment, name: SegmentName)] {
    let (missing, suspects) = try ports.turn {
      try NameTrust(engine: $0).publications(of: id, to: listing, stored: stored)
    }
    let right = try await examine(suspects, of: id, stored: stored, listing, &report)
    guard !right.isEmpty else { return missing }
    return try ports.turn {
      try NameTrust(engine: $0).publications(of: id, to: listing, stored: stored, right: right)
        .missing
    }
  }

  /// Examines files once and stores the verdicts.
  ///
  /// - Returns: The files whose changes are the ones that are here, as far as can be determined.
  func examine(
    _ names: [SegmentName], of id: ZoneID, stored: [StoredSegment], _ listing: TransportListing,
    _ report: inout TransportReport
  ) async throws -> [SegmentName] {
    guard !names.isEmpty else { return [] }
    var verdicts = try ports.turn { try NameMemory.verdicts(of: id, in: $0) }
    var right: [SegmentName] = []
    var examined = 0
    for name in names {
      let key = NameVerdicts.key(of: name)
      if let verdict = verdicts[key] {
        if verdict.isBelieved { right.append(name) }
        continue
      }
      guard examined < NameMemory.examinedFiles else { continue }
      examined += 1
      guard let (_, verdict) = try await lookInto(name, of: id, stored: stored, &report) else {
        continue
      }
      verdicts[key] = verdict
      if verdict.isBelieved { right.append(name) }
    }
    if examined > 0 {
      try ports.turn { [verdicts] in try NameMemory.remember(verdicts, of: id, listing, in: $0) }
    }
    return right
  }

  /// Looks for two histories of one author among files that bring nothing new.
  ///
  /// Without this, a device that has received one of two changes with the same number would never
  /// fetch the other, and would differ for ever from devices that received the other one.
  func examineCandidates(
    in id: ZoneID, holding listing: TransportListing, _ report: inout TransportReport
  ) async throws {
    if Mutant.neverLooksForTwins.isActive { return }
    let (stored, candidates) = try ports.turn { engine in
      let stored = try engine.store.log.segments(of: id)
      return (
        stored,
        try NameTrust(engine: engine).equivocationCandidates(in: id, listing, stored: stored)
      )
    }
    guard !candidates.isEmpty else { return }
    let found = try await contradictions(
      among: candidates, of: id, stored: stored, listing, &report)
    guard !found.isEmpty else { return }
    let now = ports.nowMilliseconds
    // Receiving distinguishes a fork from garbage, proves it to the others, and keeps the evidence.
    let received = try ports.turn { try $0.receive(found, in: id, nowMilliseconds: now) }
    Probe.twinContradicts.hit(if: !received.forks.isEmpty)
    report.received += received.applied
  }

  /// The first file of each author that contradicts what is here; the files are sorted by first
  /// change.
  private func contradictions(
    among candidates: [SegmentName], of id: ZoneID, stored: [StoredSegment],
    _ listing: TransportListing, _ report: inout TransportReport
  ) async throws -> [[UInt8]] {
    var verdicts = try ports.turn { try NameMemory.verdicts(of: id, in: $0) }
    var found: [TagAuthor: [UInt8]] = [:]
    var examined = 0
    for name in candidates
    where found[name.author] == nil && examined < NameExamination.examinedCandidates {
      examined += 1
      guard let (bytes, verdict) = try await lookInto(name, of: id, stored: stored, &report) else {
        continue
      }
      verdicts[NameVerdicts.key(of: name)] = verdict
      if verdict == .wrong { found[name.author] = bytes }
    }
    try ports.turn { [verdicts] in try NameMemory.remember(verdicts, of: id, listing, in: $0) }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Fetches a file and returns the verdict about it; nil while the verdict cannot be determined,
  /// or while the file cannot be read.
  private func lookInto(
    _ name: SegmentName, of id: ZoneID, stored: [StoredSegment], _ report: inout TransportReport
  ) async throws -> (bytes: [UInt8], verdict: NameVerdict)? {
    guard let bytes = try? await ports.transport.fetch(name) else { return nil }
    report.receivedBytes += bytes.count
    let verdict = try ports.turn {
      try NameTrust(engine: $0).verdict(on: bytes, under: name, of: id, stored: stored)
    }
    return verdict.map { (bytes, $0) }
  }
}
