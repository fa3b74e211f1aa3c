import HearthCRDT
import HearthCrypto
import HearthMembership

/// What an approver's device tells a newcomer: the group's zones with their keys, signed.
///
/// The signature shows who answered, and to which request; only the group's log shows whether that
/// device could let anybody in. Decision 0058 says why both are asked for.
package struct JoinAnswer: Sendable {
  /// The group's zones with their keys.
  package let capsule: InvitationCapsule
  /// The keys of the device that answered.
  package let card: DeviceCard
  /// The device that answered.
  package let signer: DeviceID
  /// The bytes of the capsule, which are what is signed.
  let body: [UInt8]
  let signature: [UInt8]

  /// The first byte of an answer: 1 was one that nobody signed.
  static let version: UInt8 = 2
  /// The domain of an approver's signature of its answer.
  static let domain: Domain = "HRTH/join-answer-sign/v1"
  /// The longest answer, in bytes.
  static let maximumBytes = 4 * 1024 * 1024

  /// Signs an answer to a request.
  init(
    by identity: DeviceIdentity, showing card: DeviceCard, saying capsule: InvitationCapsule,
    to request: JoinRequest
  ) {
    self.capsule = capsule
    self.card = card
    signer = Membership.cardID(of: card)
    body = capsule.encoded
    signature = identity.sign(
      domain: JoinAnswer.domain,
      JoinAnswer.signed(
        request.group, request.device,
        Membership.joinHash(of: request.admit.join, group: request.group), card, body))
  }

  /// The bytes inside the sealed box.
  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: body.count + 256)
    writer.byte(JoinAnswer.version)
    card.encode(into: &writer)
    writer.blob(body)
    writer.raw(signature)
    return writer.bytes
  }

  /// Reads and verifies an answer; the bytes come from whoever knows the newcomer's keys.
  ///
  /// - Parameters:
  ///   - device: the device that it must be for.
  ///   - hash: the request that it must answer.
  /// - Throws: `notAuthentic` where it is not signed by the device that it names, or answers
  ///   another request.
  init(
    decoding bytes: [UInt8], to device: DeviceID, of group: GroupID, asked hash: [UInt8]
  ) throws {
    var reader = ByteReader(bytes)
    guard try reader.byte("answer version") == JoinAnswer.version else {
      throw SyncError(
        .malformed, "this answer is of another version of this program: update both devices")
    }
    card = try DeviceCard(from: &reader)
    body = try reader.blob("answer", atMost: JoinAnswer.maximumBytes)
    signature = try reader.raw(Signature.count, "answer signature")
    try reader.finish()
    guard let signer = Membership.deviceID(of: card) else {
      throw SyncError(.notAuthentic, "the keys in the answer are no keys")
    }
    self.signer = signer
    var proofs = ProofBook()
    let signed = JoinAnswer.signed(group, device, hash, card, body)
    let claim = ProofBook.Claim(
      domain: JoinAnswer.domain, sign: card.signKey, box: [], message: signed,
      signature: signature)
    guard proofs.holds(claim) else {
      throw SyncError(
        .notAuthentic, "the answer is not signed by \(card.name), or answers another request")
    }
    capsule = try InvitationCapsule(decoding: body)
    guard capsule.group == group else {
      throw SyncError(.notAuthentic, "this answer is of another group")
    }
  }

  private static func signed(
    _ group: GroupID, _ device: DeviceID, _ hash: [UInt8], _ card: DeviceCard, _ body: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter(capacity: body.count + 256)
    writer.identifier(group)
    writer.identifier(device)
    writer.blob(hash)
    card.encode(into: &writer)
    writer.blob(body)
    return writer.bytes
  }
}

// An answer counts once the group's log shows that its signer let this device in.
extension Engine {
  /// The card by which the group knows this device.
  func ownCard(in group: GroupID) throws -> DeviceCard {
    guard let card = membership(of: group).device(device)?.card else {
      throw SyncError(.notAllowed, "this device does not belong to the group")
    }
    return card
  }

  /// Opens the answer to a request; the bytes come from a transport and are not trusted.
  ///
  /// - Parameter hash: the request that it must answer.
  /// - Throws: `notAuthentic` if it is not for this device, group or request, or not signed by the
  ///   device that it names; `malformed`.
  package func open(
    answer bytes: [UInt8], to capsule: InvitationCapsule, asked hash: [UInt8]
  ) throws -> JoinAnswer {
    guard bytes.count <= JoinAnswer.maximumBytes, let body = try? identity.openSealed(bytes) else {
      throw SyncError(.notAuthentic, "this answer is not for this device")
    }
    do {
      return try JoinAnswer(decoding: body, to: device, of: capsule.group, asked: hash)
    } catch let error as CodecError {
      throw SyncError(.malformed, "the answer is malformed: \(error)", cause: error)
    }
  }

  /// Takes an answer whose signer let this device in, as the group's log shows.
  ///
  /// All or nothing: at first only the members' log is taken, to be fetched with the keys of the
  /// answer. Where it does not hold the admission, nothing of the answer stays, nor of what was
  /// fetched by it.
  ///
  /// - Parameter fetch: fetches the members' log into the engine that it is given.
  /// - Throws: `unproven` if the log does not hold an admission of this device by the signer, who
  ///   could give it; what `fetch` throws.
  package mutating func accept(
    _ answer: JoinAnswer, fetching fetch: (inout Engine) throws -> Void
  ) throws {
    let group = answer.capsule.group
    var draft = self
    try store.transaction {
      draft = self
      try draft.take(.control, of: answer)
      try fetch(&draft)
      guard draft.membership(of: group).hasAdmitted(device, by: answer.signer) else {
        throw SyncError(
          .unproven,
          "\(answer.card.name) (\(answer.signer.hex.prefix(8))) answered, and the members' log "
            + "does not show that this device let you in and could: nothing of the answer was "
            + "taken; ask whoever is to let you in")
      }
      try draft.take(.data, of: answer)
      // The log names keys of these zones too.
      try draft.refreshMembership(of: group)
    }
    self = draft
  }

  private mutating func take(_ kind: ZoneKind, of answer: JoinAnswer) throws {
    let grants = answer.capsule.zones.filter { $0.kind == kind }
    guard kind != .control || grants.count == 1 else {
      throw SyncError(.malformed, "the answer names \(grants.count) members' logs instead of one")
    }
    do {
      try take(grants, of: answer.capsule.group, answer.capsule.database, with: identity.boxPair)
    } catch let error as CryptoError {
      throw SyncError(.notAuthentic, "a key in the answer is none: \(error)", cause: error)
    }
  }
}
