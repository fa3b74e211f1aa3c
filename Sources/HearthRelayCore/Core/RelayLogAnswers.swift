import HearthCRDT
import HearthRelayProtocol

/// Passes each answer of the log to the part that asked, and answers refusals and failures.
struct RelayLogAnswers {
  let admission: RelayAdmission
  let requests: RelayMailboxRequests

  /// Takes the answer to a read.
  func take(_ answer: RelayAnswer, for ticket: RelayTicket, in state: inout RelayState) {
    switch (answer, ticket.purpose) {
    case (.found(let mailbox, _), .challenge): admission.challenged(ticket, mailbox, in: &state)
    case (.found(let mailbox, let chain), .prove(let proof, let nonce)):
      admission.proved(ticket, proof, nonce, mailbox, chain, in: &state)
    case (.found(let mailbox, _), .openPublic):
      admission.openedPublic(ticket, mailbox, in: &state)
    case (.found, _):
      fail(ticket, RelayError(.corrupt, "the log found a mailbox unasked"), in: &state)
    case (.head(let head), _): requests.subscribed(ticket, head, in: &state)
    case (.listing(let listing), _): requests.answer(ticket, .listing(listing), in: &state)
    case (.blobs(let blobs), _): requests.answer(ticket, .blobs(blobs), in: &state)
    case (.page(let page), _): requests.answer(ticket, .entries(page), in: &state)
    case (.records(let answer), _): requests.answer(ticket, .found(answer), in: &state)
    case (.roster(let report), _): requests.answer(ticket, .roster(report), in: &state)
    case (.refused(let refusal), _): refuse(ticket, refusal, in: &state)
    }
  }

  /// Takes the result of a write.
  func take(_ written: RelayWritten, for ticket: RelayTicket, in state: inout RelayState) {
    switch (written, ticket.purpose) {
    case (.created(let mailbox), .create(let managerKey)):
      admission.created(ticket, mailbox, managerKey, in: &state)
    case (.stored(let outcomes, let appended, let head), .put(let items)):
      requests.stored(ticket, items, outcomes, appended, head: head, in: &state)
    case (.removed(let positions, let appended, let head), _):
      requests.removed(ticket, positions, appended, head: head, in: &state)
    case (.rotated(let generation), _): requests.rotated(ticket, generation, in: &state)
    case (.done, .setRank(let key)): requests.ranked(ticket, key, in: &state)
    case (.done, _): state.send(ticket.session, ticket.request, .done)
    case (.reset, _): requests.reset(ticket, in: &state)
    case (.refused(let refusal), _): refuse(ticket, refusal, in: &state)
    case (.created, _), (.stored, _):
      fail(ticket, RelayError(.unknownOutcome, "the log wrote something else"), in: &state)
    }
  }

  /// Answers a request that the log could not do.
  func fail(_ ticket: RelayTicket, _ error: RelayError, in state: inout RelayState) {
    state.counters.logFailures += 1
    Probe.logFailed.hit()
    switch ticket.purpose {
    case .challenge, .prove, .create, .openPublic:
      state.sessions[ticket.session]?.channels[ticket.channel] = nil
    case .subscribe:
      state.sessions.update(ticket.session, ticket.channel) { $0.subscription = .none }
    default: break
    }
    // Spread, so that not all clients come back at once.
    let spread = Int(ticket.session.number % 64) * 16
    let (words, wait) =
      switch error.code {
      case .unavailable: ("the relay cannot reach its database: nothing was stored", 500 + spread)
      case .unknownOutcome:
        ("the relay cannot tell whether this was stored: do it again", 500 + spread)
      default: ("the relay's disk failed: nothing was stored", 5_000)
      }
    state.fail(
      ticket.session, ticket.request,
      RelayFault(.unavailable, words, retryAfterMilliseconds: wait))
  }

  // MARK: Refusals

  private func refuse(
    _ ticket: RelayTicket, _ refusal: RelayRefusal, in state: inout RelayState
  ) {
    let id = ticket.session
    switch refusal {
    case .forbidden:
      state.close(id, ticket.channel)
      state.refuse(id, ticket.request)
      return
    case .accessChanged:
      Probe.accessChangedInFlight.hit()
      state.fail(id, ticket.request, .accessChanged)
      // Another process changed the key. This process's sessions with the old key end too.
      if state.sessions[id]?.channels[ticket.channel]?.open?.mailbox == ticket.mailbox {
        state.close(id, ticket.channel)
        state.send(id, push: .closed(channel: ticket.channel, .accessChanged))
      }
      return
    case .quota:
      Probe.quotaReached.hit()
      state.counters.limited += 1
    case .full, .share: state.counters.limited += 1
    case .children:
      state.close(id, ticket.channel)
      state.counters.limited += 1
    case .tokenUsedUp:
      state.close(id, ticket.channel)
      state.counters.refusals += 1
      state.countAttempt(id)
    case .notManager: if case .create = ticket.purpose { state.close(id, ticket.channel) }
    case .conflict, .managers: break
    }
    state.fail(id, ticket.request, RelayLogAnswers.fault(of: refusal))
  }

  private static func fault(of refusal: RelayRefusal) -> RelayFault {
    switch refusal {
    case .forbidden: .refused
    case .accessChanged: .accessChanged
    case .conflict: RelayFault(.conflict, "the access key was changed meanwhile")
    case .quota: RelayFault(.quotaExceeded, "the mailbox is full")
    case .full:
      RelayFault(.relayFull, "all mailboxes together have reached the operator's limit")
    case .children:
      RelayFault(
        .tooManyChildren,
        "the mailbox already has as many meeting places, or places of recovery words, as it may")
    case .tokenUsedUp:
      RelayFault(.tokenUsedUp, "this token has already made as many mailboxes as it may")
    case .managers:
      RelayFault(
        .notAllowed,
        "a mailbox has from 1 to \(RelayLimits.maximumManagers) managers, and "
          + "\(RelayLimits.maximumAuthors) others on its list")
    case .notManager: RelayFault(.notAllowed, "only a manager of the mailbox may do this")
    case .share: RelayFault(.shareExceeded, "this device has used its share of the mailbox")
    }
  }
}
