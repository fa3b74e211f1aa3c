import HearthCRDT
import HearthCrypto

/// Sends questions about open mailboxes, and takes the relay's answers.
enum RelayClientQuestions {
  /// What a question comes to on an open mailbox.
  private enum Step {
    case send(RelayRequest)
    /// No request is necessary.
    case finish(Result<RelayOutcome, RelayFailure>)
  }

  // MARK: Sending

  /// Opens the mailboxes in demand and sends all requests that can be sent.
  static func work(in state: inout RelayClientState, now: UInt64) {
    RelayClientOpening.openPrefetched(in: &state, now: now)
    for ticket in state.questions.tickets {
      guard let pending = state.questions[ticket], pending.isDue(at: now) else { continue }
      guard let mailbox = state.mailboxes[pending.mailbox] else {
        state.finish(ticket, .failure(.refused))
        continue
      }
      switch mailbox.stage {
      case .closed: RelayClientOpening.open(pending.mailbox, in: &state, now: now)
      case .asked, .proving, .creating: break
      case .open:
        guard state.requests.hasRoom else { return }
        guard let channel = mailbox.channel, let opening = mailbox.opening else { continue }
        send(ticket, pending, channel, opening, in: &state, now: now)
      }
    }
    for mailbox in state.mailboxes.names { subscribe(to: mailbox, in: &state, now: now) }
  }

  private static func subscribe(
    to mailbox: Identifier, in state: inout RelayClientState, now: UInt64
  ) {
    guard let known = state.mailboxes[mailbox], known.wantsNews, !known.isBarred,
      !known.isSubscribed
    else { return }
    switch known.stage {
    case .closed: RelayClientOpening.open(mailbox, in: &state, now: now)
    case .asked, .proving, .creating: break
    case .open:
      guard let channel = known.channel else { return }
      state.mailboxes[mailbox]?.isSubscribed = true
      state.send(
        .subscribe(channel: channel, takesPacked: true), .subscribe(mailbox), now: now)
    }
  }

  private static func send(
    _ ticket: UInt64, _ pending: RelayPendingQuestions.Pending, _ channel: Int,
    _ opening: RelayOpening, in state: inout RelayClientState, now: UInt64
  ) {
    let step: Step
    if let request = request(for: pending.question, channel) {
      step = .send(request)
    } else {
      step = self.step(for: pending, channel, opening, in: &state, now: now)
    }
    switch step {
    case .finish(let result): state.finish(ticket, result)
    case .send(let request):
      state.questions[ticket]?.isSent = true
      state.questions[ticket]?.opening = opening.number
      state.send(request, .question(ticket), now: now)
    }
  }

  /// The request for a question that only the relay can answer; nil for others.
  private static func request(
    for question: RelayQuestion, _ channel: Int
  ) -> RelayRequest? {
    switch question {
    case .open, .put, .news, .fetch, .rotate: nil
    case .remove(let names): .remove(channel: channel, names: names)
    case .list(let after, let limit):
      .list(channel: channel, after: after, limit: limit, isLiveOnly: false)
    case .fetchAfter(let position, let limit):
      .fetchAfter(channel: channel, after: position, limit: limit)
    case .query(let query): .query(channel: channel, query)
    case .setRank(let key, let rank): .setRank(channel: channel, key: key, rank: rank)
    case .roster: .roster(channel: channel)
    case .reset: .reset(channel: channel)
    case .close: .close(channel: channel)
    case .listOf(let author, let after, let limit):
      .list(channel: channel, after: after, limit: limit, isLiveOnly: true, author: author)
    }
  }

  /// What the other questions come to, by what the session knows of the mailbox.
  private static func step(
    for pending: RelayPendingQuestions.Pending, _ channel: Int, _ opening: RelayOpening,
    in state: inout RelayClientState, now: UInt64
  ) -> Step {
    let mailbox = pending.mailbox
    switch pending.question {
    case .put(let items):
      let request = state.mailboxes[mailbox]?.put(items, channel)
      return .send(request ?? .put(channel: channel, items: items))
    case .news(let after, let chain, let limit):
      if let entries = state.mailboxes[mailbox]?.end.entries(
        after: after, chain: chain, now: now, within: state.timing.confirmedMilliseconds)
      {
        Probe.pushSparedListing.hit()
        return .finish(.success(.announced(entries)))
      }
      return .send(.list(channel: channel, after: after, limit: limit, isLiveOnly: false))
    case .fetch(let names):
      if let blobs = state.mailboxes[mailbox]?.pushed.take(names) {
        Probe.pushSparedFetch.hit()
        return .finish(.success(.reply(.blobs(blobs))))
      }
      return .send(.fetch(channel: channel, names: names))
    case .rotate:
      guard let key = state.pair(0, of: mailbox)?.publicKey.bytes else {
        return .finish(.failure(.refused))
      }
      let generation = opening.opened.accessGeneration
      if opening.wanted == RelayAccess.keyID(of: key) {
        // The key is already set. Setting it again would close the sessions of all members.
        return .finish(.success(.reply(.rotated(generation: generation))))
      }
      return .send(.rotate(channel: channel, generation: generation, accessKey: key))
    default:
      let reported = self.reported(opening, of: mailbox, in: &state, now: now)
      return .finish(.success(.opened(reported)))
    }
  }

  /// An opening as it is returned to a caller; it is new only once.
  private static func reported(
    _ opening: RelayOpening, of mailbox: Identifier, in state: inout RelayClientState, now: UInt64
  ) -> RelayOpening {
    var reported = opening
    let freshUntil = (state.mailboxes[mailbox]?.openedAt ?? 0) + state.timing.freshMilliseconds
    reported.isNew = opening.isNew && now <= freshUntil
    reported.wantsNewest =
      state.pair(0, of: mailbox).map {
        opening.wanted == RelayAccess.keyID(of: $0.publicKey.bytes)
      } ?? false
    state.mailboxes[mailbox]?.opening?.isNew = false
    return reported
  }

  // MARK: Answers

  /// Takes the answer to a subscription.
  static func take(
    subscribed reply: RelayReply, of mailbox: Identifier, in state: inout RelayClientState
  ) throws(RelayConnectionEnd) {
    switch reply {
    case .subscribed(let head):
      state.mailboxes[mailbox]?.subscribed(at: head)
      state.effects.append(.news(.stored(mailbox: mailbox, head: head)))
    case .fault(let fault):
      state.mailboxes[mailbox]?.isBarred = fault.code != .accessChanged
      state.mailboxes[mailbox]?.isSubscribed = false
    default: throw RelayConnectionEnd(violation: "it does not subscribe as a relay does")
    }
  }

  /// Takes the answer to a question.
  static func take(
    answer reply: RelayReply, to ticket: UInt64, askedAt: UInt64,
    in state: inout RelayClientState, now: UInt64
  ) throws(RelayConnectionEnd) {
    guard let pending = state.questions[ticket] else { return }
    let mailbox = pending.mailbox
    if case .fault(let fault) = reply {
      state.mailboxes[mailbox]?.end.forget()
      take(fault, to: ticket, pending, in: &state, now: now)
      return
    }
    guard pending.question.accepts(reply) else {
      throw RelayConnectionEnd(violation: "its answer does not fit the request")
    }
    if case .rotated(let generation) = reply {
      state.mailboxes[mailbox]?.rotated(to: generation, relayID: state.welcome?.relayID)
    }
    switch pending.question {
    // A reset closes the channels of all members, this one too.
    case .reset, .close: state.mailboxes[mailbox]?.close()
    default: break
    }
    state.losses = 0
    state.mailboxes[mailbox]?.take(pending.question, reply, askedAt: askedAt)
    state.finish(ticket, .success(.reply(reply)))
  }

  private static func take(
    _ fault: RelayFault, to ticket: UInt64, _ pending: RelayPendingQuestions.Pending,
    in state: inout RelayClientState, now: UInt64
  ) {
    let mailbox = pending.mailbox
    let isSameOpening = state.mailboxes[mailbox]?.opening?.number == pending.opening
    switch fault.code {
    case .accessChanged:
      if isSameOpening { state.mailboxes[mailbox]?.close() }
      state.retry(ticket, fault, after: 0, now: now)
    case .wrongState where !isSameOpening:
      // The relay closed the mailbox because of a key change while the question was in transit.
      Probe.questionCrossedClosing.hit()
      state.retry(ticket, fault, after: 0, now: now)
    case .rateLimited, .tooMany, .unavailable:
      let wait = UInt64(fault.retryAfterMilliseconds)
      guard wait <= state.timing.patienceMilliseconds else {
        state.finish(ticket, .failure(.fault(fault)))
        return
      }
      state.retry(
        ticket, fault, after: max(wait, state.timing.firstPauseMilliseconds), now: now)
    case .conflict:
      // Another member set the key, but the relay did not close this session: open the mailbox
      // again.
      if isSameOpening, let channel = state.mailboxes[mailbox]?.channel {
        state.mailboxes[mailbox]?.close()
        state.send(.close(channel: channel), .close, now: now)
      }
      state.finish(ticket, .failure(.fault(fault)))
    case .refused:
      // The mailbox was deleted while it was open, and the relay closed the channel: the next
      // question opens it again, or creates it.
      if isSameOpening { state.mailboxes[mailbox]?.close() }
      state.finish(ticket, .failure(.fault(fault)))
    default: state.finish(ticket, .failure(.fault(fault)))
    }
  }

  // MARK: Pushes

  /// Takes a message that no request asked for.
  static func take(
    push: RelayReply, in state: inout RelayClientState
  ) throws(RelayConnectionEnd) {
    switch push {
    case .pushed(let channel, let entries):
      guard let mailbox = state.mailboxes.name(at: channel) else { return }
      take(entries, of: mailbox, in: &state)
    case .pushedPacked(let channel, let first, let items):
      guard let mailbox = state.mailboxes.name(at: channel) else { return }
      guard let entries = state.mailboxes[mailbox]?.entries(of: items, from: first) else {
        throw RelayConnectionEnd(violation: "a packed push does not fit what it sent before")
      }
      take(entries, of: mailbox, in: &state)
    case .behind(let channel, let head):
      guard let mailbox = state.mailboxes.name(at: channel) else { return }
      state.mailboxes[mailbox]?.skip(to: head)
      state.effects.append(.news(.stored(mailbox: mailbox, head: head)))
    case .closed(let channel, _):
      guard let mailbox = state.mailboxes.name(at: channel) else { return }
      state.mailboxes[mailbox]?.close()
      // Pending questions are still answered, usually with a fault, and are then retried.
      state.effects.append(.news(.closed(mailbox: mailbox)))
    case .farewell(let fault):
      throw RelayConnectionEnd(
        [.malformed, .unsupportedVersion].contains(fault.code)
          ? .fault(fault) : .unreachable(fault.message))
    default: throw RelayConnectionEnd(violation: "it pushed something that is not a push")
    }
  }

  private static func take(
    _ entries: [RelayEntry], of mailbox: Identifier, in state: inout RelayClientState
  ) {
    guard let last = entries.last else { return }
    state.mailboxes[mailbox]?.take(entries)
    state.effects.append(.news(.stored(mailbox: mailbox, head: last.header.position)))
  }
}
