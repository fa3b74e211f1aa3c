import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// Deeds of devices that the member lets in by itself, and that nobody else knows.
extension HostileMember {
  /// An invitation for the own person, with its secret.
  private struct OwnInvitation {
    let secret: InviteSecret
    let terms: ControlOperation.InviteCreate
  }

  /// How many invitations lie in one file.
  private static var invitationsPerFile: Int { 500 }
  /// How long an invitation is valid.
  private static var validMilliseconds: UInt64 { 7 * 86_400_000 }

  /// Invitations for the own person, each used by several devices that see nothing of each other.
  package mutating func invitations(_ number: Int, joins: Int) throws -> [HostileFile] {
    var made: [Change] = []
    var logs: [HostileFile] = []
    for _ in 0..<number {
      let invitation = try ownInvitation()
      made.append(controlChange([.inviteCreate(invitation.terms)]))
      for _ in 0..<joins {
        let (log, first) = try joined(by: invitation)
        logs.append(try log.seal([first]))
      }
    }
    var files: [HostileFile] = []
    for start in stride(from: 0, to: made.count, by: HostileMember.invitationsPerFile) {
      let end = min(start + HostileMember.invitationsPerFile, made.count)
      files.append(try sealControl(Array(made[start..<end])))
    }
    return files + logs
  }

  /// Revokes the device that recovery words brought, and removes a witness of the recovery.
  ///
  /// - Parameters:
  ///   - cited: the witness's log as it stands, which is cited without what the witness had seen;
  ///     if nil, nothing is cited that came after the own device's last sync.
  ///   - isFresh: whether a device does it that the own one lets in for this.
  package mutating func undo(
    _ recovered: DeviceID, seenBy witness: PersonID, citing cited: LogHead?, isFresh: Bool
  ) throws -> [HostileFile] {
    let nothing = Cut(entries: [])
    let said: [ControlOperation] = [
      .revokeDevice(device: recovered, cut: nothing),
      .removeMember(person: witness, cut: nothing),
    ]
    guard isFresh else {
      if let cited { herald.learn(cited) }
      return [try sealControl([controlChange(said)])]
    }
    let invitation = try ownInvitation()
    let made = try sealControl([controlChange([.inviteCreate(invitation.terms)])])
    let joining = try joined(by: invitation)
    var log = joining.log
    if let cited { log.learn(cited) }
    let second = log.change(said, nowMilliseconds: nowMilliseconds)
    return [made, try log.seal([joining.first, second])]
  }

  private mutating func ownInvitation() throws -> OwnInvitation {
    var seed = dice.bytes(InviteSecret.seedBytes)
    let secret = try InviteSecret(seed: SecretBytes(consuming: &seed))
    let keys = secret.publicKeys
    guard let invite = Identifier(bytes: keys.inviteID) else {
      throw HostileError("an invitation's id has the wrong length")
    }
    let terms = ControlOperation.InviteCreate(
      invite: invite, signKey: keys.signingKey.bytes, boxKey: keys.boxKey.bytes, role: .reader,
      person: person, maximumUses: 1,
      expiresMilliseconds: nowMilliseconds + HostileMember.validMilliseconds)
    return OwnInvitation(secret: secret, terms: terms)
  }

  /// The log of a new device and its first change, which joins by an invitation that this life has
  /// just made.
  private mutating func joined(
    by invitation: OwnInvitation
  ) throws -> (log: Herald, first: Change) {
    let (device, card) = try newDevice()
    var join = ControlOperation.Join(
      invite: invitation.terms.invite, person: person,
      personName: membership.person(person)?.name ?? "Nobody", device: card,
      proof: [UInt8](repeating: 0, count: 64))
    join.proof = invitation.secret.sign(ControlSignature.joinHash(of: join, group: group))
    var log = try self.log(of: device)
    log.learn(herald.head)
    let first = log.change([.join(join)], nowMilliseconds: nowMilliseconds)
    return (log, first)
  }
}
