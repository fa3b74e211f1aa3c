import HearthCRDT
import HearthCrypto
import HearthMembership

/// Closing of invitations together with the removal of their users.
enum InvitationClosings {
  /// Writes closings of invitations where the holders of the link can read them.
  ///
  /// If keys were replaced since, a closing is sealed under the key that the invitation carried.
  /// Its holders have the group's log only up to the replacement. Without the notice, they would
  /// join and wait forever for keys that nobody hands to them. One change serves all closings under
  /// one key, so that a person's many links cost hardly more than one.
  ///
  /// - Returns: The remaining operations, including closings of invitations with the current key.
  static func writeClosings(
    among operations: [ControlOperation], in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> [ControlOperation] {
    var rest: [ControlOperation] = []
    var earlier: [(epoch: [UInt8], closings: [ControlOperation])] = []
    let control = try engine.controlZone(of: group)
    for operation in operations {
      guard case .inviteClose(let invite) = operation,
        let epoch = engine.membership(of: group).keys.controlEpoch(
          of: invite, in: control.id, held: control.heldEpochs),
        epoch != control.currentEpoch?.id
      else {
        rest.append(operation)
        continue
      }
      if let place = earlier.firstIndex(where: { $0.epoch == epoch }) {
        earlier[place].closings.append(operation)
      } else {
        earlier.append((epoch, [operation]))
      }
    }
    for (epoch, closings) in earlier {
      let control = try engine.controlZone(of: group)
      for author in control.heads.map(\.author) where author.device == engine.device {
        _ = try Sealing.sealChanges(of: author, in: control, by: engine)
      }
      _ = try ControlWriting.write(
        closings, group: group, in: &engine, nowMilliseconds: nowMilliseconds)
      var told = try engine.controlZone(of: group)
      told.writeEpoch = epoch
      _ = try Sealing.sealChanges(of: engine.author, in: told, by: engine)
    }
    return rest
  }
}
