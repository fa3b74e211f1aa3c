import HearthCRDT
import HearthCrypto
import HearthMembership

/// The search for epoch keys in a control zone's segments.
enum KeySearch {
  /// Takes the keys from a control zone's new segments, as long as each opens further ones.
  ///
  /// This includes segments of authors whose admission is readable only with those very keys, and
  /// of those who introduce themselves. Nobody vouches for their content, but an epoch's id commits
  /// to its key. From such authors, only keys for pending segments are taken, so that nobody can
  /// fill the key ring; no signature of theirs is checked.
  ///
  /// Each segment is opened once, or twice if a stranger wrote it, and its content is released
  /// before the next one. A member may write very many segments that each contain a key.
  static func learnKeys(from blobs: [[UInt8]], in zone: ZoneID, by engine: inout Engine<some Store>)
    throws
  {
    var due = blobs + (try keyBearers(in: zone, beside: blobs, by: engine))
    var locked = try LockedSegments(pendingIn: zone, of: engine)
    var strangers: [[UInt8]] = []
    let group = try engine.zone(zone).group
    var ring = KeyRing(engine.zones)
    while !due.isEmpty {
      let opener = SegmentOpener(
        zone: try engine.zone(zone), membership: engine.membership(of: group))
      var learnt: [Bytes16] = []
      for bytes in due {
        switch try? opener.openUnproven(bytes) {
        case .opened(let segment):
          learnt += EpochKeys.learnKeys(from: segment.changes, of: group, into: &ring, in: &engine)
          { _, _ in true }
        case .waits(.epoch): try locked.add(bytes)
        case .waits(.author), .introduces: strangers.append(bytes)
        case .waits, nil: break
        }
      }
      due = try locked.remove(openedBy: learnt, of: engine)
      guard due.isEmpty, !locked.isEmpty else { continue }
      // Strangers' segments are examined once: nothing becomes pending later that is not pending
      // now.
      for bytes in strangers {
        guard let changes = opener.changesOfUnknown(bytes) else { continue }
        let found = EpochKeys.learnKeys(from: changes, of: group, into: &ring, in: &engine) {
          id, key in
          id == zone && locked.needs(key.tag)
        }
        Probe.keyLearntFromStranger.hit(if: !found.isEmpty)
        learnt += found
      }
      strangers = []
      due = try locked.remove(openedBy: learnt, of: engine)
    }
    try keep(ring, in: engine)
  }

  /// The segments of a control zone that no known key opens, by the tags of their keys.
  private struct LockedSegments {
    private let zone: ZoneID
    /// The new segments.
    private var new: [Bytes16: [[UInt8]]] = [:]
    /// The digests of pending segments, which arrived earlier.
    private var pending: [Identifier: [Identifier]]

    init(pendingIn zone: ZoneID, of engine: Engine<some Store>) throws {
      self.zone = zone
      pending = Dictionary(
        grouping: try engine.store.pending.entries(in: zone).filter { $0.reason == .epoch },
        by: \.epochTag
      ).mapValues { $0.map(\.digest) }
    }

    var isEmpty: Bool { new.isEmpty && pending.isEmpty }

    /// Whether a key would open any of them.
    func needs(_ tag: Bytes16) -> Bool {
      new[tag] != nil || pending[Identifier(tag)] != nil
    }

    mutating func add(_ bytes: [UInt8]) throws {
      new[try Envelope.parseHeader(bytes).epochTag, default: []].append(bytes)
    }

    /// Removes and returns the segments that keys open.
    mutating func remove(
      openedBy tags: [Bytes16], of engine: Engine<some Store>
    ) throws -> [[UInt8]] {
      try tags.flatMap { tag in
        let earlier = pending.removeValue(forKey: Identifier(tag)) ?? []
        return (new.removeValue(forKey: tag) ?? [])
          + (try earlier.compactMap { try engine.store.pending.bytes(of: $0, in: zone) })
      }
    }
  }

  /// Takes all keys from changes with which applied authors introduced themselves.
  static func learnKeys(
    ofIntroduced changes: [[Change]], of group: GroupID, by engine: inout Engine<some Store>
  ) throws {
    guard !changes.isEmpty else { return }
    var ring = KeyRing(engine.zones)
    for own in changes {
      _ = EpochKeys.learnKeys(from: own, of: group, into: &ring, in: &engine) { _, _ in true }
    }
    try keep(ring, in: engine)
  }

  private static func keep(_ ring: KeyRing, in engine: Engine<some Store>) throws {
    for place in ring.changed.sorted() {
      _ = try EpochKeys.keepKeys(of: engine.zones[place], in: engine)
    }
  }

  /// The pending segments that may contain keys: those under known keys, and those of strangers.
  ///
  /// Strangers' segments are included only if there is new knowledge to try them with.
  private static func keyBearers(
    in zone: ZoneID, beside blobs: [[UInt8]], by engine: Engine<some Store>
  ) throws -> [[UInt8]] {
    let state = try engine.zone(zone)
    let membership = engine.membership(of: state.group)
    let readiness = try PendingKnowledge.readiness(
      of: state, membership, isRebuilding: false,
      hasNews: blobs.contains { Intake.isOfMember($0, of: state, membership) },
      hasWaiting: true, in: engine)
    return try engine.store.pending.entries(in: zone)
      .filter {
        ($0.reason == .epoch || $0.reason == .author) && readiness.isReady($0, in: state, [:])
      }
      .compactMap { try engine.store.pending.bytes(of: $0.digest, in: zone) }
  }
}
