import HearthCRDT
import HearthCrypto

/// Checks the signatures inside the operations of one log.
struct ClaimChecks: Sendable {
  let group: GroupID
  var proofs: ProofBook
  /// The invitation that each join is already proven to use, since the proof is costly; added
  /// operations are not in this array, since each addition would copy all of it.
  private var provenBy: [Int?]

  init(group: GroupID, proofs: ProofBook, count: Int) {
    self.group = group
    self.proofs = proofs
    provenBy = [Int?](repeating: nil, count: count)
  }

  /// Whether the holder of an invitation made a join; the result is cached.
  mutating func isProven(_ place: Int, by invite: Int, in log: ControlLog) -> Bool {
    if place < provenBy.count, provenBy[place] == invite { return true }
    guard let join = log.operation(place).joining,
      case .inviteCreate(let made) = log.operation(invite),
      proofs.isProven(join, by: made, group: group)
    else { return false }
    if place < provenBy.count { provenBy[place] = invite }
    return true
  }

  /// Whether the new device itself signed the request that an approval admits.
  mutating func isPossessed(_ admit: ControlOperation.Admit) -> Bool {
    let group = group
    let claim = ProofBook.Claim(
      domain: ControlSignature.possessionDomain, sign: admit.join.device.signKey, box: [],
      message: ControlSignature.joinHash(of: admit.join, group: group), signature: admit.possession)
    return proofs.holds(claim)
  }

  /// Whether a key signed the body of an operation at its place in the author's log.
  mutating func holds(
    _ signature: [UInt8], of body: @autoclosure @escaping () -> [UInt8], _ domain: Domain,
    by key: [UInt8], at dot: Dot
  ) -> Bool {
    let group = group
    let claim = ProofBook.Claim(
      domain: domain, sign: key, box: [],
      message: ControlSignature.signedBytes(group: group, dot: dot, body()), signature: signature)
    return !signature.isEmpty && proofs.holds(claim)
  }

  /// Whether the public keys of recovery words are valid.
  mutating func areRecoveryKeys(_ keys: ControlOperation.RecoveryKeys) -> Bool {
    let claim = ProofBook.Claim(
      domain: "HRTH/recovery-keys/v1", sign: keys.sign, box: keys.box, message: [], signature: [])
    return proofs.holds(claim)
  }
}
