import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Greeting, challenge, proof and creation: everything before a mailbox is open.
extension RelayCore {
  mutating func greet(_ id: RelaySessionID, _ request: UInt32, _ least: Int, _ most: Int) {
    guard sessions[id]?.isGreeted == false else {
      fail(id, request, RelayFault(.wrongState, "the session has already begun"))
      return
    }
    guard (least...most).contains(RelayLimits.version) else {
      end(
        id,
        RelayFault(
          .unsupportedVersion, "this relay speaks version \(RelayLimits.version): update one side"))
      return
    }
    sessions[id]?.isGreeted = true
    send(
      id, request,
      .welcome(
        RelayWelcome(
          version: RelayLimits.version, relayID: identity.relayID,
          registration: configuration.registration,
          heartbeatSeconds: configuration.heartbeatSeconds)))
  }

  mutating func challenge(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int,
    _ channel: Int, _ mailbox: Identifier
  ) {
    guard sessions[id]?.channels[channel] == nil else {
      fail(id, frame.request, RelayFault(.wrongState, "the channel is in use"))
      return
    }
    sessions[id]?.channels[channel] = .asking(mailbox)
    let ticket = ask(id, frame, byteCount, mailbox, .challenge)
    let read = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil))
    effects.append(.read(ticket: ticket, RelayReadBox(read: read)))
  }

  mutating func challenged(_ ticket: RelayTicket, _ mailbox: RelayMailbox?) {
    guard case .asking(let name)? = sessions[ticket.session]?.channels[ticket.channel] else {
      return
    }
    // Both ids are computed, whichever is sent, so that both cases take equally long.
    let decoy = RelayAccess.decoyKeyID(mailbox: name.bytes, secret: identity.decoySecret)
    let real = RelayAccess.keyID(of: mailbox?.accessKey ?? identity.decoyKey)
    let nonce = Bytes32(exactly: chance(RelayAccess.nonceBytes))
    sessions[ticket.session]?.channels[ticket.channel] = .challenged(name, nonce: nonce)
    send(
      ticket.session, ticket.request,
      .challenge(keyID: mailbox == nil ? decoy : real, nonce: nonce))
  }

  /// Takes a channel's challenge, which can be used only once.
  private mutating func takeChallenge(
    _ id: RelaySessionID, _ request: UInt32, _ channel: Int
  ) -> (mailbox: Identifier, nonce: Bytes32)? {
    guard case .challenged(let mailbox, let nonce)? = sessions[id]?.channels[channel] else {
      fail(id, request, RelayFault(.wrongState, "the channel has no challenge to answer"))
      return nil
    }
    sessions[id]?.channels[channel] = nil
    let wait = attemptWait(id)
    guard wait == 0 else {
      fail(
        id, request,
        RelayFault(.rateLimited, "too many attempts", retryAfterMilliseconds: wait))
      return nil
    }
    return (mailbox, nonce)
  }

  mutating func prove(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int, _ proof: RelayProof
  ) {
    guard let (mailbox, nonce) = takeChallenge(id, frame.request, proof.channel) else { return }
    sessions[id]?.channels[proof.channel] = .proving(mailbox)
    let ticket = ask(id, frame, byteCount, mailbox, .prove(proof, nonce: nonce))
    let read = RelayRead(
      mailbox: mailbox, authority: nil, question: .find(chainAt: proof.cursor?.position))
    effects.append(.read(ticket: ticket, RelayReadBox(read: read)))
  }

  mutating func proved(
    _ ticket: RelayTicket, _ proof: RelayProof, _ nonce: Bytes32, _ mailbox: RelayMailbox?,
    _ chain: Bytes32?
  ) {
    let id = ticket.session
    guard case .proving? = sessions[id]?.channels[proof.channel] else { return }
    sessions[id]?.channels[proof.channel] = nil
    let found = mailbox.flatMap { key(proof.keyID, of: $0) }
    let isAuthor = isProof(of: proof.author, ticket.mailbox, proof.clientNonce, nonce)
    let binding = RelayAccess.Binding(
      relayID: identity.relayID, pin: identity.pin, relayNonce: nonce,
      clientNonce: proof.clientNonce)
    // Without a key, the proof is checked against a decoy, so that a refusal takes equally long.
    let isProven = isProof(
      proof.signature, of: found?.key ?? identity.decoyKey, ticket.mailbox, binding)
    guard isProven, isAuthor, let mailbox, let found else {
      refuse(id, ticket.request)
      return
    }
    let author = proof.author?.key ?? found.own
    guard mailbox.rank(of: author) != .struck else {
      counters.refusals += 1
      countAttempt(id)
      fail(id, ticket.request, RelayCore.struckOff)
      return
    }
    let standing: RelayCursorStanding
    if let cursor = proof.cursor {
      standing =
        cursor.generation != mailbox.head.generation
        ? .otherGeneration : chain.map { .known($0) } ?? .beyondHead
    } else {
      standing = .none
    }
    enter(ticket, mailbox, found.authority, author, standing)
  }

  /// Sends the single refusal that unknown and forbidden mailboxes share.
  mutating func refuse(_ id: RelaySessionID, _ request: UInt32) {
    counters.refusals += 1
    countAttempt(id)
    fail(id, request, .refused)
  }

  static let struckOff = RelayFault(
    .struckOff, "a manager of the mailbox has removed this device from its list")

  /// Returns the key with an id, the authority that it gives, and the same key if it is a device's
  /// own.
  ///
  /// A removed key is accepted as a proof all the same, so that its holder is notified of the
  /// removal.
  private func key(_ keyID: Bytes16, of mailbox: RelayMailbox)
    -> (key: [UInt8], authority: RelayAuthority, own: [UInt8])?
  {
    if RelayAccess.keyID(of: mailbox.accessKey) == keyID {
      return (mailbox.accessKey, .access(generation: mailbox.accessGeneration), [])
    }
    let seats = mailbox.roster.seats + (mailbox.parentRoster?.seats ?? [])
    guard let key = seats.first(where: { RelayAccess.keyID(of: $0.seat.key) == keyID })?.seat.key
    else { return nil }
    switch mailbox.rank(of: key) {
    case .manager: return (key, .manager(key), key)
    case .author, .struck: return (key, .author(key), key)
    case .guest: return nil
    }
  }

  private func isProof(
    of author: RelayAuthorProof?, _ mailbox: Identifier, _ clientNonce: Bytes32, _ nonce: Bytes32
  ) -> Bool {
    guard let author else { return true }
    let binding = RelayAccess.Binding(
      relayID: identity.relayID, pin: identity.pin, relayNonce: nonce, clientNonce: clientNonce)
    guard let key = try? SigningPublicKey(validating: author.key) else { return false }
    return
      (try? RelayAccess.verifyAuthor(
        author.signature, mailbox: mailbox.bytes, binding: binding, key: key)) != nil
  }

  private func isProof(
    _ signature: [UInt8], of key: [UInt8], _ mailbox: Identifier, _ binding: RelayAccess.Binding
  ) -> Bool {
    guard let key = try? SigningPublicKey(validating: key) else { return false }
    return
      (try? RelayAccess.verify(signature, mailbox: mailbox.bytes, binding: binding, key: key))
      != nil
  }

  mutating func create(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int,
    _ creation: RelayCreation
  ) {
    guard let (mailbox, nonce) = takeChallenge(id, frame.request, creation.channel) else { return }
    guard creation.kind == .sealed || creation.kind == .catalogue else {
      fail(id, frame.request, RelayFault(.unsupported, "this relay has no mailboxes of that kind"))
      return
    }
    guard isOwnName(mailbox, creation) else {
      refuse(id, frame.request)
      return
    }
    let binding = RelayAccess.Binding(
      relayID: identity.relayID, pin: identity.pin, relayNonce: nonce,
      clientNonce: creation.clientNonce)
    let signatures = [
      (creation.accessSignature, creation.accessKey),
      (creation.managerSignature, creation.managerKey),
    ]
    let areGood = signatures.allSatisfy { signature, key in
      guard let key = try? SigningPublicKey(validating: key) else { return false }
      return
        (try? RelayAccess.verifyCreation(
          signature, creation.signed, mailbox: mailbox.bytes, binding: binding, key: key)) != nil
    }
    guard areGood else {
      refuse(id, frame.request)
      return
    }
    let right: RelayRegistrationRight =
      switch configuration.registration {
      case .open: .open
      case .token: .token(digest: RelayToken.digest(of: creation.credential))
      case .allowList: .listed
      }
    let adoption =
      creation.kind == .sealed ? creation.parent.flatMap { adoptionRight(id, $0) } : nil
    sessions[id]?.channels[creation.channel] = .proving(mailbox)
    let generation = Identifier(bytes: chance(Identifier.byteCount)) ?? .zero
    let ticket = ask(
      id, frame, byteCount, mailbox, .create(managerKey: creation.managerKey))
    write(
      ticket, mailbox, nil, [],
      .create(
        kind: creation.kind, generation: generation, accessKey: creation.accessKey,
        managerKey: creation.managerKey, right: right, adoption: adoption))
  }

  /// Returns the session's right to create children of a mailbox that it has open as a member.
  ///
  /// Returns nil if it has not, whether such a mailbox exists or not.
  private func adoptionRight(
    _ id: RelaySessionID, _ parent: RelayParent
  ) -> RelayAdoption? {
    let channels = sessions[id]?.channels.sorted { $0.key < $1.key } ?? []
    for (_, channel) in channels {
      guard let open = channel.open, open.mailbox == parent.mailbox else { continue }
      switch open.authority {
      case .access, .manager, .author:
        return RelayAdoption(parent, by: open.authority, author: open.author)
      case .reader: continue
      }
    }
    return nil
  }

  /// Whether the creator may use the mailbox's name.
  ///
  /// A catalogue's name derives from the publisher's key, so that nobody takes another's.
  private func isOwnName(_ mailbox: Identifier, _ creation: RelayCreation) -> Bool {
    creation.kind != .catalogue
      || mailbox
        == CatalogueReference.id(publisher: creation.managerKey, name: creation.catalogueName)
  }

  /// Opens a channel after its right was proven.
  mutating func enter(
    _ ticket: RelayTicket, _ mailbox: RelayMailbox, _ authority: RelayAuthority,
    _ author: [UInt8], _ standing: RelayCursorStanding
  ) {
    let id = ticket.session
    guard sessions[id] != nil else { return }
    if let old = rooms[mailbox.name], old.generation != mailbox.head.generation {
      cut(mailbox.name, sparing: nil) { _ in true }
    }
    var room =
      rooms[mailbox.name]
      ?? RelayRoom(
        generation: mailbox.head.generation,
        appends: RelayBucket(perMinute: configuration.mailboxAppendsPerMinute, now: now))
    guard room.members.count < configuration.maximumMembers else {
      counters.limited += 1
      fail(
        id, ticket.request,
        RelayFault(
          .tooMany, "too many sessions have this mailbox open", retryAfterMilliseconds: 60_000))
      return
    }
    room.members.append(RelayPushTarget(session: id, channel: ticket.channel))
    rooms[mailbox.name] = room
    var open = RelayChannel.Open(mailbox: mailbox.name, authority: authority, author: author)
    if mailbox.kind == .catalogue {
      open.publisher = mailbox.managers.first.flatMap { try? SigningPublicKey(validating: $0) }
    }
    sessions[id]?.channels[ticket.channel] = .open(open)
    if sessions[id]?.isTrusted == false, authority != .reader {
      sessions[id]?.isTrusted = true
      strangers.remove(id)
      readers.remove(id)
      effects.append(.trust(id))
    }
    send(
      id, ticket.request,
      .opened(
        RelayOpened(
          head: mailbox.head, chain: mailbox.chain, standing: standing,
          accessGeneration: mailbox.accessGeneration, rank: mailbox.rank(of: author),
          roster: mailbox.roster.digest, usedBytes: mailbox.usedBytes,
          quotaBytes: configuration.quota.bytes(of: mailbox))))
  }

  mutating func leave(_ mailbox: Identifier, _ id: RelaySessionID, channel: Int) {
    rooms[mailbox]?.members.removeAll { $0.session == id && $0.channel == channel }
    if rooms[mailbox]?.members.isEmpty == true { rooms[mailbox] = nil }
  }

  mutating func write(
    _ ticket: UInt64, _ mailbox: Identifier, _ authority: RelayAuthority?,
    _ author: [UInt8] = [], _ action: RelayWrite.Action
  ) {
    let write = RelayWrite(
      mailbox: mailbox, authority: authority, author: author, action: action,
      quota: configuration.quota, day: day)
    effects.append(.write(ticket: ticket, RelayWriteBox(write: write)))
  }
}

/// Registration tokens: 16 random bytes that the operator distributes.
///
/// The log stores digests.
package enum RelayToken {
  /// The length of a token.
  package static let byteCount = 16

  /// BLAKE2b-256("HRTH/relay-token/v1" ‖ token).
  package static func digest(of token: [UInt8]) -> Bytes32 {
    Bytes32(exactly: Blake2b.hash(("HRTH/relay-token/v1" as Domain).bytes + token))
  }
}
