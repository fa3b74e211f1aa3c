import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// Requests to open mailboxes, and the log's answers to them.
struct RelayMailboxRequests {
  private let random: @Sendable (Int) -> [UInt8]

  init(random: @escaping @Sendable (Int) -> [UInt8]) {
    self.random = random
  }

  // MARK: Requests

  /// Works on a request to a mailbox that is open on the request's channel.
  func perform(_ call: RelayCall, _ open: RelayChannel.Open, in state: inout RelayState) {
    switch call.message {
    case .put(_, let items):
      guard !items.contains(where: { RelayName.isForged($0.name, of: $0.blob) }) else {
        state.fail(
          call.session, call.request,
          RelayFault(.notAllowed, "an attachment's name is not the digest of its bytes"))
        return
      }
      guard mayAppend(call, items.count, to: open.mailbox, in: &state) else { return }
      write(.put(items), call, open, for: .put(items), in: &state)
    case .remove(_, let names):
      guard mayAppend(call, names.count, to: open.mailbox, in: &state) else { return }
      write(.remove(names), call, open, for: .remove, in: &state)
    case .putPacked:
      state.fail(
        call.session, call.request,
        RelayFault(.wrongState, "the mailbox was opened after this request"))
    case .subscribe(let channel, let takesPacked):
      state.sessions.update(call.session, channel) {
        $0.subscription = .starting(seen: 0)
        $0.takesPacked = takesPacked
        $0.holdsLast = false
      }
      state.read(call, open.mailbox, open.authority, .head, for: .subscribe)
    case .unsubscribe(let channel):
      state.sessions.update(call.session, channel) {
        $0.subscription = .none
        $0.holdsLast = false
        $0.missedHead = nil
      }
      state.send(call.session, call.request, .done)
    case .rotate(_, let generation, let key):
      guard isKey(key, call, in: &state) else { return }
      write(
        .rotate(generation: generation, accessKey: key), call, open, for: .rotate, in: &state)
    case .setRank(_, let key, let rank):
      guard !rank.isListed || isKey(key, call, in: &state) else { return }
      write(.setRank(key, rank), call, open, for: .setRank(key), in: &state)
    case .reset:
      let generation = Identifier(bytes: random(Identifier.byteCount)) ?? .zero
      write(.reset(generation: generation), call, open, for: .reset, in: &state)
    default:
      guard let question = question(of: call.message) else { return }
      if case .query = question { state.counters.queries += 1 }
      state.read(call, open.mailbox, open.authority, question, for: .page)
    }
  }

  /// The question to the log behind a request to read; nil for other requests.
  private func question(of message: RelayRequest) -> RelayRead.Question? {
    switch message {
    case .list(_, let after, let limit, let isLiveOnly, let author):
      .list(after: after, limit: limit, isLiveOnly: isLiveOnly, author: author)
    case .fetch(_, let names): .fetch(names, byteLimit: RelayLimits.maximumBatchBytes)
    case .fetchAfter(_, let after, let limit):
      .page(after: after, limit: limit, byteLimit: RelayLimits.maximumBatchBytes)
    case .query(_, let query): .query(query, byteLimit: PublicLimits.maximumAnswerBytes)
    case .roster: .roster
    default: nil
    }
  }

  private func write(
    _ action: RelayWrite.Action, _ call: RelayCall, _ open: RelayChannel.Open,
    for purpose: RelayTicket.Purpose, in state: inout RelayState
  ) {
    state.write(call, open.mailbox, open.authority, open.author, action, for: purpose)
  }

  private func isKey(_ key: [UInt8], _ call: RelayCall, in state: inout RelayState) -> Bool {
    if (try? SigningPublicKey(validating: key)) != nil { return true }
    state.fail(
      call.session, call.request,
      RelayFault(.notAllowed, "the new key is no usable Ed25519 public key"))
    return false
  }

  private func mayAppend(
    _ call: RelayCall, _ count: Int, to mailbox: Identifier, in state: inout RelayState
  ) -> Bool {
    let now = state.now
    let own = state.sessions[call.session]?.appends.take(count, now: now) ?? 0
    let wait = own > 0 ? own : state.subscribers.appendWait(mailbox, count, now: now)
    guard wait > 0 else { return true }
    state.counters.limited += 1
    state.fail(
      call.session, call.request,
      RelayFault(.rateLimited, "too many entries a minute", retryAfterMilliseconds: wait))
    return false
  }

  // MARK: Answers of the log

  /// Answers with a page, unless the mailbox was closed to the session during the read.
  func answer(_ ticket: RelayTicket, _ page: RelayReply, in state: inout RelayState) {
    let open = state.sessions[ticket.session]?.channels[ticket.channel]?.open
    guard open?.mailbox == ticket.mailbox else {
      state.fail(ticket.session, ticket.request, .accessChanged)
      return
    }
    state.counters.pagesRead += 1
    state.send(ticket.session, ticket.request, page)
  }

  /// Begins a subscription at the head that the log reported.
  func subscribed(_ ticket: RelayTicket, _ head: UInt64, in state: inout RelayState) {
    var head = head
    state.sessions.update(ticket.session, ticket.channel) {
      if case .starting(let seen) = $0.subscription {
        head = max(head, seen)
        $0.subscription = .live(reported: head)
      }
    }
    state.send(ticket.session, ticket.request, .subscribed(head: head))
  }

  /// Answers a put and pushes what was stored.
  func stored(
    _ ticket: RelayTicket, _ items: [RelayPut], _ outcomes: [RelayStored],
    _ appended: [RelayHeader], head: UInt64, in state: inout RelayState
  ) {
    state.send(ticket.session, ticket.request, .stored(outcomes))
    let stored = zip(items, outcomes).filter { $0.1.outcome == .stored }
    let entries = zip(appended, stored).map { RelayEntry(header: $0, blob: $1.0.blob) }
    state.counters.bytesAppended += entries.reduce(0) { $0 + $1.blob.count }
    append(ticket, entries, head, in: &state)
  }

  /// Answers a removal and pushes it.
  func removed(
    _ ticket: RelayTicket, _ positions: [UInt64], _ appended: [RelayHeader], head: UInt64,
    in state: inout RelayState
  ) {
    state.send(ticket.session, ticket.request, .removed(positions))
    append(ticket, appended.map { RelayEntry(header: $0, blob: []) }, head, in: &state)
  }

  /// Delivers the entries that one session appended to all others.
  private func append(
    _ ticket: RelayTicket, _ entries: [RelayEntry], _ head: UInt64, in state: inout RelayState
  ) {
    guard !entries.isEmpty else { return }
    state.counters.entriesAppended += entries.count
    RelayPush.deliver(
      ticket.mailbox, entries, head: head,
      author: RelayPushTarget(session: ticket.session, channel: ticket.channel), in: &state)
  }

  /// Answers a change of the access key, and closes the mailbox to holders of the old one.
  func rotated(_ ticket: RelayTicket, _ generation: UInt64, in state: inout RelayState) {
    state.counters.rotations += 1
    state.cut(ticket.mailbox, sparing: ticket) { open in
      if case .access(let old) = open.authority { old < generation } else { false }
    }
    state.sessions.update(ticket.session, ticket.channel) {
      if case .access = $0.authority { $0.authority = .access(generation: generation) }
    }
    state.send(ticket.session, ticket.request, .rotated(generation: generation))
  }

  /// Answers a change of a key's rank; a session with the key must reopen the mailbox, if it may.
  func ranked(_ ticket: RelayTicket, _ key: [UInt8], in state: inout RelayState) {
    state.send(ticket.session, ticket.request, .done)
    state.cut(ticket.mailbox) { $0.author == key }
  }

  /// Answers a reset, and closes the mailbox to all.
  func reset(_ ticket: RelayTicket, in state: inout RelayState) {
    state.send(ticket.session, ticket.request, .done)
    state.cut(ticket.mailbox)
  }
}
