import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Requests to open mailboxes, the log's answers to them, and the pushes that follow.
extension RelayCore {
  mutating func begin(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int
  ) {
    if case .hello(let least, let most) = frame.message {
      greet(id, frame.request, least, most)
      return
    }
    guard sessions[id]?.isGreeted == true else {
      end(id, RelayFault(.wrongState, "a session begins with a hello"))
      return
    }
    switch frame.message {
    case .hello: break
    case .ping: send(id, frame.request, .pong)
    case .goodbye:
      send(id, frame.request, .done)
      effects.append(.close(id))
      forget(id)
    case .open(let channel, let mailbox): challenge(id, frame, byteCount, channel, mailbox)
    case .close(let channel):
      guard sessions[id]?.channels[channel] != nil else {
        fail(id, frame.request, RelayFault(.wrongState, "the channel is not in use"))
        return
      }
      close(id, channel)
      send(id, frame.request, .done)
    case .prove(let proof): prove(id, frame, byteCount, proof)
    case .create(let creation): create(id, frame, byteCount, creation)
    case .openPublic(let channel, let mailbox):
      openPublic(id, frame, byteCount, channel, mailbox)
    default:
      let channel = frame.message.channel ?? 0
      guard let open = sessions[id]?.channels[channel]?.open else {
        fail(id, frame.request, RelayFault(.wrongState, "no mailbox is open on the channel"))
        return
      }
      guard mayAsk(id, frame, open) else { return }
      work(id, frame, byteCount, channel, open)
    }
  }

  private mutating func work(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int, _ channel: Int,
    _ open: RelayChannel.Open
  ) {
    func read(_ core: inout RelayCore, _ question: RelayRead.Question, _ ticket: UInt64) {
      let read = RelayRead(
        mailbox: open.mailbox, authority: open.authority, question: question)
      core.effects.append(.read(ticket: ticket, RelayReadBox(read: read)))
    }
    func ask(_ core: inout RelayCore, _ purpose: RelayTicket.Purpose) -> UInt64 {
      core.ask(id, frame, byteCount, open.mailbox, purpose)
    }
    switch frame.message {
    case .put(_, let items):
      guard mayAppend(id, frame.request, open.mailbox, items.count) else { return }
      write(ask(&self, .put(items)), open.mailbox, open.authority, open.author, .put(items))
    case .remove(_, let names):
      guard mayAppend(id, frame.request, open.mailbox, names.count) else { return }
      write(ask(&self, .remove), open.mailbox, open.authority, open.author, .remove(names))
    case .list(_, let after, let limit, let isLiveOnly, let author):
      read(
        &self, .list(after: after, limit: limit, isLiveOnly: isLiveOnly, author: author),
        ask(&self, .page))
    case .fetch(_, let names):
      read(
        &self, .fetch(names, byteLimit: RelayLimits.maximumBatchBytes), ask(&self, .page))
    case .fetchAfter(_, let after, let limit):
      read(
        &self, .page(after: after, limit: limit, byteLimit: RelayLimits.maximumBatchBytes),
        ask(&self, .page))
    case .query(_, let query):
      counters.queries += 1
      read(
        &self, .query(query, byteLimit: PublicLimits.maximumAnswerBytes), ask(&self, .page))
    case .putPacked:
      fail(id, frame.request, RelayFault(.wrongState, "the mailbox was opened after this request"))
    case .subscribe(_, let takesPacked):
      update(id, channel) {
        $0.subscription = .starting(seen: 0)
        $0.takesPacked = takesPacked
        $0.holdsLast = false
      }
      read(&self, .head, ask(&self, .subscribe))
    case .unsubscribe:
      update(id, channel) {
        $0.subscription = .none
        $0.holdsLast = false
        $0.missedHead = nil
      }
      send(id, frame.request, .done)
    case .rotate(_, let generation, let key):
      guard isKey(id, frame.request, key) else { return }
      write(
        ask(&self, .rotate), open.mailbox, open.authority, open.author,
        .rotate(generation: generation, accessKey: key))
    case .setRank(_, let key, let rank):
      guard !rank.isListed || isKey(id, frame.request, key) else { return }
      write(
        ask(&self, .setRank(key)), open.mailbox, open.authority, open.author,
        .setRank(key, rank))
    case .reset:
      let generation = Identifier(bytes: chance(Identifier.byteCount)) ?? .zero
      write(
        ask(&self, .reset), open.mailbox, open.authority, open.author,
        .reset(generation: generation))
    case .roster: read(&self, .roster, ask(&self, .page))
    default: break
    }
  }

  private mutating func isKey(_ id: RelaySessionID, _ request: UInt32, _ key: [UInt8]) -> Bool {
    if (try? SigningPublicKey(validating: key)) != nil { return true }
    fail(id, request, RelayFault(.notAllowed, "the new key is no usable Ed25519 public key"))
    return false
  }

  private mutating func mayAppend(
    _ id: RelaySessionID, _ request: UInt32, _ mailbox: Identifier, _ count: Int
  ) -> Bool {
    let own = sessions[id]?.appends.take(count, now: now) ?? 0
    let wait = own > 0 ? own : rooms[mailbox]?.appends.take(count, now: now) ?? 0
    guard wait > 0 else { return true }
    counters.limited += 1
    fail(
      id, request,
      RelayFault(.rateLimited, "too many entries a minute", retryAfterMilliseconds: wait))
    return false
  }

  // MARK: Answers of the log

  mutating func complete(_ ticket: RelayTicket, _ answer: RelayAnswer) {
    switch (answer, ticket.purpose) {
    case (.found(let mailbox, _), .challenge): challenged(ticket, mailbox)
    case (.found(let mailbox, let chain), .prove(let proof, let nonce)):
      proved(ticket, proof, nonce, mailbox, chain)
    case (.head(let head), _): subscribed(ticket, head)
    case (.listing(let listing), _): tell(ticket, .listing(listing))
    case (.blobs(let blobs), _): tell(ticket, .blobs(blobs))
    case (.page(let page), _): tell(ticket, .entries(page))
    case (.records(let answer), _): tell(ticket, .found(answer))
    case (.roster(let report), _): tell(ticket, .roster(report))
    case (.found(let mailbox, _), .openPublic): openedPublic(ticket, mailbox)
    case (.refused(let refusal), _): refuse(ticket, refusal)
    case (.found, _): preconditionFailure("found a mailbox for \(ticket.purpose)")
    }
  }

  /// Answers with a page, unless the mailbox was closed to the session during the read.
  private mutating func tell(_ ticket: RelayTicket, _ page: RelayReply) {
    guard sessions[ticket.session]?.channels[ticket.channel]?.open?.mailbox == ticket.mailbox else {
      fail(ticket.session, ticket.request, RelayCore.accessChanged)
      return
    }
    counters.pagesRead += 1
    send(ticket.session, ticket.request, page)
  }

  private mutating func subscribed(_ ticket: RelayTicket, _ head: UInt64) {
    var head = head
    update(ticket.session, ticket.channel) {
      if case .starting(let seen) = $0.subscription {
        head = max(head, seen)
        $0.subscription = .live(told: head)
      }
    }
    send(ticket.session, ticket.request, .subscribed(head: head))
  }

  mutating func complete(_ ticket: RelayTicket, _ written: RelayWritten) {
    switch written {
    case .created(let mailbox):
      counters.mailboxesMade += 1
      countAttempt(ticket.session)
      guard case .create(let managerKey) = ticket.purpose else { return }
      sessions[ticket.session]?.channels[ticket.channel] = nil
      // The creator of a child mailbox manages it only if it manages the parent.
      let isManager = mailbox.rank(of: managerKey) == .manager
      let authority: RelayAuthority =
        isManager ? .manager(managerKey) : .access(generation: mailbox.accessGeneration)
      enter(ticket, mailbox, authority, managerKey, .none)
    case .stored(let outcomes, let appended, let head):
      send(ticket.session, ticket.request, .stored(outcomes))
      guard case .put(let items) = ticket.purpose else { return }
      let stored = zip(items, outcomes).filter { $0.1.outcome == .stored }
      let entries = zip(appended, stored).map { RelayEntry(header: $0, blob: $1.0.blob) }
      counters.bytesAppended += entries.reduce(0) { $0 + $1.blob.count }
      append(ticket, entries, head)
    case .removed(let positions, let appended, let head):
      send(ticket.session, ticket.request, .removed(positions))
      append(ticket, appended.map { RelayEntry(header: $0, blob: []) }, head)
    case .rotated(let generation):
      counters.rotations += 1
      cut(ticket.mailbox, sparing: ticket) { open in
        if case .access(let old) = open.authority { old < generation } else { false }
      }
      update(ticket.session, ticket.channel) {
        if case .access = $0.authority { $0.authority = .access(generation: generation) }
      }
      send(ticket.session, ticket.request, .rotated(generation: generation))
    case .done:
      send(ticket.session, ticket.request, .done)
      // A session whose rank changed must reopen the mailbox, if it may.
      if case .setRank(let key) = ticket.purpose {
        cut(ticket.mailbox, sparing: nil) { $0.author == key }
      }
    case .reset:
      send(ticket.session, ticket.request, .done)
      cut(ticket.mailbox, sparing: nil) { _ in true }
    case .refused(let refusal): refuse(ticket, refusal)
    }
  }

  private mutating func refuse(_ ticket: RelayTicket, _ refusal: RelayRefusal) {
    let id = ticket.session
    switch refusal {
    case .forbidden:
      close(id, ticket.channel)
      refuse(id, ticket.request)
    case .accessChanged:
      Probe.accessChangedInFlight.hit()
      fail(id, ticket.request, RelayCore.accessChanged)
      // Another process changed the key. This process's sessions with the old key end too.
      if sessions[id]?.channels[ticket.channel]?.open?.mailbox == ticket.mailbox {
        close(id, ticket.channel)
        send(id, push: .closed(channel: ticket.channel, RelayCore.accessChanged))
      }
    case .conflict:
      fail(id, ticket.request, RelayFault(.conflict, "the access key was changed meanwhile"))
    case .quota:
      Probe.quotaReached.hit()
      counters.limited += 1
      fail(id, ticket.request, RelayFault(.quotaExceeded, "the mailbox is full"))
    case .full:
      counters.limited += 1
      fail(
        id, ticket.request,
        RelayFault(.relayFull, "all mailboxes together have reached the operator's limit"))
    case .children:
      close(id, ticket.channel)
      counters.limited += 1
      fail(
        id, ticket.request,
        RelayFault(
          .tooManyChildren,
          "the mailbox already has as many meeting places, or places of recovery words, as it may"))
    case .tokenUsedUp:
      close(id, ticket.channel)
      counters.refusals += 1
      countAttempt(id)
      fail(
        id, ticket.request,
        RelayFault(.tokenUsedUp, "this token has already made as many mailboxes as it may"))
    case .managers:
      fail(
        id, ticket.request,
        RelayFault(
          .notAllowed,
          "a mailbox has from 1 to \(RelayLimits.maximumManagers) managers, and "
            + "\(RelayLimits.maximumAuthors) others on its list"))
    case .notManager:
      if case .create = ticket.purpose { close(id, ticket.channel) }
      fail(id, ticket.request, RelayFault(.notAllowed, "only a manager of the mailbox may do this"))
    case .share:
      counters.limited += 1
      fail(
        id, ticket.request,
        RelayFault(.shareExceeded, "this device has used its share of the mailbox"))
    }
  }

  static let accessChanged = RelayFault(
    .accessChanged, "the mailbox now has another access key")

  /// Closes a channel on the relay's side.
  private mutating func close(_ id: RelaySessionID, _ channel: Int) {
    if let open = sessions[id]?.channels[channel]?.open {
      leave(open.mailbox, id, channel: channel)
    }
    sessions[id]?.channels[channel] = nil
  }

  /// Closes at once every channel of a mailbox whose right is gone.
  mutating func cut(
    _ mailbox: Identifier, sparing ticket: RelayTicket?,
    _ isGone: (RelayChannel.Open) -> Bool
  ) {
    for member in rooms[mailbox]?.members ?? [] {
      let isSpared = member.session == ticket?.session && member.channel == ticket?.channel
      guard !isSpared, let open = sessions[member.session]?.channels[member.channel]?.open,
        isGone(open)
      else { continue }
      if Mutant.relaySparesOldKeys.isActive { continue }
      Probe.closedByRotation.hit()
      close(member.session, member.channel)
      send(member.session, push: .closed(channel: member.channel, RelayCore.accessChanged))
    }
  }

  /// Delivers the entries that one session appended to all others.
  private mutating func append(_ ticket: RelayTicket, _ entries: [RelayEntry], _ head: UInt64) {
    guard !entries.isEmpty else { return }
    counters.entriesAppended += entries.count
    deliver(
      ticket.mailbox, entries, head: head,
      author: RelayPushTarget(session: ticket.session, channel: ticket.channel))
  }
}
