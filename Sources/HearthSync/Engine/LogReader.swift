import HearthCRDT

/// A change with its chain hash in its author's log.
package struct LoggedChange: Sendable {
  /// The change.
  package let change: Change
  /// The author's chain hash after the change.
  package let hash: [UInt8]
}

/// Changes of a zone's logs, read from segments and from the store.
package struct LogReader<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Opens one sealed segment of a zone and returns its changes in order.
  ///
  /// The call verifies everything that needs no knowledge of other changes: zone, signature,
  /// authenticity, chain.
  ///
  /// - Returns: The changes; nil if the author or key is not known on this node yet.
  package func changes(
    inSegment bytes: [UInt8], of zone: ZoneID
  ) throws -> [LoggedChange]? {
    let state = try engine.zone(zone)
    let opener = SegmentOpener(zone: state, membership: engine.membership(of: state.group))
    guard case .opened(let segment) = try opener.open(bytes) else { return nil }
    return segment.changes.map {
      LoggedChange(change: $0, hash: segment.hash(after: $0.dot.sequence))
    }
  }

  /// The own changes of a zone that are in no segment yet, in order.
  package func unsealedChanges(of zone: ZoneID) throws -> [LoggedChange] {
    let state = try engine.zone(zone)
    var found: [LoggedChange] = []
    for author in state.heads.map(\.author) where author.device == engine.device {
      let encoded = try engine.store.log.changes(
        of: author, in: zone, after: 0, limit: Limits.maximumSegmentChanges * 100)
      found += try encoded.map { bytes in
        LoggedChange(
          change: try Change(decoding: bytes), hash: state.chainHash(of: bytes))
      }
    }
    return found
  }
}
