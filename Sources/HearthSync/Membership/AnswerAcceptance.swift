import HearthCRDT
import HearthCrypto
import HearthMembership

/// An approver's signed answer to a newcomer: the group's zones with their keys.
///
/// The signature proves who answered, and which request. Only the group's log proves that the
/// approver was entitled to admit the newcomer. Decision 0058 explains why both proofs are
/// required.
package struct JoinAnswer: Sendable {
  /// The group's zones with their keys.
  package let capsule: InvitationCapsule
  /// The keys of the approver's device.
  package let card: DeviceCard
  /// The approver's device.
  package let signer: DeviceID
  /// The bytes of the invitation bundle, which are signed.
  let body: [UInt8]
  let signature: [UInt8]

  /// The first byte of an answer; version 1 was unsigned.
  static let version: UInt8 = 2
  /// The domain of an approver's signature of an answer.
  static let domain: Domain = "HRTH/join-answer-sign/v1"
  /// The longest answer, in bytes.
  static let maximumBytes = 4 * 1024 * 1024

  init(
    by identity: DeviceIdentity, showing card: DeviceCard, saying capsule: InvitationCapsule,
    to request: JoinRequest
  ) {
    self.capsule = capsule
    self.card = card
    signer = ControlIdentity.cardID(of: card)
    body = capsule.encoded
    signature = identity.sign(
      domain: JoinAnswer.domain,
      JoinAnswer.signed(
        request.group, request.device,
        ControlSignature.joinHash(of: request.admit.join, group: request.group), card, body))
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

  /// Reads and verifies an answer; anyone who knows the newcomer's keys may have sent the bytes.
  ///
  /// - Parameters:
  ///   - device: The device that the answer must be for.
  ///   - hash: The request that the answer must answer.
  /// - Throws: `notAuthentic` if the named device did not sign the answer, or if it answers another
  ///   request.
  init(
    decoding bytes: [UInt8], to device: DeviceID, of group: GroupID, asked hash: [UInt8]
  ) throws {
    var reader = ByteReader(bytes)
    guard try reader.byte("answer version") == JoinAnswer.version else {
      throw SyncError(
        .malformed, "another version of this program made this answer: update both devices")
    }
    card = try DeviceCard(from: &reader)
    body = try reader.blob("answer", atMost: JoinAnswer.maximumBytes)
    signature = try reader.raw(Signature.count, "answer signature")
    try reader.finish()
    guard let signer = ControlIdentity.deviceID(of: card) else {
      throw SyncError(.notAuthentic, "the answer contains invalid keys")
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
      throw SyncError(.notAuthentic, "this answer belongs to another group")
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

/// Acceptance of an approver's answer.
///
/// An answer counts once the group's log proves that its signer admitted this device.
package enum AnswerAcceptance {
  /// Opens the answer to a request; the bytes come from a transport and are not trusted.
  ///
  /// - Parameter hash: The request that the answer must answer.
  /// - Throws: `notAuthentic` if the answer is not for this device, group or request, or not signed
  ///   by the device that it names; `malformed`.
  package static func open(
    answer bytes: [UInt8], to capsule: InvitationCapsule, asked hash: [UInt8],
    in engine: Engine<some Store>
  ) throws -> JoinAnswer {
    guard bytes.count <= JoinAnswer.maximumBytes, let body = try? engine.identity.openSealed(bytes)
    else {
      throw SyncError(.notAuthentic, "this answer is not for this device")
    }
    do {
      return try JoinAnswer(decoding: body, to: engine.device, of: capsule.group, asked: hash)
    } catch let error as CodecError {
      throw SyncError(.malformed, "the answer is malformed: \(error)", cause: error)
    }
  }

  /// Accepts an answer if the group's log proves that its signer admitted this device.
  ///
  /// The call is atomic. At first it adds only the control zone, so that its log can be fetched
  /// with the keys of the answer. If the log lacks the admission, the engine discards the answer
  /// and everything fetched with it.
  ///
  /// - Parameter fetch: Fetches the control log into the given engine.
  /// - Throws: `unproven` if the log lacks an admission of this device by the signer, entitled to
  ///   it; `otherApplication` by the group's founding; errors of `fetch`.
  package static func accept<S: Store>(
    _ answer: JoinAnswer, in engine: inout Engine<S>,
    fetching fetch: (inout Engine<S>) throws -> Void
  ) throws {
    let group = answer.capsule.group
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try take(.control, of: answer, in: &draft)
      try fetch(&draft)
      guard draft.membership(of: group).entries.hasAdmitted(engine.device, by: answer.signer) else {
        throw SyncError(
          .unproven,
          "\(answer.card.name) (\(answer.signer.hex.prefix(8))) answered, but the members' log "
            + "does not show that this device let you in and could: the answer was discarded; "
            + "ask the person who is to let you in")
      }
      try ApplicationCheck.requireOwnFounding(of: group, in: draft)
      try take(.data, of: answer, in: &draft)
      // The log also names keys of the data zones.
      try MembershipRefresh.refresh(of: group, in: &draft)
    }
    engine = draft
  }

  /// Takes of an answer what opens the members' log, and believes nothing of it yet.
  package static func takeControl(of answer: JoinAnswer, in engine: inout Engine<some Store>) throws
  {
    try take(.control, of: answer, in: &engine)
  }

  private static func take(
    _ kind: ZoneKind, of answer: JoinAnswer, in engine: inout Engine<some Store>
  ) throws {
    let grants = answer.capsule.zones.filter { $0.kind == kind }
    guard kind != .control || grants.count == 1 else {
      throw SyncError(.malformed, "the answer names \(grants.count) members' logs instead of one")
    }
    do {
      try ReceivedGrants.take(
        grants, of: answer.capsule.group, answer.capsule.database, with: engine.identity.boxPair,
        knowing: answer.capsule.controlFrontier, in: &engine)
    } catch let error as CryptoError {
      throw SyncError(.notAuthentic, "the answer contains an invalid key: \(error)", cause: error)
    }
  }
}
