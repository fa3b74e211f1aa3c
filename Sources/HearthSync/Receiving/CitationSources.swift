import HearthCRDT
import HearthMembership

/// What the citations of changes are checked against.
struct CitationSources<S: Store> {
  let engine: Engine<S>

  /// The lookup of a data zone's citations; nil for a control zone.
  func evidence(for zone: ZoneState) throws -> CitedEvidence? {
    guard zone.kind == .data else { return nil }
    let control = try engine.controlZone(of: zone.group)
    let logs = citedLogs(of: zone)
    let controlLogs = citedLogs(of: control)
    return CitedEvidence(
      control: control, base: logs.base(of:holding:), log: logs.log(of:at:),
      controlLog: controlLogs.log(of:at:),
      memory: engine.excerpts)
  }

  private func citedLogs(of zone: ZoneState) -> CitedLogs<S> {
    CitedLogs(
      zone, store: engine.store,
      opener: SegmentOpener(zone: zone, membership: engine.membership(of: zone.group)),
      device: engine.device,
      memory: engine.excerpts
    ) { [engine] in
      guard
        let start = try engine.store.snapshots.base(
          of: zone.id, atMost: ExcerptMemory.baseStartBytes)
      else { return [] }
      return try engine.excerpts.heads(ofBaseOf: zone.id, beginning: start) {
        try BaseSnapshot(engine: engine).baseHeads(of: zone)
      }
    }
  }
}
