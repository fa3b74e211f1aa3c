import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// The status of the recovery bundle of a person on the transports.
package struct RecoveryBundleStatus: Sendable {
  /// Whether this device knows the location of the bundle, and so can look at it and renew it.
  package let isLocationKnown: Bool
  /// Its state on each transport that could be reached.
  package let transports: [(place: String, state: RecoveryCapsuleState)]

  /// What is wrong with a bundle, in words; nil where nothing is.
  package static func fault(of state: RecoveryCapsuleState) -> String? {
    switch state {
    case .whole, .unneeded: nil
    case .missing: "your recovery bundle is missing"
    case .damaged: "your recovery bundle is damaged"
    case .outdated: "your recovery bundle is not complete yet"
    }
  }
}

/// The recovery bundle of a person: who can renew it, and whether it is complete.
///
/// Decision 0046 says why every device of a person knows its location.
struct RecoveryBundles: NodeWork {
  let core: NodeCore

  private static let wordsFact = Fact(bytes: "recovery")
  private static let attestationFact = Fact(bytes: "recovery.private")
  /// The locations of the bundles of words that were replaced, until these bundles are removed.
  private static let formerFact = Fact(bytes: "recovery.former")
  private static let maximumFormer = 8
  private static let keyBytes = 32
  /// The record of the private database by which one device shares the location with another.
  ///
  /// Its id is the other device's. The greatest number that a type can have is kept for it.
  static let locationType = TypeID.record(16_383)
  static let locationField = FieldID(.register, 1)
  /// The domain in which words sign the location of their bundle.
  ///
  /// A device believes the location by this alone: a wrong one would make it renew a bundle that
  /// nobody ever looks for.
  static let locationDomain: Domain = "HRTH/recovery-place/v1"

  /// What a device keeps of the words, which opens nothing without them.
  ///
  /// Their public keys, and the location of the bundle with the key it is sealed under; the
  /// latter is itself sealed to the device.
  private struct KeptWords {
    let sign: [UInt8]
    let box: [UInt8]
    /// The words' signature over the location.
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
      proof = root.sign(domain: locationDomain, root.locator + person.bytes)
    }

    func encoded(for key: BoxPublicKey) throws -> [UInt8] {
      let secret = try access.secretBytes()
      return sign + box + proof
        + (try secret.withUnsafeBytes { try SealedBox.seal($0, to: key) })
    }
  }

  // MARK: Keeping

  /// Keeps what is needed to write the bundle without the words.
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
    try store.facts.set(
      RecoveryBundles.wordsFact, to: try words.encoded(for: engine.identity.publicKeys.boxKey))
    let attested = (signsPrivate ? privateDatabase.ownGroup() : nil).map {
      $0.bytes + root.sign(domain: RecoveryListing.privateDomain, $0.bytes + person.bytes)
    }
    try store.facts.set(RecoveryBundles.attestationFact, to: attested)
  }

  /// What the words signed of the private database in use; empty if they did not.
  private func attestation() throws -> [UInt8] {
    guard let group = engine.privateGroup,
      let bytes = try store.facts.value(of: RecoveryBundles.attestationFact),
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
    try store.facts.value(of: RecoveryBundles.wordsFact).map {
      try KeptWords($0, openedWith: engine.identity.boxPair)
    }
  }

  static func name(of access: RecoveryCapsuleAccess) throws -> BlobName {
    guard let locator = Identifier(bytes: access.locator) else {
      throw HearthError(.corrupt, "the locator of a recovery bundle has the wrong length")
    }
    return BlobName(kind: .capsule, scope: locator)
  }

  // MARK: With every round

  /// Gives the words' keys to groups that the person is in since, forgets words that were replaced
  /// elsewhere, and shares the location of the bundle with the person's other devices.
  func keepUp() throws {
    let groups = try recovery.ownGroups()
    guard let keys = groups.compactMap(\.keys).first else { return }
    if let words = try keptWords(), !groups.contains(where: { $0.keys?.box == words.box }) {
      try store.transaction { [store] in try store.facts.set(RecoveryBundles.wordsFact, to: nil) }
    }
    for group in groups where group.keys == nil {
      do {
        try RecoveryKeys.set(
          sign: keys.sign, box: keys.box, in: group.id, by: &engine, nowMilliseconds: now())
      } catch let error as SyncError where error.code == .notAllowed {
        // The others decide about the group; the round goes on, and the next one tries again.
        continue
      }
    }
    try takeLocation()
    _ = try shareLocation()
  }

  /// The private database's zone, where this device shares it with others of its person.
  private func sharedPrivateZone() throws -> ZoneState? {
    guard let group = privateDatabase.ownGroup(), try !pending.awaitsPrivateDatabase(),
      membership(of: group).devices.count > 1
    else { return nil }
    return engine.zones.first { $0.group == group && $0.kind == .data }
  }

  private func sharedLocation(with device: DeviceID, in zone: ZoneState) throws -> [UInt8]? {
    let key = RecordKey(type: RecoveryBundles.locationType, id: device)
    return try store.projections.source(of: zone.id).record(key)?.shown(
      RecoveryBundles.locationField)?.bytes
  }

  /// Takes the location of the bundle that another device of the person has shared with this one.
  ///
  /// It is believed only with the signature of the words that the log names.
  private func takeLocation() throws {
    guard try !store.facts.has(RecoveryBundles.wordsFact),
      let zone = try sharedPrivateZone(),
      let keys = try recovery.ownGroups().compactMap(\.keys).first,
      let bytes = try sharedLocation(with: device, in: zone),
      [KeptWords.byteCount, KeptWords.byteCount + Signature.count].contains(bytes.count)
    else { return }
    let kept = Array(bytes.prefix(KeptWords.byteCount))
    guard let words = try? KeptWords(kept, openedWith: engine.identity.boxPair),
      words.sign == keys.sign, words.box == keys.box,
      (try? Signature.verify(
        words.proof, domain: RecoveryBundles.locationDomain, words.access.locator + person.bytes,
        by: RecoveryPublicKeys(validating: keys.sign, box: keys.box).signingKey)) != nil
    else { return }
    let attestation = Array(bytes.dropFirst(KeptWords.byteCount))
    try store.transaction {
      try store.facts.set(RecoveryBundles.wordsFact, to: kept)
      try store.facts.set(
        RecoveryBundles.attestationFact,
        to: attestation.isEmpty ? nil : zone.group.bytes + attestation)
    }
  }

  /// Shares the location of the bundle with those devices of the person that lack it.
  ///
  /// Sealed to each: the private database's file alone must not show it. To this device as well,
  /// so that those with which it shared the location see that they need not share it back.
  ///
  /// - Returns: whether there were any.
  func shareLocation() throws -> Bool {
    guard let zone = try sharedPrivateZone(), let words = try keptWords() else { return false }
    let attestation = try attestation()
    var operations: [HearthCRDT.Operation] = []
    for other in membership(of: zone.group).devices {
      let present = try sharedLocation(with: other.id, in: zone)
      if let present, present.starts(with: words.sign + words.box) { continue }
      let key = RecordKey(type: RecoveryBundles.locationType, id: other.id)
      let value =
        try words.encoded(for: BoxPublicKey(validating: other.card.boxKey)) + attestation
      if present == nil { operations.append(HearthCRDT.Operation(key, .insert)) }
      operations.append(
        HearthCRDT.Operation(key, .assign(RecoveryBundles.locationField, .bytes(value))))
    }
    guard !operations.isEmpty else { return false }
    _ = try engine.write(operations, to: zone.id, nowMilliseconds: now())
    return true
  }

  /// Puts the person's bundle on a transport that lacks a good one, and notes what was repaired.
  ///
  /// - Parameter check: with `all` it is also noted that this device cannot look.
  func give(
    to transport: any Transport, checking check: FileCheck, _ round: inout TransportReport
  ) async throws {
    // What this round has brought may be what shows the location of the bundle.
    try takeLocation()
    guard let words = try keptWords() else {
      if check == .all, try recovery.state() == .set { round.note(RecoveryBundles.unknownLocation) }
      return
    }
    connections.setMailbox(
      of: try RecoveryBundles.name(of: words.access).scope,
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

  private static let unknownLocation = TransportProblem(
    place: "your recovery bundle",
    fault: "this device does not know where your recovery bundle is, and cannot check it",
    remedy: "run `hearth words check` here with your sheet; or `hearth sync` on a device that "
      + "knows the place, then here",
    hidesData: false)

  // MARK: Looking

  /// The state of the person's bundle on each transport; nil where there are no words.
  ///
  /// Changes nothing.
  func status() async throws -> RecoveryBundleStatus? {
    guard try recovery.state() == .set else { return nil }
    guard let words = try keptWords() else {
      return RecoveryBundleStatus(isLocationKnown: false, transports: [])
    }
    let owner = CapsuleOwner(
      person: person, name: profile.personName, box: try BoxPublicKey(validating: words.box),
      access: words.access, attestation: try attestation())
    return await RecoveryBundleStatus(
      isLocationKnown: true,
      transports: try onTransports(words.access, otherwise: .missing) { transport in
        try await replicas.recoveryCapsuleState(of: owner, on: transport)
      })
  }

  /// Checks, with the words, whether the bundles on the transports lead back to everything.
  ///
  /// From then on this device knows the location of the bundle, if it did not. Only the words show
  /// whether the keys in the bundle are good.
  ///
  /// - Returns: for each transport that could be reached, the fault in words; nil if there is none.
  func examine(
    with words: PersonWords
  ) async throws -> [(place: String, fault: String?)] {
    let root = try words.words.root()
    let name = try RecoveryBundles.name(of: root.capsuleAccess)
    if try keptWords() == nil {
      let led = try await onTransports(root.capsuleAccess, otherwise: false) { transport in
        let listing = (try? await transport.fetch(name)).flatMap { $0 }.flatMap {
          try? RecoveryListing(decoding: RecoveryCapsule.open($0, with: root.capsuleAccess))
        }
        return listing?.groups.contains {
          $0.id != engine.privateGroup && RecoveryBundles.isAttested($0, of: person, by: root)
        } ?? false
      }
      try keepAccess(of: root, signsPrivate: !led.contains { $0.1 })
    }
    let missing = "your recovery bundle is missing: `hearth sync` here writes it"
    return try await onTransports(root.capsuleAccess, otherwise: missing) { transport in
      let owner = CapsuleOwner(
        person: person, name: profile.personName, box: root.publicKeys.boxKey,
        access: root.capsuleAccess, attestation: try attestation())
      let state = try await replicas.recoveryCapsuleState(of: owner, on: transport)
      if let fault = RecoveryBundleStatus.fault(of: state) {
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

  /// Asks each transport that can be reached about the bundle.
  ///
  /// - Parameter absence: the answer of a relay that does not have the bundle's mailbox.
  private func onTransports<Answer>(
    _ access: RecoveryCapsuleAccess, otherwise absence: Answer,
    _ ask: (any Transport) async throws -> Answer
  ) async throws -> [(String, Answer)] {
    let scope = try RecoveryBundles.name(of: access).scope
    var answers: [(String, Answer)] = []
    for setting in try transports.list() {
      do {
        let transport = try connections.transport(setting.path)
        connections.setMailbox(
          of: scope, to: try .recovery(access, mayCreate: false), on: transport)
        answers.append((setting.path, try await ask(transport)))
      } catch let error as TransportError {
        if error.code == .relayRefused { answers.append((setting.path, absence)) }
      }
    }
    return answers
  }

  // MARK: Former words

  /// Keeps the location of the bundle of words that were replaced.
  func noteFormer(_ root: RecoveryRoot) throws {
    let kept = try KeptWords(root, of: person).encoded(for: engine.identity.publicKeys.boxKey)
    let known = try store.facts.value(of: RecoveryBundles.formerFact) ?? []
    let most = RecoveryBundles.maximumFormer * KeptWords.byteCount
    try store.facts.set(RecoveryBundles.formerFact, to: Array((known + kept).suffix(most)))
  }

  /// Removes the bundles of former words from each transport that took everything and holds the
  /// whole bundle of the present words.
  ///
  /// Before that, the former words may be the only ones that lead back.
  func removeFormer(after report: SyncReport) async throws {
    guard let bytes = try store.facts.value(of: RecoveryBundles.formerFact),
      let present = try keptWords(), let status = try await status()
    else { return }
    let whole = status.transports.filter { place, state in
      RecoveryBundleStatus.fault(of: state) == nil
        && report.transports.contains { $0.setting == place && $0.hasTakenAll }
    }.map(\.place)
    let isEverywhere = try Set(whole) == Set(transports.list().map(\.path))
    var left: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: KeptWords.byteCount) {
      let kept = Array(bytes[start...].prefix(KeptWords.byteCount))
      // What cannot be read leads nowhere, and who goes back to earlier words needs their bundle.
      guard let words = try? KeptWords(kept, openedWith: engine.identity.boxPair),
        words.access.locator != present.access.locator
      else { continue }
      let isGone = await remove(words.access, from: whole)
      if !isGone || !isEverywhere { left += kept }
    }
    guard left != bytes else { return }
    try store.transaction { [store] in
      try store.facts.set(RecoveryBundles.formerFact, to: left.isEmpty ? nil : left)
    }
  }

  /// Removes the bundle of former words from transports.
  ///
  /// - Returns: whether it is on none of them any more.
  private func remove(_ former: RecoveryCapsuleAccess, from places: [String]) async -> Bool {
    var isGone = true
    for place in places {
      do {
        let name = try RecoveryBundles.name(of: former)
        let transport = try connections.transport(place)
        connections.setMailbox(
          of: name.scope, to: try .recovery(former, mayCreate: false), on: transport)
        try await transport.remove(name)
      } catch let error as TransportError where error.code == .relayRefused {
        // A relay without the mailbox does not have the bundle either.
        continue
      } catch {
        isGone = false
      }
    }
    return isGone
  }
}
