import HearthCRDT
import HearthCrypto
import HearthMembership

/// Closing of invitations together with the removal of their users.
enum InvitationClosings {
  /// Writes closings of invitations where the holders of the link can read them.
  ///
  /// If keys were replaced since, a closing is sealed under the key that the invitation carried.
  /// Its holders have the group's log only up to the replacement. Without the notice, they would
  /// join and wait forever for keys that nobody hands to them.
  ///
  /// - Returns: The remaining operations, including closings of invitations with the current key.
  static func writeClosings(
    among operations: [ControlOperation], in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> [ControlOperation] {
    var rest: [ControlOperation] = []
    for operation in operations {
      let control = try engine.controlZone(of: group)
      guard case .inviteClose(let invite) = operation,
        let epoch = engine.membership(of: group).controlEpoch(
          of: invite, in: control.id, held: control.heldEpochs),
        epoch != control.currentEpoch?.id
      else {
        rest.append(operation)
        continue
      }
      for author in control.heads.map(\.author) where author.device == engine.device {
        _ = try Sealing.sealChanges(of: author, in: control, by: engine)
      }
      _ = try GroupOperations.writeControl(
        [operation], group: group, in: &engine, nowMilliseconds: nowMilliseconds)
      var told = try engine.controlZone(of: group)
      told.writeEpoch = epoch
      _ = try Sealing.sealChanges(of: engine.author, in: told, by: engine)
    }
    return rest
  }
}
