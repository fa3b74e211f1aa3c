import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// Seals all own changes of a zone that are in no segment yet.
  ///
  /// - Returns: The number of new segments.
  package mutating func seal(_ zone: ZoneID) throws -> Int {
    let state = try self.zone(zone)
    let authors = state.heads.map(\.author).filter { $0.device == device }
    var made = 0
    try store.transaction {
      made = 0
      for author in authors {
        made += try sealChanges(of: author, in: state)
      }
    }
    return made
  }

  func sealChanges(of author: Author, in state: ZoneState) throws -> Int {
    let sealer = SegmentSealer(zone: state, identity: identity)
    let head = state.head(of: author)
    var made = 0
    var after: UInt64 = 0
    while true {
      let encoded = try store.log.changes(
        of: author, in: state.id, after: after, limit: Limits.maximumSegmentChanges)
      guard !encoded.isEmpty else { break }
      for segment in try sealer.seal(encoded) {
        try store.log.save(segment.description, bytes: segment.bytes, in: state.id)
        excerpts.keep(
          segment.excerpt, of: segment.description.digest, length: encoded.count)
        after = segment.description.last
        made += 1
        Probe.severalChangesInSegment.hit(if: encoded.count > 1)
      }
    }
    guard made > 0 else { return 0 }
    // The head is saved first, because opening reads own changes only beyond it.
    try store.zones.save([head], of: state.id)
    try store.log.removeChanges(of: author, in: state.id, through: after)
    return made
  }

  /// The number of own small segments that triggers a merge into larger ones.
  ///
  /// Simulations use a small number, so that short runs reach it.
  package static var compactionThreshold: Int {
    #if HEARTH_SIMULATION
      8
    #else
      64
    #endif
  }

  /// Merges this device's small segments of a zone into larger ones.
  ///
  /// The chain runs over changes, so the merged segment proves the same history. The old segments
  /// leave the store in the same transaction; transports drop them once the new one is there.
  ///
  /// - Returns: The number of replaced segments; 0 if there are few.
  package mutating func compact(_ zone: ZoneID) throws -> Int {
    let state = try self.zone(zone)
    var merged = 0
    try store.transaction {
      merged = 0
      var small = try store.log.segments(of: zone).filter {
        $0.author == author && $0.byteCount < Engine.smallSegmentBytes
      }
      guard small.count >= Engine.compactionThreshold, !Mutant.neverCompacts.isActive else {
        return
      }
      small = try small.sorted { $0.first < $1.first }.filter { try mayMerge($0, in: state) }
      guard small.count >= Engine.compactionThreshold else { return }
      for run in Engine.runs(of: small) where run.count > 1 {
        merged += try merge(run, in: state)
      }
    }
    return merged
  }

  /// The size below which a segment is worth merging.
  private static var smallSegmentBytes: Int { 128 * 1024 }

  /// Whether a segment may be resealed under the current key.
  ///
  /// A control segment under an earlier key must stay: it may contain the very key that others need
  /// to open later segments. A segment must also stay if newcomers may not have its key.
  private func mayMerge(_ segment: StoredSegment, in state: ZoneState) throws -> Bool {
    guard state.kind == .control || membership(of: state.group).history.withholdsKeys else {
      return true
    }
    guard state.epochs.count > 1 else { return true }
    guard let bytes = try store.log.bytes(of: segment.digest, in: state.id) else { return false }
    let tag = try Envelope.parseHeader(bytes).epochTag
    if state.kind == .control { return tag == state.currentEpoch?.tag }
    return keysForNewcomers(of: state).contains { $0.tag == tag }
  }

  /// Groups segments that follow each other without a gap.
  private static func runs(of segments: [StoredSegment]) -> [[StoredSegment]] {
    var runs: [[StoredSegment]] = []
    for segment in segments {
      if let last = runs.last?.last, last.last + 1 == segment.first {
        runs[runs.count - 1].append(segment)
      } else {
        runs.append([segment])
      }
    }
    return runs
  }

  private func merge(_ run: [StoredSegment], in state: ZoneState) throws -> Int {
    let opener = SegmentOpener(zone: state, membership: membership(of: state.group))
    var encoded: [[UInt8]] = []
    for segment in run {
      guard let bytes = try store.log.bytes(of: segment.digest, in: state.id),
        case .opened(let opened) = try opener.open(bytes)
      else {
        throw SyncError(.corrupt, "an own segment of zone \(state.name) cannot be read")
      }
      for change in opened.changes {
        var writer = ByteWriter()
        change.encode(into: &writer)
        encoded.append(writer.bytes)
      }
    }
    if Mutant.mergesShort.isActive { encoded.removeLast() }
    let sealed = try SegmentSealer(zone: state, identity: identity).seal(encoded)
    Probe.segmentsMerged.hit()
    guard sealed.count < run.count else { return 0 }
    for segment in run { try store.log.removeSegment(segment.digest, in: state.id) }
    for segment in sealed {
      try store.log.save(segment.description, bytes: segment.bytes, in: state.id)
    }
    return run.count
  }
}
