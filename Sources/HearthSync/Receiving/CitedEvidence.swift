import HearthCRDT

/// The lookup of a batch's citations.
struct CitedEvidence {
  /// The group's control zone.
  let control: ZoneState
  /// Where a log stood in the zone's base snapshot, if the snapshot contains a change.
  let base: (Author, UInt64) throws -> LogHead?
  /// Finds a stretch of a log of the zone.
  let log: (Author, UInt64) throws -> CitedLog
  /// Finds a stretch of a log of the control zone.
  let controlLog: (Author, UInt64) throws -> CitedLog
  /// Excerpts of examined segments.
  let memory: ExcerptMemory
}
