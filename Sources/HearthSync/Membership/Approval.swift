import HearthCRDT
import HearthCrypto
import HearthMembership

/// Admission of the author of a request to join.
package enum Approval {
  /// Admits the author of a request.
  ///
  /// - Returns: The answer to publish, with the keys sealed to the newcomer's device.
  /// - Throws: `notAllowed` with the reason.
  package static func approve(
    _ request: JoinRequest, named groupName: String, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> NamedBlob {
    try HistoryBoundary.performEntrance(
      .admit(request.admit), of: request.person, in: request.group,
      joined: JoiningDevice(
        device: request.device, card: request.admit.join.device, person: request.person),
      by: &engine, nowMilliseconds: nowMilliseconds)
    let membership = engine.membership(of: request.group)
    let key = try BoxPublicKey(validating: request.admit.join.device.boxKey)
    let control = try engine.controlZone(of: request.group)
    let capsule = InvitationCapsule(
      group: request.group, database: control.database, groupName: groupName,
      inviterName: membership.person(of: engine.device)?.name ?? "",
      role: membership.role(of: request.device) ?? .reader, expiresMilliseconds: .max,
      zones: try NewcomerKeys(engine: engine).zoneGrants(
        of: request.group, to: key, for: request.person),
      controlFrontier: control.frontier)
    let answer = JoinAnswer(
      by: engine.identity, showing: try OwnCards(engine: engine).ownCard(in: request.group),
      saying: capsule, to: request)
    return NamedBlob(
      name: ApprovalNames.answerName(to: request.device, of: request.group),
      bytes: try SealedBox.seal(answer.encoded, to: key))
  }
}
