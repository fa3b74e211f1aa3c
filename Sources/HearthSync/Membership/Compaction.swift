import HearthCRDT
import HearthCrypto
import HearthMembership

/// Merging of this device's small segments into larger ones.
package enum Compaction {
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
  package static func compact(_ zone: ZoneID, in engine: inout Engine<some Store>) throws -> Int {
    let state = try engine.zone(zone)
    var merged = 0
    try engine.store.transaction {
      merged = 0
      var small = try engine.store.log.segments(of: zone).filter {
        $0.author == engine.author && $0.byteCount < smallSegmentBytes
      }
      guard small.count >= compactionThreshold, !Mutant.neverCompacts.isActive else {
        return
      }
      small = try small.sorted { $0.first < $1.first }.filter {
        try mayMerge($0, in: state, by: engine)
      }
      guard small.count >= compactionThreshold else { return }
      for run in runs(of: small) where run.count > 1 {
        merged += try merge(run, in: state, by: engine)
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
  private static func mayMerge(
    _ segment: StoredSegment, in state: ZoneState, by engine: Engine<some Store>
  ) throws -> Bool {
    guard state.kind == .control || engine.membership(of: state.group).history.withholdsKeys else {
      return true
    }
    guard state.epochs.count > 1 else { return true }
    guard let bytes = try engine.store.log.bytes(of: segment.digest, in: state.id) else {
      return false
    }
    let tag = try Envelope.parseHeader(bytes).epochTag
    if state.kind == .control { return tag == state.currentEpoch?.tag }
    return NewcomerKeys(engine: engine).keysForNewcomers(of: state).contains { $0.tag == tag }
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

  private static func merge(
    _ run: [StoredSegment], in state: ZoneState, by engine: Engine<some Store>
  ) throws -> Int {
    let opener = SegmentOpener(zone: state, membership: engine.membership(of: state.group))
    var encoded: [[UInt8]] = []
    for segment in run {
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: state.id),
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
    let sealed = try SegmentSealer(zone: state, identity: engine.identity).seal(encoded)
    Probe.segmentsMerged.hit()
    guard sealed.count < run.count else { return 0 }
    for segment in run { try engine.store.log.removeSegment(segment.digest, in: state.id) }
    for segment in sealed {
      try engine.store.log.save(segment.description, bytes: segment.bytes, in: state.id)
    }
    return run.count
  }
}
