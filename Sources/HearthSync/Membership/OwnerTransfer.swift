import HearthCRDT
import HearthCrypto
import HearthMembership

/// Transfer of the ownership of a group.
package enum OwnerTransfer {
  /// Offers the group to another person, who must accept.
  ///
  /// - Parameter sign: Signs bytes for a domain with the owner's recovery words.
  /// - Returns: The id of the offer.
  /// - Throws: `notAllowed`, also for an owner without recovery words.
  package static func offer(
    of group: GroupID, to person: PersonID, signing sign: RecoverySigner,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> RecordID {
    // Due rotations come first, because the signature covers the sequence number of the offer.
    try Rekeying.replaceOverEpochs(of: group, in: &engine, nowMilliseconds: nowMilliseconds)
    let dot = try engine.nextDot(in: engine.controlZone(of: group).id)
    let signature = try sign(
      ControlSignature.transferDomain,
      ControlSignature.signedBytes(group: group, dot: dot, person.bytes))
    return try GroupOperations.perform(
      [.transferOwner(to: person, signature: signature)], in: group, by: &engine,
      nowMilliseconds: nowMilliseconds)[0]
  }

  /// Accepts ownership of the group; the former owner becomes an admin.
  package static func accept(
    of group: GroupID, offer: RecordID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    try GroupOperations.perform(
      [.acceptOwner(transfer: offer)], in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }
}
