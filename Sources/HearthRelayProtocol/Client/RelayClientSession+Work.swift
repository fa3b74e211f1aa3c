import HearthCRDT
import HearthCrypto

// Work over an established connection: opening mailboxes, asking questions, taking answers.
extension RelayClientSession {
  /// Opens the mailboxes in demand and sends all requests that can be sent.
  mutating func work(now: UInt64) {
    openPrefetched(now: now)
    for ticket in tasks.keys.sorted() {
      guard let task = tasks[ticket], !task.isSent, task.notBefore <= now else { continue }
      guard let box = boxes[task.mailbox] else {
        finish(ticket, .failure(.refused))
        continue
      }
      switch box.stage {
      case .closed: open(task.mailbox, now: now)
      case .asked, .proving, .creating: break
      case .open:
        guard asked.count < RelayClientSession.maximumUnanswered else { return }
        send(ticket, task, box, now: now)
      }
    }
    for mailbox in boxes.keys.sorted() {
      guard let box = boxes[mailbox], box.wantsNews, !box.isBarred, !box.isSubscribed else {
        continue
      }
      switch box.stage {
      case .closed: open(mailbox, now: now)
      case .asked, .proving, .creating: break
      case .open:
        guard let channel = box.channel else { continue }
        boxes[mailbox]?.isSubscribed = true
        send(
          .subscribe(channel: channel, takesPacked: true), .subscribe(mailbox), now: now)
      }
    }
  }

  /// Opens the mailboxes with pending questions and the prefetched ones.
  mutating func openPrefetched(now: UInt64) {
    let asked = Set(tasks.values.filter { !$0.isSent && $0.notBefore <= now }.map(\.mailbox))
    for mailbox in boxes.keys.sorted()
    where boxes[mailbox]?.stage == .closed
      && (boxes[mailbox]?.isPrefetched == true || asked.contains(mailbox))
    {
      guard self.asked.count < RelayClientSession.maximumUnanswered else { return }
      boxes[mailbox]?.isPrefetched = false
      open(mailbox, now: now)
    }
  }

  private mutating func open(_ mailbox: Identifier, now: UInt64) {
    guard !RelayParenthood.waits(mailbox, in: &self, now: now) else { return }
    openNow(mailbox, now: now)
  }

  mutating func openNow(_ mailbox: Identifier, now: UInt64) {
    let used = Set(boxes.values.compactMap(\.channel))
    guard let channel = (0..<RelayLimits.maximumChannels).first(where: { !used.contains($0) })
    else {
      fail(mailbox, .fault(RelayFault(.tooMany, "too many mailboxes are open")))
      boxes[mailbox]?.isBarred = true
      return
    }
    boxes[mailbox]?.channel = channel
    if boxes[mailbox]?.access.role == .reader {
      boxes[mailbox]?.stage = .proving(.access(0))
      boxes[mailbox]?.wanted = RelayAccess.keyID(of: [])
      boxes[mailbox]?.asserted = nil
      send(.openPublic(channel: channel, mailbox: mailbox), .prove(mailbox), now: now)
      return
    }
    boxes[mailbox]?.stage = .asked
    send(.open(channel: channel, mailbox: mailbox), .open(mailbox), now: now)
  }

  private mutating func send(_ ticket: UInt64, _ task: Task, _ box: Box, now: UInt64) {
    guard let channel = box.channel, let opening = box.opening else { return }
    let request: RelayRequest
    switch task.question {
    case .open:
      var told = opening
      told.isNew = opening.isNew && now <= box.openedAt + timing.freshMilliseconds
      told.wantsNewest =
        pair(0, of: task.mailbox).map {
          opening.wanted == RelayAccess.keyID(of: $0.publicKey.bytes)
        } ?? false
      finish(ticket, .success(.opened(told)))
      boxes[task.mailbox]?.opening?.isNew = false
      return
    case .put(let items): request = put(items, task.mailbox, channel)
    case .remove(let names): request = .remove(channel: channel, names: names)
    case .list(let after, let limit):
      request = .list(channel: channel, after: after, limit: limit, isLiveOnly: false)
    case .news(let after, let chain, let limit):
      if let entries = boxes[task.mailbox]?.end.entries(
        after: after, chain: chain, now: now, within: timing.confirmedMilliseconds)
      {
        Probe.pushSparedListing.hit()
        finish(ticket, .success(.announced(entries)))
        return
      }
      request = .list(channel: channel, after: after, limit: limit, isLiveOnly: false)
    case .fetch(let names):
      if let blobs = boxes[task.mailbox]?.pushed.take(names) {
        Probe.pushSparedFetch.hit()
        finish(ticket, .success(.reply(.blobs(blobs))))
        return
      }
      request = .fetch(channel: channel, names: names)
    case .fetchAfter(let position, let limit):
      request = .fetchAfter(channel: channel, after: position, limit: limit)
    case .query(let query): request = .query(channel: channel, query)
    case .setRank(let key, let rank): request = .setRank(channel: channel, key: key, rank: rank)
    case .roster: request = .roster(channel: channel)
    case .reset: request = .reset(channel: channel)
    case .close: request = .close(channel: channel)
    case .listOf(let author, let after, let limit):
      request = .list(
        channel: channel, after: after, limit: limit, isLiveOnly: true, author: author)
    case .rotate:
      guard let key = pair(0, of: task.mailbox)?.publicKey.bytes else {
        finish(ticket, .failure(.refused))
        return
      }
      if opening.wanted == RelayAccess.keyID(of: key) {
        // The key is already set. Setting it again would close the sessions of all members.
        let generation = opening.opened.accessGeneration
        finish(ticket, .success(.reply(.rotated(generation: generation))))
        return
      }
      request = .rotate(
        channel: channel, generation: opening.opened.accessGeneration, accessKey: key)
    }
    tasks[ticket]?.isSent = true
    tasks[ticket]?.opening = opening.number
    send(request, .task(ticket), now: now)
  }

  /// Returns the key pair of one of a mailbox's keys at this relay.
  private mutating func pair(_ place: Int, of mailbox: Identifier) -> SigningKeyPair? {
    guard let relayID = welcome?.relayID, let box = boxes[mailbox],
      place < box.access.keys.count
    else { return nil }
    if let known = box.pairs[place] { return known }
    let pair = try? box.access.keys[place].root.pair(
      mailbox: mailbox.bytes, relayID: relayID.array)
    boxes[mailbox]?.pairs[place] = pair
    return pair
  }

  private mutating func ownPair() -> SigningKeyPair? {
    guard let relayID = welcome?.relayID else { return nil }
    if manager == nil { manager = try? managerPair(relayID.array) }
    return manager
  }

  // MARK: Answers

  mutating func take(_ frame: RelayFrame<RelayReply>, now: UInt64) {
    guard phase != .idle else { return }
    if frame.message.isPush {
      takePush(frame.message, now: now)
      return
    }
    guard let question = asked.removeValue(forKey: frame.request) else {
      breakOff("it answered a request that was not sent", now: now)
      return
    }
    switch question.purpose {
    case .hello: takeWelcome(frame.message, now: now)
    case .ping, .close: break
    case .open(let mailbox): takeChallenge(frame.message, mailbox, now: now)
    case .prove(let mailbox): takeOpened(frame.message, mailbox, question, now: now)
    case .subscribe(let mailbox): takeSubscribed(frame.message, mailbox, now: now)
    case .task(let ticket): takeAnswer(frame.message, ticket, question, now: now)
    }
  }

  private mutating func takeWelcome(_ reply: RelayReply, now: UInt64) {
    switch reply {
    case .welcome(let welcome) where welcome.version == RelayLimits.version:
      self.welcome = welcome
      phase = .ready(since: now)
      wasReached = true
    case .fault(let fault):
      effects.append(.disconnect)
      lost(.fault(fault), now: now)
    default: breakOff("it does not greet as a relay does", now: now)
    }
  }

  private mutating func takeChallenge(_ reply: RelayReply, _ mailbox: Identifier, now: UInt64) {
    guard let box = boxes[mailbox], box.stage == .asked, let channel = box.channel,
      let relayID = welcome?.relayID
    else { return }
    switch reply {
    case .challenge(let keyID, let nonce):
      boxes[mailbox]?.wanted = keyID
      let binding = RelayAccess.Binding(
        relayID: relayID, pin: pin, relayNonce: nonce,
        clientNonce: Bytes32(exactly: chance(RelayAccess.nonceBytes)))
      for place in box.access.keys.indices.prefix(MailboxAccess.maximumKeys) {
        guard let pair = pair(place, of: mailbox),
          RelayAccess.keyID(of: pair.publicKey.bytes) == keyID
        else { continue }
        prove(mailbox, channel, by: pair, .access(place), binding, now: now)
        return
      }
      if isOnlyForChild(mailbox) {
        send(.close(channel: channel), .close, now: now)
        boxes[mailbox]?.close()
        boxes[mailbox]?.isUnfit = true
      } else if box.access.mayCreate, !box.access.onlyOpens, !box.hasTriedCreating,
        let access = pair(0, of: mailbox),
        let own = ownPair()
      {
        create(mailbox, channel, access, own, binding, now: now)
      } else if box.access.mayCreate, !box.hasTriedOwnKey, let own = ownPair() {
        boxes[mailbox]?.hasTriedOwnKey = true
        prove(mailbox, channel, by: own, .own, binding, now: now)
      } else {
        send(.close(channel: channel), .close, now: now)
        refuse(mailbox, .refused)
      }
    case .fault(let fault): takeOpeningFault(fault, mailbox, now: now)
    default: breakOff("it does not challenge as a relay does", now: now)
    }
  }

  private mutating func prove(
    _ mailbox: Identifier, _ channel: Int, by pair: SigningKeyPair, _ key: RelayOpening.Key,
    _ binding: RelayAccess.Binding, now: UInt64
  ) {
    boxes[mailbox]?.stage = .proving(key)
    let cursor = boxes[mailbox]?.cursor
    boxes[mailbox]?.asserted = cursor
    let name = mailbox.bytes
    let author =
      key == .own
      ? nil
      : ownPair().map {
        RelayAuthorProof(
          key: $0.publicKey.bytes,
          signature: RelayAccess.proveAuthor($0, mailbox: name, binding: binding))
      }
    let proof = RelayProof(
      channel: channel, keyID: RelayAccess.keyID(of: pair.publicKey.bytes),
      clientNonce: binding.clientNonce,
      signature: RelayAccess.prove(pair, mailbox: name, binding: binding),
      cursor: cursor, author: author)
    send(.prove(proof), .prove(mailbox), now: now)
  }

  private mutating func create(
    _ mailbox: Identifier, _ channel: Int, _ access: SigningKeyPair, _ own: SigningKeyPair,
    _ binding: RelayAccess.Binding, now: UInt64
  ) {
    boxes[mailbox]?.stage = .creating
    boxes[mailbox]?.wanted = RelayAccess.keyID(of: access.publicKey.bytes)
    boxes[mailbox]?.asserted = nil
    boxes[mailbox]?.hasTriedCreating = true
    var kind = RelayMailboxKind.sealed
    var catalogueName = ""
    if case .publisher(let name)? = boxes[mailbox]?.access.role {
      kind = .catalogue
      catalogueName = name
    }
    let parent = kind == .sealed ? parent(of: mailbox) : nil
    let signed = RelayAccess.Creation(
      kind: kind.rawValue, accessKey: access.publicKey.bytes,
      managerKey: own.publicKey.bytes, credential: credential, parent: parent?.bytes ?? [])
    let name = mailbox.bytes
    let creation = RelayCreation(
      channel: channel, kind: kind, accessKey: signed.accessKey,
      managerKey: signed.managerKey, credential: credential, parent: parent,
      clientNonce: binding.clientNonce,
      accessSignature: RelayAccess.signCreation(
        signed, with: access, mailbox: name, binding: binding),
      managerSignature: RelayAccess.signCreation(
        signed, with: own, mailbox: name, binding: binding), catalogueName: catalogueName)
    send(.create(creation), .prove(mailbox), now: now)
  }

  private mutating func takeOpened(
    _ reply: RelayReply, _ mailbox: Identifier, _ asked: Asked, now: UInt64
  ) {
    guard let box = boxes[mailbox], let wanted = box.wanted else { return }
    let key: RelayOpening.Key
    switch box.stage {
    case .proving(let proven): key = proven
    case .creating: key = .access(0)
    default: return
    }
    switch reply {
    case .opened(let opened):
      openings += 1
      boxes[mailbox]?.stage = .open
      boxes[mailbox]?.isBarred = false
      boxes[mailbox]?.openedAt = now
      boxes[mailbox]?.end.confirm(opened.head.position, opened.chain, askedAt: asked.since)
      boxes[mailbox]?.opening = RelayOpening(
        opened: opened, key: key, isCreated: box.stage == .creating, number: openings,
        wanted: wanted, relayID: welcome?.relayID.array ?? [], cursor: box.asserted)
    case .fault(let fault): takeOpeningFault(fault, mailbox, now: now)
    default: breakOff("it does not open as a relay does", now: now)
    }
  }

  private mutating func takeOpeningFault(
    _ fault: RelayFault, _ mailbox: Identifier, now: UInt64
  ) {
    let stage = boxes[mailbox]?.stage
    boxes[mailbox]?.stage = .closed
    boxes[mailbox]?.channel = nil
    if isOnlyForChild(mailbox) {
      boxes[mailbox]?.close()
      boxes[mailbox]?.isUnfit = true
      return
    }
    switch fault.code {
    case .refused where stage == .creating: break  // Try this device's own key next.
    case .tokenUsedUp where stage == .creating: boxes[mailbox]?.isTokenUsedUp = true
    case .refused: refuse(mailbox, .refused)
    case .struckOff: refuse(mailbox, .struckOff)
    case .rateLimited, .tooMany, .unavailable: postpone(mailbox, fault, now: now)
    default: refuse(mailbox, .fault(fault))
    }
  }

  /// Stops opening a mailbox until it is asked for again or its keys change.
  private mutating func refuse(_ mailbox: Identifier, _ failure: RelayFailure) {
    var failure = failure
    if failure == .refused, boxes[mailbox]?.hasTriedCreating == true,
      welcome?.registration == .allowList, let key = ownPair()?.publicKey.bytes
    {
      failure = .unlisted(key: key)
    }
    if failure == .refused, boxes[mailbox]?.isTokenUsedUp == true { failure = .tokenUsedUp }
    if failure == .refused, boxes[mailbox]?.hasTriedCreating == true,
      welcome?.registration == .token
    {
      failure = .unregistered
    }
    boxes[mailbox]?.close()
    boxes[mailbox]?.isBarred = true
    fail(mailbox, failure)
  }

  /// Retries after the time that the relay asks for, if that is within this session's patience.
  private mutating func postpone(_ mailbox: Identifier, _ fault: RelayFault, now: UInt64) {
    let wait = UInt64(fault.retryAfterMilliseconds)
    guard wait > 0, wait <= timing.patienceMilliseconds else {
      refuse(mailbox, .fault(fault))
      return
    }
    for ticket in tasks.keys.sorted() where tasks[ticket]?.mailbox == mailbox {
      retry(ticket, fault, after: wait, now: now)
    }
    if tasks.values.allSatisfy({ $0.mailbox != mailbox }) { boxes[mailbox]?.isBarred = true }
  }

  private mutating func retry(
    _ ticket: UInt64, _ fault: RelayFault, after wait: UInt64, now: UInt64
  ) {
    guard var task = tasks[ticket] else { return }
    task.tries += 1
    task.isSent = false
    task.notBefore = wait == 0 ? 0 : now + wait
    tasks[ticket] = task
    if task.tries >= timing.maximumTries { finish(ticket, .failure(.fault(fault))) }
  }

  private mutating func takeSubscribed(
    _ reply: RelayReply, _ mailbox: Identifier, now: UInt64
  ) {
    switch reply {
    case .subscribed(let head):
      boxes[mailbox]?.told = RelayToldLast()
      boxes[mailbox]?.told.skip(to: head)
      boxes[mailbox]?.end.subscribed(at: head)
      tell(mailbox, head)
    case .fault(let fault):
      boxes[mailbox]?.isBarred = fault.code != .accessChanged
      boxes[mailbox]?.isSubscribed = false
    default: breakOff("it does not subscribe as a relay does", now: now)
    }
  }

  private mutating func takeAnswer(
    _ reply: RelayReply, _ ticket: UInt64, _ asked: Asked, now: UInt64
  ) {
    guard let task = tasks[ticket] else { return }
    guard case .fault(let fault) = reply else {
      guard task.question.accepts(reply) else {
        breakOff("its answer does not fit the request", now: now)
        return
      }
      if case .rotated(let generation) = reply, var box = boxes[task.mailbox],
        let before = box.opening
      {
        box.opening?.key = before.key == .own ? .own : .access(0)
        box.opening?.opened = before.opened.with(accessGeneration: generation)
        if let key = pair(0, of: task.mailbox) {
          box.opening?.wanted = RelayAccess.keyID(of: key.publicKey.bytes)
        }
        boxes[task.mailbox] = box
      }
      switch task.question {
      // A reset closes the channels of all members, this one too.
      case .reset, .close: boxes[task.mailbox]?.close()
      default: break
      }
      losses = 0
      boxes[task.mailbox]?.told.take(task.question, reply)
      boxes[task.mailbox]?.end.take(task.question, reply, askedAt: asked.since)
      finish(ticket, .success(.reply(reply)))
      return
    }
    boxes[task.mailbox]?.end.forget()
    switch fault.code {
    case .accessChanged:
      if boxes[task.mailbox]?.opening?.number == task.opening { boxes[task.mailbox]?.close() }
      retry(ticket, fault, after: 0, now: now)
    case .wrongState where boxes[task.mailbox]?.opening?.number != task.opening:
      // The relay closed the mailbox because of a key change while the question was in transit.
      Probe.questionCrossedClosing.hit()
      retry(ticket, fault, after: 0, now: now)
    case .rateLimited, .tooMany, .unavailable:
      let wait = UInt64(fault.retryAfterMilliseconds)
      guard wait <= timing.patienceMilliseconds else {
        finish(ticket, .failure(.fault(fault)))
        return
      }
      retry(ticket, fault, after: max(wait, timing.firstPauseMilliseconds), now: now)
    case .conflict:
      // Another member set the key, but the relay did not close this session: open the mailbox
      // again.
      if boxes[task.mailbox]?.opening?.number == task.opening,
        let channel = boxes[task.mailbox]?.channel
      {
        boxes[task.mailbox]?.close()
        send(.close(channel: channel), .close, now: now)
      }
      finish(ticket, .failure(.fault(fault)))
    case .refused:
      // The mailbox was deleted while it was open, and the relay closed the channel: the next
      // question opens it again, or creates it.
      if boxes[task.mailbox]?.opening?.number == task.opening { boxes[task.mailbox]?.close() }
      finish(ticket, .failure(.fault(fault)))
    default: finish(ticket, .failure(.fault(fault)))
    }
  }

  // MARK: Pushes

  private mutating func takePush(_ push: RelayReply, now: UInt64) {
    switch push {
    case .pushed(let channel, let entries):
      if let mailbox = mailbox(at: channel) { take(entries, mailbox) }
    case .pushedPacked(let channel, let first, let items):
      guard let mailbox = mailbox(at: channel) else { return }
      guard let entries = entries(of: items, from: first, mailbox) else {
        breakOff("a packed push does not fit what it sent before", now: now)
        return
      }
      take(entries, mailbox)
    case .behind(let channel, let head):
      guard let mailbox = mailbox(at: channel) else { return }
      boxes[mailbox]?.told.skip(to: head)
      boxes[mailbox]?.end.skip(to: head)
      tell(mailbox, head)
    case .closed(let channel, _):
      guard let mailbox = mailbox(at: channel) else { return }
      boxes[mailbox]?.close()
      // Pending questions are still answered, usually with a fault, and are then retried.
      effects.append(.news(.closed(mailbox: mailbox)))
    case .farewell(let fault):
      effects.append(.disconnect)
      lost(
        [.malformed, .unsupportedVersion].contains(fault.code)
          ? .fault(fault) : .unreachable(fault.message), now: now)
    default: breakOff("it pushed something that is not a push", now: now)
    }
  }

  private mutating func take(_ entries: [RelayEntry], _ mailbox: Identifier) {
    guard let last = entries.last else { return }
    boxes[mailbox]?.pushed.append(entries)
    for entry in entries { boxes[mailbox]?.end.append(entry.header) }
    boxes[mailbox]?.told.take(last.header.position, name: last.header.name, blob: last.blob)
    tell(mailbox, last.header.position)
  }

  /// Reports a head.
  ///
  /// The head of the opening is then out of date.
  private mutating func tell(_ mailbox: Identifier, _ head: UInt64) {
    if boxes[mailbox]?.opening?.opened.head.position != head {
      boxes[mailbox]?.opening?.isNew = false
    }
    effects.append(.news(.stored(mailbox: mailbox, head: head)))
  }

  private func mailbox(at channel: Int) -> Identifier? {
    boxes.keys.sorted().first { boxes[$0]?.channel == channel && boxes[$0]?.stage == .open }
  }
}

extension RelayOpened {
  /// Returns the same state with another generation of the access key.
  func with(accessGeneration: UInt64) -> RelayOpened {
    RelayOpened(
      head: head, chain: chain, standing: standing, accessGeneration: accessGeneration,
      rank: rank, roster: roster, usedBytes: usedBytes, quotaBytes: quotaBytes)
  }
}
