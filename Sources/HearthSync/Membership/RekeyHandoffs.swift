import HearthCRDT
import HearthCrypto
import HearthMembership

/// Rekey handoffs: which keys and segments of a control zone members pass to each other.
package struct RekeyHandoffs<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The devices and automatic invitations that epochs of the control zone omitted, in order of
  /// recipient.
  ///
  /// The result contains only recipients whose rekey handoff this device can find. The cost is
  /// O(e·r) for the e latest epochs and r recipients.
  ///
  /// - Parameter latest: The number of epochs that have rekey handoffs.
  package func passedBy(in group: GroupID, latest: Int) throws -> [PassedBy] {
    let control = try engine.controlZone(of: group)
    return engine.membership(of: group).handoffs.passedBy(
      in: control.id, held: control.heldEpochs, latest: latest)
  }

  /// The known epochs of a group's control zone: the current epoch first, then the others from the
  /// latest.
  ///
  /// - Throws: `notFound`.
  package func controlEpochs(of group: GroupID, atMost limit: Int) throws -> [EpochKey] {
    let control = try engine.controlZone(of: group)
    let current = control.currentEpoch?.id
    let depths = Dictionary(
      engine.membership(of: group).keys.epochs(of: control.id).map { ($0.grant.epoch, $0.depth) },
      uniquingKeysWith: { max($0, $1) })
    let epochs = control.epochs.enumerated().sorted { left, right in
      func rank(_ item: (offset: Int, element: EpochKey)) -> (Int, Int, Int) {
        (item.element.id == current ? 1 : 0, depths[item.element.id] ?? -1, item.offset)
      }
      return rank(left) > rank(right)
    }
    return epochs.prefix(limit).map(\.element)
  }

  /// The recipients of the grants in a rekey handoff, and the key that each grant is sealed to: the
  /// active devices, the automatic invitations, and people's recovery words.
  ///
  /// This device is included, because a later restored backup of it has only the keys of that time.
  package func handoffRecipients(of group: GroupID) throws -> [(id: Identifier, box: [UInt8])] {
    let membership = engine.membership(of: group)
    let staying = Mutant.handoffsForEverybody.isActive ? membership.allDevices : membership.devices
    return staying.map { ($0.id, $0.card.boxKey) }
      + membership.openInvites.map { ($0.operation.invite, $0.operation.boxKey) }
      + membership.recovery.recoveryKeys().map { ($0.person, $0.keys.box) }
  }

  /// The segments of a group's control zone that are sealed under an epoch, those of one author in
  /// order.
  ///
  /// The result contains the latest segments, up to a number of bytes.
  package func controlSegments(
    of group: GroupID, sealedUnder epoch: [UInt8], atMostBytes limit: Int
  ) throws -> [(name: SegmentName, bytes: [UInt8])] {
    let control = try engine.controlZone(of: group)
    let tag = try EpochKey.tag(ofID: epoch)
    var found: [(name: SegmentName, bytes: [UInt8])] = []
    var byteCount = 0
    for segment in try engine.store.log.segments(of: control.id).sorted(by: { $1.last < $0.last }) {
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: control.id),
        (try? Envelope.parseHeader(bytes))?.epochTag == tag
      else { continue }
      byteCount += bytes.count
      guard byteCount <= limit else { break }
      found.append((segment.name(in: control), bytes))
    }
    return found.reversed()
  }
}
