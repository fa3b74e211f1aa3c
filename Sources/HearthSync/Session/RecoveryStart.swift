import HearthCRDT
import HearthCrypto
import HearthMembership

/// Recovery of a bare machine from a recovery bundle.
package enum RecoveryStart {
  /// Begins to recover a group: adds the zones whose secrets the words open.
  ///
  /// A key that does not open is skipped, because the group's log hands on every later one.
  ///
  /// - Throws: `notAuthentic` if no key opens the group's log.
  package static func beginRecovering(
    _ group: RecoveryListing.Group, with root: RecoveryRoot, in engine: inout Engine<some Store>
  ) throws {
    let grants = group.zones.compactMap { zone -> InvitationCapsule.ZoneGrant? in
      guard (try? root.openZoneSecret(zone.sealedSecret, expectingTag: zone.tag)) != nil else {
        return nil
      }
      return InvitationCapsule.ZoneGrant(
        id: zone.id, kind: zone.kind, name: zone.name, tag: zone.tag,
        sealedSecret: zone.sealedSecret,
        epochs: zone.epochs.filter { epoch in
          let key = try? root.openEpochKey(
            epoch.sealed, expectingID: epoch.id, groupID: group.id.bytes, zoneID: zone.id.bytes)
          return key != nil
        })
    }
    guard grants.contains(where: { $0.kind == .control && !$0.epochs.isEmpty }) else {
      throw SyncError(
        .notAuthentic, "the recovery bundle does not open \(group.name): somebody forged it")
    }
    try ReceivedGrants.take(grants, of: group.id, group.database, with: root.boxPair, in: &engine)
  }

  /// Takes the keys and zones of a group that its log hands to a person's recovery words.
  ///
  /// - Returns: Whether there were new ones; then more of the log may be readable.
  package static func takeRecoveryKeys(
    of group: GroupID, for person: PersonID, with root: RecoveryRoot,
    in engine: inout Engine<some Store>
  ) throws -> Bool {
    var draft = engine
    var isNew = false
    try engine.store.transaction {
      draft = engine
      isNew = try addRecoveredZones(of: group, for: person, with: root, in: &draft)
      let membership = draft.membership(of: group)
      let listed = draft.zones.filter { $0.group == group }
        .flatMap { membership.keys.epochs(of: $0.id).map(\.grant) }
      for grant in listed + (try waitingGrants(of: group, in: draft)) {
        guard let place = draft.zones.firstIndex(where: { $0.id == grant.zone }),
          draft.zones[place].group == group, draft.zones[place].epoch(id: grant.epoch) == nil,
          let wrap = grant.recovery.first(where: { $0.recipient == person }),
          let key = try? root.openEpochKey(
            wrap.sealed, expectingID: grant.epoch, groupID: group.bytes,
            zoneID: grant.zone.bytes)
        else { continue }
        try EpochKeys.learn([key], at: place, in: &draft)
        isNew = true
      }
      if isNew { try MembershipRefresh.refresh(of: group, in: &draft) }
    }
    engine = draft
    return isNew
  }

  /// Adds zones that the genesis declares and whose secret was given to the person's words.
  private static func addRecoveredZones(
    of group: GroupID, for person: PersonID, with root: RecoveryRoot,
    in engine: inout Engine<some Store>
  ) throws -> Bool {
    let membership = engine.membership(of: group)
    guard let genesis = membership.genesis, let keys = membership.recovery.recoveryKeys(of: person),
      keys.box == root.publicKeys.box
    else { return false }
    var isNew = false
    for zone in genesis.zones where !engine.zones.contains(where: { $0.id == zone.id }) {
      guard let sealed = keys.secrets.first(where: { $0.zone == zone.id })?.sealed,
        let secret = try? ZoneSecret(secret: SealedBox.openKey(sealed, with: root.boxPair))
      else { continue }
      try engine.add(
        zone: zone.id, of: group, kind: .data, database: genesis.database, name: zone.name,
        secret: secret, epochs: [])
      isNew = true
    }
    return isNew
  }

  /// The grants in pending segments of the control zone, whether these wait for earlier changes or
  /// for their authors' admission: an epoch's id commits to its key, whoever hands it on.
  private static func waitingGrants(of group: GroupID, in engine: Engine<some Store>) throws
    -> [ControlOperation.EpochGrant]
  {
    let control = try engine.controlZone(of: group)
    let opener = SegmentOpener(zone: control, membership: engine.membership(of: group))
    return try engine.store.pending.segments(in: control.id).flatMap {
      pending -> [ControlOperation.EpochGrant] in
      let changes: [Change]
      switch try? opener.open(pending.bytes) {
      case .opened(let segment): changes = segment.changes
      case .waits(.author): changes = opener.changesOfUnknown(pending.bytes) ?? []
      case .waits, nil: return []
      }
      return changes.flatMap(\.operations).compactMap { operation in
        guard operation.key.type == ControlOperation.type,
          case .event(let fields) = operation.body,
          let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes,
          case .epoch(let grant)? = try? ControlOperation(decoding: body)
        else { return nil }
        return grant
      }
    }
  }
}
