import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// Opens mailboxes to sessions: greeting, challenge, proof and creation.
struct RelayAdmission {
  private let relayID: Bytes32
  private let proofs: RelayProofChecker
  private let random: @Sendable (Int) -> [UInt8]

  init(_ identity: RelayIdentity, random: @escaping @Sendable (Int) -> [UInt8]) {
    relayID = identity.relayID
    proofs = RelayProofChecker(identity)
    self.random = random
  }

  /// Begins a session, if both sides speak the same version.
  func greet(_ call: RelayCall, _ least: Int, _ most: Int, in state: inout RelayState) {
    let id = call.session
    guard state.sessions[id]?.isGreeted == false else {
      state.fail(id, call.request, RelayFault(.wrongState, "the session has already begun"))
      return
    }
    guard (least...most).contains(RelayLimits.version) else {
      state.end(
        id,
        RelayFault(
          .unsupportedVersion, "this relay speaks version \(RelayLimits.version): update one side"))
      return
    }
    state.sessions[id]?.isGreeted = true
    state.send(
      id, call.request,
      .welcome(
        RelayWelcome(
          version: RelayLimits.version, relayID: relayID,
          registration: state.configuration.registration,
          heartbeatSeconds: state.configuration.heartbeatSeconds)))
  }

  // MARK: Challenge

  /// Looks up the key of a mailbox that a session wants to open or create.
  func challenge(
    _ call: RelayCall, _ channel: Int, _ mailbox: Identifier, in state: inout RelayState
  ) {
    guard state.sessions[call.session]?.channels[channel] == nil else {
      state.fail(call.session, call.request, RelayFault(.wrongState, "the channel is in use"))
      return
    }
    state.sessions[call.session]?.channels[channel] = .asking(mailbox)
    state.read(call, mailbox, nil, .find(chainAt: nil), for: .challenge)
  }

  /// Sends the challenge.
  func challenged(_ ticket: RelayTicket, _ mailbox: RelayMailbox?, in state: inout RelayState) {
    guard
      case .asking(let name)? = state.sessions[ticket.session]?.channels[ticket.channel]
    else { return }
    let keyID = proofs.challengedKeyID(of: mailbox, named: name)
    let nonce = Bytes32(exactly: random(RelayAccess.nonceBytes))
    state.sessions[ticket.session]?.channels[ticket.channel] = .challenged(name, nonce: nonce)
    state.send(ticket.session, ticket.request, .challenge(keyID: keyID, nonce: nonce))
  }

  /// Takes a channel's challenge, which can be used only once.
  private func takeChallenge(
    _ call: RelayCall, _ channel: Int, in state: inout RelayState
  ) -> (mailbox: Identifier, nonce: Bytes32)? {
    let id = call.session
    guard case .challenged(let mailbox, let nonce)? = state.sessions[id]?.channels[channel] else {
      state.fail(
        id, call.request, RelayFault(.wrongState, "the channel has no challenge to answer"))
      return nil
    }
    state.sessions[id]?.channels[channel] = nil
    guard RelayAdmission.mayTry(call, in: &state) else { return nil }
    return (mailbox, nonce)
  }

  /// Whether the session's address may try a mailbox; sends a fault if not.
  private static func mayTry(_ call: RelayCall, in state: inout RelayState) -> Bool {
    let wait = state.attemptWait(call.session)
    guard wait > 0 else { return true }
    state.fail(
      call.session, call.request,
      RelayFault(.rateLimited, "too many attempts", retryAfterMilliseconds: wait))
    return false
  }

  // MARK: Proof

  /// Looks up the mailbox for which a session proves a key.
  func prove(_ call: RelayCall, _ proof: RelayProof, in state: inout RelayState) {
    guard let (mailbox, nonce) = takeChallenge(call, proof.channel, in: &state) else { return }
    state.sessions[call.session]?.channels[proof.channel] = .proving(mailbox)
    state.read(
      call, mailbox, nil, .find(chainAt: proof.cursor?.position),
      for: .prove(proof, nonce: nonce))
  }

  /// Opens a mailbox if its key is proven.
  func proved(
    _ ticket: RelayTicket, _ proof: RelayProof, _ nonce: Bytes32, _ mailbox: RelayMailbox?,
    _ chain: Bytes32?, in state: inout RelayState
  ) {
    let id = ticket.session
    guard case .proving? = state.sessions[id]?.channels[proof.channel] else { return }
    state.sessions[id]?.channels[proof.channel] = nil
    guard
      let right = proofs.right(of: proof, nonce: nonce, to: mailbox, named: ticket.mailbox),
      let mailbox
    else {
      state.refuse(id, ticket.request)
      return
    }
    guard mailbox.rank(of: right.author) != .struck else {
      state.counters.refusals += 1
      state.countAttempt(id)
      state.fail(id, ticket.request, .struckOff)
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
    enter(ticket, mailbox, right.authority, right.author, standing, in: &state)
  }

  // MARK: Creation

  /// Asks the log to create a mailbox if its keys are proven.
  func create(_ call: RelayCall, _ creation: RelayCreation, in state: inout RelayState) {
    let id = call.session
    guard let (mailbox, nonce) = takeChallenge(call, creation.channel, in: &state) else { return }
    guard creation.kind == .sealed || creation.kind == .catalogue else {
      state.fail(
        id, call.request, RelayFault(.unsupported, "this relay has no mailboxes of that kind"))
      return
    }
    guard proofs.isProven(creation, nonce: nonce, of: mailbox) else {
      state.refuse(id, call.request)
      return
    }
    let right: RelayRegistrationRight =
      switch state.configuration.registration {
      case .open: .open
      case .token: .token(digest: RelayToken.digest(of: creation.credential))
      case .allowList: .listed
      }
    let adoption =
      creation.kind == .sealed
      ? creation.parent.flatMap { RelayAdmission.adoptionRight(id, $0, in: state) } : nil
    state.sessions[id]?.channels[creation.channel] = .proving(mailbox)
    let generation = Identifier(bytes: random(Identifier.byteCount)) ?? .zero
    state.write(
      call, mailbox, nil, [],
      .create(
        kind: creation.kind, generation: generation, accessKey: creation.accessKey,
        managerKey: creation.managerKey, right: right, adoption: adoption),
      for: .create(managerKey: creation.managerKey))
  }

  /// Returns the session's right to create children of a mailbox that it has open as a member.
  ///
  /// Returns nil if it has not, whether such a mailbox exists or not.
  private static func adoptionRight(
    _ id: RelaySessionID, _ parent: RelayParent, in state: RelayState
  ) -> RelayAdoption? {
    let channels = state.sessions[id]?.channels.sorted { $0.key < $1.key } ?? []
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

  /// Opens a mailbox that the session has created.
  func created(
    _ ticket: RelayTicket, _ mailbox: RelayMailbox, _ managerKey: [UInt8],
    in state: inout RelayState
  ) {
    state.counters.mailboxesMade += 1
    state.countAttempt(ticket.session)
    state.sessions[ticket.session]?.channels[ticket.channel] = nil
    // The creator of a child mailbox manages it only if it manages the parent.
    let isManager = mailbox.rank(of: managerKey) == .manager
    let authority: RelayAuthority =
      isManager ? .manager(managerKey) : .access(generation: mailbox.accessGeneration)
    enter(ticket, mailbox, authority, managerKey, .none, in: &state)
  }

  // MARK: Catalogues, which anybody may open

  /// Looks up a catalogue.
  func openPublic(
    _ call: RelayCall, _ channel: Int, _ mailbox: Identifier, in state: inout RelayState
  ) {
    guard state.sessions[call.session]?.channels[channel] == nil else {
      state.fail(call.session, call.request, RelayFault(.wrongState, "the channel is in use"))
      return
    }
    guard RelayAdmission.mayTry(call, in: &state) else { return }
    state.sessions[call.session]?.channels[channel] = .lookingUp(mailbox)
    state.read(call, mailbox, nil, .find(chainAt: nil), for: .openPublic)
  }

  /// Opens a catalogue.
  ///
  /// For anything else, answers as for a mailbox that does not exist.
  func openedPublic(_ ticket: RelayTicket, _ mailbox: RelayMailbox?, in state: inout RelayState) {
    let id = ticket.session
    guard case .lookingUp? = state.sessions[id]?.channels[ticket.channel] else { return }
    state.sessions[id]?.channels[ticket.channel] = nil
    guard let mailbox, mailbox.kind == .catalogue else {
      state.refuse(id, ticket.request)
      return
    }
    guard state.sessions.admitReader(id) else {
      state.counters.limited += 1
      state.fail(
        id, ticket.request,
        RelayFault(.tooMany, "too many read catalogues", retryAfterMilliseconds: 10_000))
      return
    }
    enter(ticket, mailbox, .reader, [], .none, in: &state)
  }

  // MARK: Entry

  /// Opens a channel after its right was proven.
  private func enter(
    _ ticket: RelayTicket, _ mailbox: RelayMailbox, _ authority: RelayAuthority,
    _ author: [UInt8], _ standing: RelayCursorStanding, in state: inout RelayState
  ) {
    let id = ticket.session
    guard state.sessions[id] != nil else { return }
    let generation = mailbox.head.generation
    if let old = state.subscribers.generation(of: mailbox.name), old != generation {
      state.cut(mailbox.name)
    }
    let member = RelayPushTarget(session: id, channel: ticket.channel)
    guard
      state.subscribers.join(mailbox.name, generation: generation, member, now: state.now)
    else {
      state.counters.limited += 1
      state.fail(
        id, ticket.request,
        RelayFault(
          .tooMany, "too many sessions have this mailbox open", retryAfterMilliseconds: 60_000))
      return
    }
    var open = RelayChannel.Open(mailbox: mailbox.name, authority: authority, author: author)
    if mailbox.kind == .catalogue {
      open.publisher = mailbox.managers.first.flatMap { try? SigningPublicKey(validating: $0) }
    }
    state.sessions[id]?.channels[ticket.channel] = .open(open)
    if authority != .reader, state.sessions.trust(id) { state.effects.append(.trust(id)) }
    state.send(
      id, ticket.request,
      .opened(
        RelayOpened(
          head: mailbox.head, chain: mailbox.chain, standing: standing,
          accessGeneration: mailbox.accessGeneration, rank: mailbox.rank(of: author),
          roster: mailbox.roster.digest, usedBytes: mailbox.usedBytes,
          quotaBytes: state.configuration.quota.bytes(of: mailbox))))
  }
}
