import HearthCRDT
import HearthCrypto

/// Opens mailboxes: asks for challenges, proves keys, and creates what is missing.
enum RelayClientOpening {
  // MARK: Asking

  /// Opens the mailboxes with pending questions and the prefetched ones.
  static func openPrefetched(in state: inout RelayClientState, now: UInt64) {
    let asked = state.questions.dueMailboxes(at: now)
    for mailbox in state.mailboxes.names
    where state.mailboxes[mailbox]?.stage == .closed
      && (state.mailboxes[mailbox]?.isPrefetched == true || asked.contains(mailbox))
    {
      guard state.requests.hasRoom else { return }
      state.mailboxes[mailbox]?.isPrefetched = false
      open(mailbox, in: &state, now: now)
    }
  }

  /// Begins to open a mailbox, after a possible parent if it may have to be created.
  static func open(_ mailbox: Identifier, in state: inout RelayClientState, now: UInt64) {
    guard !waitsForParent(mailbox, in: &state, now: now) else { return }
    openNow(mailbox, in: &state, now: now)
  }

  private static func openNow(
    _ mailbox: Identifier, in state: inout RelayClientState, now: UInt64
  ) {
    guard let channel = state.mailboxes.freeChannel else {
      state.fail(mailbox, .fault(RelayFault(.tooMany, "too many mailboxes are open")))
      state.mailboxes[mailbox]?.isBarred = true
      return
    }
    state.mailboxes[mailbox]?.channel = channel
    if state.mailboxes[mailbox]?.access.role == .reader {
      state.mailboxes[mailbox]?.stage = .proving(.access(0))
      state.mailboxes[mailbox]?.wanted = RelayAccess.keyID(of: [])
      state.mailboxes[mailbox]?.asserted = nil
      state.send(.openPublic(channel: channel, mailbox: mailbox), .prove(mailbox), now: now)
      return
    }
    state.mailboxes[mailbox]?.stage = .asked
    state.send(.open(channel: channel, mailbox: mailbox), .open(mailbox), now: now)
  }

  // MARK: Parents

  /// Begins to open a possible parent of a new mailbox if none is open yet.
  ///
  /// - Returns: whether the child has to wait for it.
  private static func waitsForParent(
    _ mailbox: Identifier, in state: inout RelayClientState, now: UInt64
  ) -> Bool {
    guard let access = state.mailboxes[mailbox]?.access, access.mayCreate, !access.onlyOpens,
      state.mailboxes.parent(of: mailbox) == nil
    else { return false }
    for parent in access.parents where parent != mailbox {
      guard let known = state.mailboxes[parent], !known.isUnfit, !known.isBarred
      else { continue }
      switch known.stage {
      case .open: return false
      case .asked, .proving, .creating: return true
      case .closed:
        guard state.requests.hasRoom else { return true }
        state.mailboxes[parent]?.isForChild = true
        openNow(parent, in: &state, now: now)
        return state.mailboxes[parent]?.stage != .closed
      }
    }
    return false
  }

  /// Whether a mailbox was opened only as another's parent, so that it is not created.
  private static func isOnlyForChild(
    _ mailbox: Identifier, in state: RelayClientState
  ) -> Bool {
    guard let known = state.mailboxes[mailbox], known.isForChild, !known.wantsNews
    else { return false }
    return !state.questions.contains(mailbox)
  }

  // MARK: Proofs

  /// Answers a challenge: proves a key, or creates the mailbox.
  static func take(
    challenge reply: RelayReply, of mailbox: Identifier, in state: inout RelayClientState,
    now: UInt64
  ) throws(RelayConnectionEnd) {
    guard let known = state.mailboxes[mailbox], known.stage == .asked,
      let channel = known.channel, let relayID = state.welcome?.relayID
    else { return }
    switch reply {
    case .challenge(let keyID, let nonce):
      state.mailboxes[mailbox]?.wanted = keyID
      let binding = RelayAccess.Binding(
        relayID: relayID, pin: state.pin, relayNonce: nonce,
        clientNonce: Bytes32(exactly: state.random(RelayAccess.nonceBytes)))
      let prover = Prover(mailbox: mailbox, channel: channel, binding: binding)
      answer(keyID, of: known, by: prover, in: &state, now: now)
    case .fault(let fault): take(fault, of: mailbox, in: &state, now: now)
    default: throw RelayConnectionEnd(violation: "it does not challenge as a relay does")
    }
  }

  /// A mailbox on a channel, with what proofs of keys for it are bound to.
  private struct Prover {
    let mailbox: Identifier
    let channel: Int
    let binding: RelayAccess.Binding
  }

  private static func answer(
    _ keyID: Bytes16, of known: RelayClientMailbox, by prover: Prover,
    in state: inout RelayClientState, now: UInt64
  ) {
    let mailbox = prover.mailbox
    for place in known.access.keys.indices.prefix(MailboxAccess.maximumKeys) {
      guard let pair = state.pair(place, of: mailbox),
        RelayAccess.keyID(of: pair.publicKey.bytes) == keyID
      else { continue }
      prove(pair, .access(place), by: prover, in: &state, now: now)
      return
    }
    if isOnlyForChild(mailbox, in: state) {
      state.send(.close(channel: prover.channel), .close, now: now)
      state.mailboxes[mailbox]?.close()
      state.mailboxes[mailbox]?.isUnfit = true
    } else if known.access.mayCreate, !known.access.onlyOpens, !known.hasTriedCreating,
      let access = state.pair(0, of: mailbox), let own = state.ownPair()
    {
      create(access, own, by: prover, in: &state, now: now)
    } else if known.access.mayCreate, !known.hasTriedOwnKey, let own = state.ownPair() {
      state.mailboxes[mailbox]?.hasTriedOwnKey = true
      prove(own, .own, by: prover, in: &state, now: now)
    } else {
      state.send(.close(channel: prover.channel), .close, now: now)
      refuse(mailbox, .refused, in: &state)
    }
  }

  private static func prove(
    _ pair: SigningKeyPair, _ key: RelayOpening.Key, by prover: Prover,
    in state: inout RelayClientState, now: UInt64
  ) {
    let mailbox = prover.mailbox
    let cursor = state.mailboxes[mailbox]?.cursor
    state.mailboxes[mailbox]?.stage = .proving(key)
    state.mailboxes[mailbox]?.asserted = cursor
    let author =
      key == .own
      ? nil
      : state.ownPair().map {
        RelayAuthorProof(
          key: $0.publicKey.bytes,
          signature: RelayAccess.proveAuthor(
            $0, mailbox: mailbox.bytes, binding: prover.binding))
      }
    let proof = RelayProof(
      channel: prover.channel, keyID: RelayAccess.keyID(of: pair.publicKey.bytes),
      clientNonce: prover.binding.clientNonce,
      signature: RelayAccess.prove(pair, mailbox: mailbox.bytes, binding: prover.binding),
      cursor: cursor, author: author)
    state.send(.prove(proof), .prove(mailbox), now: now)
  }

  private static func create(
    _ access: SigningKeyPair, _ own: SigningKeyPair, by prover: Prover,
    in state: inout RelayClientState, now: UInt64
  ) {
    let mailbox = prover.mailbox
    state.mailboxes[mailbox]?.stage = .creating
    state.mailboxes[mailbox]?.wanted = RelayAccess.keyID(of: access.publicKey.bytes)
    state.mailboxes[mailbox]?.asserted = nil
    state.mailboxes[mailbox]?.hasTriedCreating = true
    var kind = RelayMailboxKind.sealed
    var catalogueName = ""
    if case .publisher(let name)? = state.mailboxes[mailbox]?.access.role {
      kind = .catalogue
      catalogueName = name
    }
    let parent = kind == .sealed ? state.mailboxes.parent(of: mailbox) : nil
    let signed = RelayAccess.Creation(
      kind: kind.rawValue, accessKey: access.publicKey.bytes,
      managerKey: own.publicKey.bytes, credential: state.credential,
      parent: parent?.bytes ?? [])
    let creation = RelayCreation(
      channel: prover.channel, kind: kind, accessKey: signed.accessKey,
      managerKey: signed.managerKey, credential: state.credential, parent: parent,
      clientNonce: prover.binding.clientNonce,
      accessSignature: RelayAccess.signCreation(
        signed, with: access, mailbox: mailbox.bytes, binding: prover.binding),
      managerSignature: RelayAccess.signCreation(
        signed, with: own, mailbox: mailbox.bytes, binding: prover.binding),
      catalogueName: catalogueName)
    state.send(.create(creation), .prove(mailbox), now: now)
  }

  // MARK: Results

  /// Takes the answer to a proof or a creation.
  static func take(
    opened reply: RelayReply, of mailbox: Identifier, askedAt: UInt64,
    in state: inout RelayClientState, now: UInt64
  ) throws(RelayConnectionEnd) {
    guard let known = state.mailboxes[mailbox], let wanted = known.wanted else { return }
    let key: RelayOpening.Key
    switch known.stage {
    case .proving(let proven): key = proven
    case .creating: key = .access(0)
    default: return
    }
    switch reply {
    case .opened(let opened):
      let opening = RelayOpening(
        opened: opened, key: key, isCreated: known.stage == .creating,
        number: state.nextOpening(), wanted: wanted,
        relayID: state.welcome?.relayID.array ?? [], cursor: known.asserted)
      state.mailboxes[mailbox]?.open(opening, askedAt: askedAt, now: now)
    case .fault(let fault): take(fault, of: mailbox, in: &state, now: now)
    default: throw RelayConnectionEnd(violation: "it does not open as a relay does")
    }
  }

  private static func take(
    _ fault: RelayFault, of mailbox: Identifier, in state: inout RelayClientState, now: UInt64
  ) {
    let stage = state.mailboxes[mailbox]?.stage
    state.mailboxes[mailbox]?.stage = .closed
    state.mailboxes[mailbox]?.channel = nil
    if isOnlyForChild(mailbox, in: state) {
      state.mailboxes[mailbox]?.close()
      state.mailboxes[mailbox]?.isUnfit = true
      return
    }
    switch fault.code {
    case .refused where stage == .creating: break  // Try this device's own key next.
    case .tokenUsedUp where stage == .creating:
      state.mailboxes[mailbox]?.isTokenUsedUp = true
    case .refused: refuse(mailbox, .refused, in: &state)
    case .struckOff: refuse(mailbox, .struckOff, in: &state)
    case .rateLimited, .tooMany, .unavailable: postpone(mailbox, fault, in: &state, now: now)
    default: refuse(mailbox, .fault(fault), in: &state)
    }
  }

  /// Stops opening a mailbox until it is asked for again or its keys change.
  private static func refuse(
    _ mailbox: Identifier, _ failure: RelayFailure, in state: inout RelayClientState
  ) {
    let hasTriedCreating = state.mailboxes[mailbox]?.hasTriedCreating == true
    var failure = failure
    if failure == .refused, hasTriedCreating, state.welcome?.registration == .allowList,
      let key = state.ownPair()?.publicKey.bytes
    {
      failure = .unlisted(key: key)
    }
    if failure == .refused, state.mailboxes[mailbox]?.isTokenUsedUp == true {
      failure = .tokenUsedUp
    }
    if failure == .refused, hasTriedCreating, state.welcome?.registration == .token {
      failure = .unregistered
    }
    state.mailboxes[mailbox]?.close()
    state.mailboxes[mailbox]?.isBarred = true
    state.fail(mailbox, failure)
  }

  /// Retries after the time that the relay asks for, if that is within this session's patience.
  private static func postpone(
    _ mailbox: Identifier, _ fault: RelayFault, in state: inout RelayClientState, now: UInt64
  ) {
    let wait = UInt64(fault.retryAfterMilliseconds)
    guard wait > 0, wait <= state.timing.patienceMilliseconds else {
      refuse(mailbox, .fault(fault), in: &state)
      return
    }
    for ticket in state.questions.tickets(about: mailbox) {
      state.retry(ticket, fault, after: wait, now: now)
    }
    if !state.questions.contains(mailbox) { state.mailboxes[mailbox]?.isBarred = true }
  }
}
