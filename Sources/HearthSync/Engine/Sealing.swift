import HearthCRDT
import HearthCrypto
import HearthMembership

/// Sealing of this device's changes into segments.
package enum Sealing {
  /// Seals all own changes of a zone that are in no segment yet.
  ///
  /// - Returns: The number of new segments.
  package static func seal(_ zone: ZoneID, in engine: inout Engine<some Store>) throws -> Int {
    let state = try engine.zone(zone)
    let authors = state.heads.map(\.author).filter { $0.device == engine.device }
    var made = 0
    try engine.store.transaction {
      made = 0
      for author in authors {
        made += try sealChanges(of: author, in: state, by: engine)
      }
    }
    return made
  }

  /// Seals the unsealed changes of an own log, and returns the number of new segments.
  static func sealChanges(of author: Author, in state: ZoneState, by engine: Engine<some Store>)
    throws -> Int
  {
    let sealer = SegmentSealer(zone: state, identity: engine.identity)
    let head = state.head(of: author)
    var made = 0
    var after: UInt64 = 0
    while true {
      let encoded = try engine.store.log.changes(
        of: author, in: state.id, after: after, limit: Limits.maximumSegmentChanges)
      guard !encoded.isEmpty else { break }
      for segment in try sealer.seal(encoded) {
        try engine.store.log.save(segment.description, bytes: segment.bytes, in: state.id)
        engine.excerpts.keep(
          segment.excerpt, of: segment.description.digest, length: encoded.count)
        after = segment.description.last
        made += 1
        Probe.severalChangesInSegment.hit(if: encoded.count > 1)
      }
    }
    guard made > 0 else { return 0 }
    // The head is saved first, because opening reads own changes only beyond it.
    try engine.store.zones.save([head], of: state.id)
    try engine.store.log.removeChanges(of: author, in: state.id, through: after)
    return made
  }
}
