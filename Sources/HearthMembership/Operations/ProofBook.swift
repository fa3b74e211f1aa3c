import HearthCRDT
import HearthCrypto

/// A cache of the signatures inside control operations, since one check takes 0.6 ms.
///
/// Validity depends only on bytes, so a result is permanent. It passes to the next fold, and by
/// ``encoded`` to the next start of the program.
package struct ProofBook: Sendable {
  /// A signed claim: the signer, the purpose, the message and the signature.
  package struct Claim {
    let domain: Domain
    let sign: [UInt8]
    /// The signer's second key, validated with the first; empty if there is none.
    let box: [UInt8]
    /// The signed message, computed on demand.
    let message: () -> [UInt8]
    let signature: [UInt8]

    package init(
      domain: Domain, sign: [UInt8], box: [UInt8], message: @autoclosure @escaping () -> [UInt8],
      signature: [UInt8]
    ) {
      self.domain = domain
      self.sign = sign
      self.box = box
      self.message = message
      self.signature = signature
    }

    var digest: Identifier {
      var hasher = Blake2b.Hasher(count: 16)
      hasher.update("HRTH/proof/v1" as Domain)
      for part in [domain.bytes, sign, box, message(), signature] { hasher.updateDelimited(part) }
      return Identifier(bytes: hasher.finalize()) ?? Identifier(high: 0, low: 0)
    }
  }

  private var verdicts: [Identifier: Bool] = [:]
  /// The valid keys of cards, by the id that they hash to, so that a device's keys are validated
  /// once instead of with every segment.
  private(set) var keys: [DeviceID: DevicePublicKeys] = [:]
  /// Whether every claim is accepted, for models of the rules that have no keys.
  let isTrusting: Bool

  package init(isTrusting: Bool = false) { self.isTrusting = isTrusting }

  /// Whether a claim holds.
  package mutating func holds(_ claim: @autoclosure () -> Claim) -> Bool {
    let claim = claim()
    if isTrusting { return ProofBook.isMeant(claim) }
    return holds(claim) { _ in ProofBook.verify(claim) }
  }

  /// Whether a claim holds, by the cached result or by the given check.
  private mutating func holds(_ claim: Claim, check: (inout ProofBook) -> Bool) -> Bool {
    if isTrusting { return true }
    let digest = claim.digest
    if let known = verdicts[digest] { return known }
    let verdict = check(&self)
    verdicts[digest] = verdict
    return verdict
  }

  /// Whether a claim holds in a model without keys: its signature is the key, or all ones.
  private static func isMeant(_ claim: Claim) -> Bool {
    claim.signature.allSatisfy { $0 == 1 } || claim.signature == claim.sign
  }

  private static func verify(_ claim: Claim) -> Bool {
    guard let key = try? SigningPublicKey(validating: claim.sign),
      claim.box.isEmpty || (try? BoxPublicKey(validating: claim.box)) != nil
    else { return false }
    if claim.signature.isEmpty { return true }
    return (try? Signature.verify(claim.signature, domain: claim.domain, claim.message(), by: key))
      != nil
  }
}

// MARK: - Storage

extension ProofBook {
  /// The most results that are stored; the others are checked again at the next start.
  ///
  /// The rules bound the claims that a fold checks. This bounds the stored bytes to about a
  /// megabyte in any case.
  package static let maximumStored = 65_536

  /// The number of results.
  package var count: Int { verdicts.count }

  /// The results as a fact of the store: a count, then the digest of a claim and whether it holds,
  /// strictly rising by digest.
  package var encoded: [UInt8] {
    let stored = verdicts.sorted { $0.key < $1.key }.prefix(ProofBook.maximumStored)
    var writer = ByteWriter(capacity: 8 + stored.count * 17)
    writer.varint(stored.count)
    for (digest, holds) in stored {
      writer.identifier(digest)
      writer.byte(holds ? 1 : 0)
    }
    return writer.bytes
  }

  /// Reads the output of ``encoded``.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    self.init()
    var reader = ByteReader(bytes)
    let count = try reader.varint("proofs", atMost: ProofBook.maximumStored)
    verdicts.reserveCapacity(count)
    for _ in 0..<count {
      let digest = try reader.identifier("digest of a proof")
      verdicts[digest] = try reader.flag("result of a proof")
    }
    try reader.finish()
  }
}

// MARK: - Claims

extension ProofBook {
  mutating func isCard(_ card: DeviceCard) -> Bool {
    holds(
      Claim(
        domain: "HRTH/device/v1", sign: card.signKey, box: card.boxKey, message: [], signature: [])
    ) { book in
      guard let keys = try? DevicePublicKeys(validating: card.signKey, box: card.boxKey),
        let id = Identifier(bytes: keys.deviceID)
      else { return false }
      book.keys[id] = keys
      return true
    }
  }

  /// Whether an invitation's holder made a request.
  package mutating func isProven(
    _ join: ControlOperation.Join, by invite: ControlOperation.InviteCreate, group: GroupID
  ) -> Bool {
    holds(
      Claim(
        domain: "HRTH/join/v1", sign: invite.signKey, box: invite.boxKey,
        message: ControlSignature.joinHash(of: join, group: group), signature: join.proof))
      && isCard(join.device)
  }
}
