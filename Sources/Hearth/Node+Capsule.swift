import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// How the capsule of the person's recovery words stands where this node reaches others.
package struct CapsuleStanding: Sendable {
  /// Whether this device knows the place of the capsule, and so can look at it and renew it.
  package let isPlaceKnown: Bool
  /// How it stands on each transport that could be reached.
  package let transports: [(place: String, state: RecoveryCapsuleState)]
}

// The capsule of the recovery words: who can renew it, and whether it is whole. Decision 0046 says
// why every device of a person knows its place.
extension Node {
  private static let recoveryFact = "recovery"
  private static let attestationFact = "recovery.private"
  private static let keyBytes = 32
  /// The record of the private database by which one device hands the place to another.
  ///
  /// Its id is the other device's. The greatest number that a type can have is kept for it.
  static let handedType = TypeID.record(16_383)
  static let handedField = FieldID(.register, 1)
  /// The domain in which words sign the place of their capsule.
  ///
  /// A device believes the place by this alone: a wrong one would make it renew a capsule that
  /// nobody ever looks for.
  static let placeDomain: Domain = "HRTH/recovery-place/v1"

  /// What a device keeps of the words, which opens nothing without them.
  ///
  /// Their public keys, and the place of the capsule with the key it is sealed under; the latter is
  /// itself sealed to the device.
  private struct KeptWords {
    let sign: [UInt8]
    let box: [UInt8]
    /// The words' signature over the place.
    let proof: [UInt8]
    let access: RecoveryCapsuleAccess

    static let byteCount = 2 * keyBytes + Signature.count + keyBytes + SealedBox.overheadBytes

    /// Reads what was kept or handed over.
    init(_ bytes: [UInt8], openedWith pair: BoxKeyPair) throws {
      guard bytes.count == KeptWords.byteCount else {
        throw HearthError(.corrupt, "what this node keeps of the recovery words is damaged")
      }
      sign = Array(bytes.prefix(keyBytes))
      box = Array(bytes.dropFirst(keyBytes).prefix(keyBytes))
      proof = Array(bytes.dropFirst(2 * keyBytes).prefix(Signature.count))
      let sealed = Array(bytes.dropFirst(2 * keyBytes + Signature.count))
      access = try RecoveryCapsuleAccess(secret: SealedBox.openKey(sealed, with: pair))
    }

    init(_ root: RecoveryRoot, of person: PersonID) {
      sign = root.publicKeys.sign
      box = root.publicKeys.box
      access = root.capsuleAccess
      proof = root.sign(domain: placeDomain, root.locator + person.bytes)
    }

    func encoded(for key: BoxPublicKey) throws -> [UInt8] {
      let secret = try access.secretBytes()
      return sign + box + proof
        + (try secret.withUnsafeBytes { try SealedBox.seal($0, to: key) })
    }
  }

  // MARK: Keeping

  /// Keeps what is needed to write the capsule without the words.
  ///
  /// - Parameter signsPrivate: whether the words lead to the private database of this node. Where
  ///   they lead to another one, they go on doing so: signing a second one as well would let the
  ///   next recovery choose that.
  func keepAccess(of root: RecoveryRoot, signsPrivate: Bool) throws {
    try store.transaction { try keep(root, signsPrivate: signsPrivate) }
  }

  /// Keeps what opens nothing, and the words' signature over the private database in use.
  func keep(_ root: RecoveryRoot, signsPrivate: Bool = true) throws {
    let words = KeptWords(root, of: person)
    try store.setFact(
      Node.recoveryFact, try words.encoded(for: engine.identity.publicKeys.boxKey))
    let attested = (signsPrivate ? core.privateDatabase.ownGroup() : nil).map {
      $0.bytes + root.sign(domain: RecoveryListing.privateDomain, $0.bytes + person.bytes)
    }
    try store.setFact(Node.attestationFact, attested)
  }

  /// What the words signed of the private database in use; empty if they did not.
  private func attestation() throws -> [UInt8] {
    guard let group = engine.privateGroup, let bytes = try store.fact(Node.attestationFact),
      bytes.starts(with: group.bytes)
    else { return [] }
    return Array(bytes.dropFirst(group.bytes.count))
  }

  /// Whether words signed a private database.
  static func isAttested(_ group: RecoveryListing.Group, of person: PersonID, by root: RecoveryRoot)
    -> Bool
  {
    let verdict: Void? = try? Signature.verify(
      group.attestation, domain: RecoveryListing.privateDomain, group.id.bytes + person.bytes,
      by: root.publicKeys.signingKey)
    return verdict != nil
  }

  private func keptWords() throws -> KeptWords? {
    try store.fact(Node.recoveryFact).map {
      try KeptWords($0, openedWith: engine.identity.boxPair)
    }
  }

  static func capsuleName(_ access: RecoveryCapsuleAccess) throws -> BlobName {
    guard let locator = Identifier(bytes: access.locator) else {
      throw HearthError(.corrupt, "the locator of a recovery bundle has the wrong length")
    }
    return BlobName(kind: .capsule, scope: locator)
  }

  // MARK: With every round

  /// Gives the words' keys to groups that the person is in since, forgets words that were replaced
  /// elsewhere, and hands the place of the capsule to the person's other devices.
  func keepRecovery() throws {
    let groups = try ownGroups()
    guard let keys = groups.compactMap(\.keys).first else { return }
    if let words = try keptWords(), !groups.contains(where: { $0.keys?.box == words.box }) {
      try store.transaction { [store] in try store.setFact(Node.recoveryFact, nil) }
    }
    for group in groups where group.keys == nil {
      do {
        try engine.setRecovery(
          sign: keys.sign, box: keys.box, in: group.id, nowMilliseconds: now())
      } catch let error as SyncError where error.code == .notAllowed {
        // The others decide about the group; the round goes on, and the next one tries again.
        continue
      }
    }
    try takePlace()
    _ = try handPlace()
  }

  /// The private database's zone, where this device shares it with others of its person.
  private func sharedPrivateZone() throws -> ZoneState? {
    guard let group = core.privateDatabase.ownGroup(), try !core.pending.awaitsPrivateDatabase(),
      membership(of: group).devices.count > 1
    else { return nil }
    return engine.zones.first { $0.group == group && $0.kind == .data }
  }

  private func handed(to device: DeviceID, in zone: ZoneState) throws -> [UInt8]? {
    let key = RecordKey(type: Node.handedType, id: device)
    return try store.source(of: zone.id).record(key)?.shown(Node.handedField)?.bytes
  }

  /// Takes the place of the capsule that another device of the person has handed to this one.
  ///
  /// It is believed only with the signature of the words that the log names.
  private func takePlace() throws {
    guard try store.fact(Node.recoveryFact) == nil, let zone = try sharedPrivateZone(),
      let keys = try ownGroups().compactMap(\.keys).first,
      let bytes = try handed(to: device, in: zone),
      [KeptWords.byteCount, KeptWords.byteCount + Signature.count].contains(bytes.count)
    else { return }
    let kept = Array(bytes.prefix(KeptWords.byteCount))
    guard let words = try? KeptWords(kept, openedWith: engine.identity.boxPair),
      words.sign == keys.sign, words.box == keys.box,
      (try? Signature.verify(
        words.proof, domain: Node.placeDomain, words.access.locator + person.bytes,
        by: RecoveryPublicKeys(validating: keys.sign, box: keys.box).signingKey)) != nil
    else { return }
    let attestation = Array(bytes.dropFirst(KeptWords.byteCount))
    try store.transaction {
      try store.setFact(Node.recoveryFact, kept)
      try store.setFact(
        Node.attestationFact, attestation.isEmpty ? nil : zone.group.bytes + attestation)
    }
  }

  /// Hands the place of the capsule to those devices of the person that lack it.
  ///
  /// Sealed to each: the private database's file alone must not tell it. To this device as well,
  /// so that those it has handed the place to see that they need not hand it back.
  ///
  /// - Returns: whether there were any.
  func handPlace() throws -> Bool {
    guard let zone = try sharedPrivateZone(), let words = try keptWords() else { return false }
    let attestation = try attestation()
    var operations: [HearthCRDT.Operation] = []
    for other in membership(of: zone.group).devices {
      let present = try handed(to: other.id, in: zone)
      if let present, present.starts(with: words.sign + words.box) { continue }
      let key = RecordKey(type: Node.handedType, id: other.id)
      let value =
        try words.encoded(for: BoxPublicKey(validating: other.card.boxKey)) + attestation
      if present == nil { operations.append(HearthCRDT.Operation(key, .insert)) }
      operations.append(HearthCRDT.Operation(key, .assign(Node.handedField, .bytes(value))))
    }
    guard !operations.isEmpty else { return false }
    _ = try engine.write(operations, to: zone.id, nowMilliseconds: now())
    return true
  }

  /// Puts the person's capsule on a transport that lacks a good one, and notes what was mended.
  ///
  /// - Parameter check: with `all` it is also noted that this device cannot look.
  func giveCapsule(
    to transport: any Transport, checking check: FileCheck, _ round: inout TransportReport
  ) async throws {
    // What this round has brought may be what tells where the capsule lies.
    try takePlace()
    guard let words = try keptWords() else {
      if check == .all, try wordsState() == .set { round.note(Node.unknownPlace) }
      return
    }
    core.connections.setMailbox(
      of: try Node.capsuleName(words.access).scope,
      to: try .recovery(words.access, mayCreate: true), on: transport)
    let owner = CapsuleOwner(
      person: person, name: profile.personName, box: try BoxPublicKey(validating: words.box),
      access: words.access, attestation: try attestation())
    let before = try await replicas.giveRecoveryCapsule(of: owner, to: transport)
    switch before {
    case .damaged: round.mended("your recovery bundle, which was damaged")
    case .missing where check == .all:
      round.mended("your recovery bundle, which was missing")
    default: break
    }
  }

  private static let unknownPlace = TransportProblem(
    place: "your recovery bundle",
    fault: "this device does not know where your recovery bundle is, and cannot check it",
    remedy: "run `hearth words check` here with your sheet; or `hearth sync` on a device that "
      + "knows the place, then here",
    hidesData: false)

  // MARK: Looking

  /// How the capsule of the person's words stands on each transport; nil where there are no words.
  ///
  /// Changes nothing.
  package func capsuleStanding() async throws -> CapsuleStanding? {
    try await alone {
      guard try wordsState() == .set else { return nil }
      guard let words = try keptWords() else {
        return CapsuleStanding(isPlaceKnown: false, transports: [])
      }
      let owner = CapsuleOwner(
        person: person, name: profile.personName, box: try BoxPublicKey(validating: words.box),
        access: words.access, attestation: try attestation())
      return await CapsuleStanding(
        isPlaceKnown: true,
        transports: try onTransports(words.access, otherwise: .missing) { transport in
          try await self.replicas.recoveryCapsuleState(of: owner, on: transport)
        })
    }
  }

  /// Looks, with the words, whether what lies on the transports leads back to everything.
  ///
  /// From then on this device knows the place of the capsule, if it did not. Only the words tell
  /// whether the keys in the capsule are good.
  ///
  /// - Returns: of each transport that could be reached what is wrong, in words; nil if nothing.
  package func examineCapsules(
    with words: PersonWords
  ) async throws -> [(place: String, fault: String?)] {
    try await alone {
      let root = try words.words.root()
      let name = try Node.capsuleName(root.capsuleAccess)
      if try keptWords() == nil {
        let led = try await onTransports(root.capsuleAccess, otherwise: false) { transport in
          let listing = (try? await transport.fetch(name)).flatMap { $0 }.flatMap {
            try? RecoveryListing(decoding: RecoveryCapsule.open($0, with: root.capsuleAccess))
          }
          return listing?.groups.contains {
            $0.id != engine.privateGroup && Node.isAttested($0, of: person, by: root)
          } ?? false
        }
        try keepAccess(of: root, signsPrivate: !led.contains { $0.1 })
      }
      let missing = "your recovery bundle is missing: `hearth sync` here writes it"
      return try await onTransports(root.capsuleAccess, otherwise: missing) { transport in
        let owner = CapsuleOwner(
          person: person, name: profile.personName, box: root.publicKeys.boxKey,
          access: root.capsuleAccess, attestation: try attestation())
        let state = try await self.replicas.recoveryCapsuleState(of: owner, on: transport)
        if let fault = Node.fault(of: state) {
          return fault + ": `hearth sync` here writes it again"
        }
        let listing = try await transport.fetch(name).map {
          try RecoveryListing(decoding: RecoveryCapsule.open($0, with: root.capsuleAccess))
        }
        return listing?.fault(with: root).map {
          $0 + ", so somebody who knows its place forged it: `hearth words rotate` makes new words "
            + "and a new bundle"
        }
      }
    }
  }

  /// Asks each transport that can be reached about the capsule.
  ///
  /// - Parameter absence: the answer of a relay that does not have the capsule's mailbox.
  private func onTransports<Answer>(
    _ access: RecoveryCapsuleAccess, otherwise absence: Answer,
    _ ask: (any Transport) async throws -> Answer
  ) async throws -> [(String, Answer)] {
    let scope = try Node.capsuleName(access).scope
    var answers: [(String, Answer)] = []
    for setting in try core.transports.list() {
      do {
        let transport = try core.connections.transport(setting.path)
        core.connections.setMailbox(
          of: scope, to: try .recovery(access, mayCreate: false), on: transport)
        answers.append((setting.path, try await ask(transport)))
      } catch let error as TransportError {
        if error.code == .relayRefused { answers.append((setting.path, absence)) }
      }
    }
    return answers
  }

  /// What is wrong with a capsule, in words; nil where nothing is.
  package static func fault(of state: RecoveryCapsuleState) -> String? {
    switch state {
    case .whole, .unneeded: nil
    case .missing: "your recovery bundle is missing"
    case .damaged: "your recovery bundle is damaged"
    case .outdated: "your recovery bundle is not complete yet"
    }
  }
}
