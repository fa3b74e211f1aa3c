import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// Deeds in the control zone, which every device reads first and whole.
extension HostileMember {
  /// Very many reports of how far this device is, of which an honest one sends one a day.
  ///
  /// - Parameter authors: how many authors each report names, who do not exist.
  package mutating func heartbeats(
    _ number: Int, _ measure: Measure, naming authors: Int
  ) throws -> [HostileFile] {
    let frontier = Frontier(
      (0..<authors).map {
        (Author(device: Identifier(high: 1, low: UInt64($0)), incarnation: 1 << 32), UInt64(1))
      })
    let report = ControlOperation.heartbeat(
      authors == 0 ? [] : [ControlOperation.ZoneFrontier(zone: zone, frontier: frontier)])
    return try controlBomb(number, measure) { _, _ in report }
  }

  /// Logs of devices for which nothing vouches: each begins with a joining with a made-up proof.
  ///
  /// - Parameter invites: the invitations that they name; each one that there never was if empty.
  package mutating func strangers(
    _ number: Int, naming invites: [Identifier]
  ) throws -> [HostileFile] {
    var found: [HostileFile] = []
    for _ in 0..<number {
      let (stranger, card) = try newDevice()
      var log = try self.log(of: stranger)
      let join = ControlOperation.Join(
        invite: invites.isEmpty ? identifier() : dice.pick(invites), person: identifier(),
        personName: "Nobody", device: card, proof: dice.bytes(64))
      let first = log.change([.join(join)], nowMilliseconds: nowMilliseconds)
      found.append(try log.seal([first]))
    }
    return found
  }

  /// Logs of further devices of the member's own person, let in by recovery words that it gives
  /// itself.
  package mutating func devicesByWords(_ number: Int) throws -> [HostileFile] {
    let root = try newWords()
    var found = [try sealControl([controlChange([.setRecovery(HostileMember.keys(of: root))])])]
    for _ in 0..<number {
      let (device, card) = try newDevice()
      var log = try self.log(of: device)
      log.learn(herald.head)
      var recover = ControlOperation.Recover(
        person: person, device: card, revokesOthers: false, cut: Cut(entries: []), signature: [])
      recover.signature = root.sign(
        domain: ControlSignature.recoverDomain,
        ControlSignature.signedBytes(group: group, dot: log.nextDot, recover.signedBody))
      let first = log.change([.recover(recover)], nowMilliseconds: nowMilliseconds)
      found.append(try log.seal([first]))
    }
    return found
  }

  /// Logs of devices that claim to come by recovery words of the member, who replaced them very
  /// often; no signature holds.
  ///
  /// - Parameter replaced: how often the words were replaced.
  package mutating func devicesByForgedWords(
    _ number: Int, replaced: Int
  ) throws -> [HostileFile] {
    var root = try newWords()
    var changes = [controlChange([.setRecovery(HostileMember.keys(of: root))])]
    for _ in 0..<replaced {
      let next = try newWords()
      let keys = HostileMember.keys(of: next)
      let signature = root.sign(
        domain: ControlSignature.rotationDomain,
        ControlSignature.signedBytes(group: group, dot: herald.nextDot, keys.encoded))
      let consent = ControlOperation.Consent.recovery(signature: signature)
      changes.append(controlChange([.rotateRecovery(keys: keys, consent: consent)]))
      root = next
    }
    var found = [try sealControl(changes)]
    for _ in 0..<number {
      let (device, card) = try newDevice()
      var log = try self.log(of: device)
      log.learn(herald.head)
      let recover = ControlOperation.Recover(
        person: person, device: card, revokesOthers: false, cut: Cut(entries: []),
        signature: dice.bytes(64))
      found.append(
        try log.seal([log.change([.recover(recover)], nowMilliseconds: nowMilliseconds)]))
    }
    return found
  }

  private mutating func newWords() throws -> RecoveryRoot {
    var entropy = dice.bytes(RecoveryWords.entropyBytes)
    return try RecoveryRoot(entropy: SecretBytes(consuming: &entropy))
  }

  private static func keys(of root: RecoveryRoot) -> ControlOperation.RecoveryKeys {
    ControlOperation.RecoveryKeys(
      sign: root.publicKeys.sign, box: root.publicKeys.box, secrets: [])
  }

  /// So many operations in this life's log of the control zone, cut into changes and files.
  mutating func controlBomb(
    _ number: Int, _ measure: Measure, _ operation: (HostileMember, Int) -> ControlOperation
  ) throws -> [HostileFile] {
    try packed(
      number, measure, { member, place, _ in operation(member, place) },
      into: { $0.controlChange($1) }, sealedBy: { try $0.sealControl($1) })
  }

  /// The keys of a device that nobody knows, and how it introduces itself.
  mutating func newDevice() throws -> (device: DeviceIdentity, card: DeviceCard) {
    var seed = dice.bytes(SecretKey.count)
    let device = try DeviceIdentity(master: SecretKey(consuming: &seed))
    let card = DeviceCard(
      signKey: device.publicKeys.sign, boxKey: device.publicKeys.box, name: "nowhere")
    return (device, card)
  }

  /// The log of a device that has written nothing yet.
  func log(of device: DeviceIdentity) throws -> Herald {
    guard let id = Identifier(bytes: device.publicKeys.deviceID) else {
      throw HostileError("a device's id has the wrong length")
    }
    let head = LogHead(author: Author(device: id, incarnation: 1 << 32))
    return Herald(controlPen, as: device, from: head, knowing: controlHeads)
  }
}
