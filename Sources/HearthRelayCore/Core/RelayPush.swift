import HearthCRDT
import HearthRelayProtocol

/// Pushes new entries, from here or from another relay, to all subscribers.
enum RelayPush {
  /// A group of subscribers that get the same bytes: from the same entry on, and either packed or
  /// not.
  private struct Group: Hashable, Comparable {
    let first: Int
    let isPacked: Bool

    static func < (left: Group, right: Group) -> Bool {
      (left.first, left.isPacked ? 1 : 0) < (right.first, right.isPacked ? 1 : 0)
    }
  }

  /// Delivers entries, encoded once, to all subscribers of a mailbox that do not have them yet.
  ///
  /// A subscriber that is up to date with the entry before the first gets a push. Another relay may
  /// have appended in between, with its news still in transit; a subscriber behind such a gap gets
  /// a hint at the head. All subscribers get a hint if the entries are too large or end before the
  /// head.
  ///
  /// - Parameters:
  ///   - entries: consecutive entries.
  ///   - head: the position of the log's head after them.
  ///   - author: the subscriber that appended the entries. It gets them only if entries of others
  ///     came before.
  static func deliver(
    _ mailbox: Identifier, _ entries: [RelayEntry], head: UInt64, author: RelayPushTarget?,
    in state: inout RelayState
  ) {
    var groups: [Group: [RelayPushTarget]] = [:]
    for member in state.subscribers.members(of: mailbox) {
      let open = state.sessions[member.session]?.channels[member.channel]?.open
      switch open?.subscription {
      case nil, .some(.none): continue
      case .starting(let seen):
        state.sessions.update(member.session, member.channel) {
          $0.subscription = .starting(seen: max(seen, head))
        }
      case .live(let reported):
        guard head > reported else { continue }
        let first = place(of: reported + 1, in: entries, endingAt: head)
        if let group = report(
          to: member, entries, from: first, head: head, isOwn: member == author, in: &state)
        {
          groups[group, default: []].append(member)
        }
      }
    }
    let last = state.subscribers.last(of: mailbox)
    for (group, targets) in groups.sorted(by: { $0.key < $1.key }) {
      Probe.pushedNews.hit()
      state.counters.pushes += targets.count
      let news = Array(entries[group.first...])
      let tail = RelayPackedFrames.pushTail(news, after: group.isPacked ? last : nil)
      state.effects.append(.share(targets, tail: tail))
    }
    let next = entries.last.flatMap {
      $0.header.position == head
        ? (head, RelayPackingBase(name: $0.header.name, blob: $0.blob)) : nil
    }
    state.subscribers.setLast(next, of: mailbox)
  }

  /// Records that a subscriber is informed of a head, and sends a hint if the entries are not
  /// pushed.
  ///
  /// - Parameter first: the index of the subscriber's first new entry; nil if entries of others lie
  ///   before.
  /// - Returns: the group with which the subscriber gets a push, if it gets one.
  private static func report(
    to member: RelayPushTarget, _ entries: [RelayEntry], from first: Int?, head: UInt64,
    isOwn: Bool, in state: inout RelayState
  ) -> Group? {
    let isCongested = state.sessions[member.session]?.congestedAt != nil
    let isKnown = isOwn && first != nil
    let most = state.configuration.maximumPushBytes
    let pushedFrom = first.flatMap {
      !isCongested && byteCount(entries[$0...]) <= most ? $0 : nil
    }
    var couldFollow = false
    state.sessions.update(member.session, member.channel) {
      couldFollow = $0.holdsLast
      $0.subscription = .live(reported: head)
      $0.holdsLast = $0.takesPacked && (isKnown || pushedFrom != nil)
      if isCongested, !isKnown { $0.missedHead = head }
    }
    if isKnown || isCongested { return nil }
    if let pushedFrom { return Group(first: pushedFrom, isPacked: couldFollow) }
    state.counters.hints += 1
    state.send(member.session, push: .behind(channel: member.channel, head: head))
    return nil
  }

  /// The index of a position among consecutive entries up to a head; nil if it is not among them.
  private static func place(
    of position: UInt64, in entries: [RelayEntry], endingAt head: UInt64
  ) -> Int? {
    guard let first = entries.first?.header.position, entries.last?.header.position == head,
      first <= position, position - first < UInt64(entries.count)
    else { return nil }
    return Int(position - first)
  }

  private static func byteCount(_ entries: ArraySlice<RelayEntry>) -> Int {
    entries.reduce(0) { $0 + $1.blob.count + $1.header.name.count }
  }

  /// Sends the hints that a session missed while it did not read.
  static func sendMissedHints(_ id: RelaySessionID, in state: inout RelayState) {
    let missed = state.sessions[id]?.channels.compactMap { number, channel in
      channel.open?.missedHead.map { (number, $0) }
    }
    for (number, head) in (missed ?? []).sorted(by: { $0.0 < $1.0 }) {
      state.sessions.update(id, number) {
        $0.missedHead = nil
        $0.holdsLast = false
      }
      state.counters.hints += 1
      state.send(id, push: .behind(channel: number, head: head))
    }
  }

  // MARK: Other relays of the same log

  /// The earliest position up to which a mailbox's subscribers are informed; nil without
  /// subscribers.
  static func reportedHead(of mailbox: Identifier, in state: RelayState) -> UInt64? {
    var least: UInt64?
    for member in state.subscribers.members(of: mailbox) {
      let open = state.sessions[member.session]?.channels[member.channel]?.open
      if case .live(let reported)? = open?.subscription {
        least = min(least ?? reported, reported)
      }
    }
    return least
  }

  /// Ends sessions whose right another relay revoked, and delivers new entries to the rest.
  static func take(_ news: RelayLogNews, in state: inout RelayState) {
    guard let generation = state.subscribers.generation(of: news.name) else { return }
    guard let mailbox = news.mailbox, mailbox.head.generation == generation else {
      state.cut(news.name)
      return
    }
    // A session that is changing the key right now stays: its answer is pending. The news may be
    // older than a session's proof, so a newer generation stays.
    state.cut(news.name, sparing: state.logRequests.rotation(of: news.name)) { open in
      switch open.authority {
      case .access(let generation):
        generation < mailbox.accessGeneration || mailbox.rank(of: open.author) == .struck
      case .manager, .author: mailbox.refusal(of: open.authority) != nil
      case .reader: false
      }
    }
    deliver(
      news.name, news.entries, head: mailbox.head.position, author: nil, in: &state)
  }
}
