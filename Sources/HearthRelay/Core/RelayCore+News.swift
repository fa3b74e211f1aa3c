import HearthCRDT
import HearthRelayProtocol
import HearthSync

// Pushes new entries, from here or from another relay, to all subscribers.
extension RelayCore {
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
  mutating func deliver(
    _ mailbox: Identifier, _ entries: [RelayEntry], head: UInt64, author: RelayPushTarget?
  ) {
    var groups: [PushGroup: [RelayPushTarget]] = [:]
    for member in rooms[mailbox]?.members ?? [] {
      guard let session = sessions[member.session],
        let subscription = session.channels[member.channel]?.open?.subscription
      else { continue }
      switch subscription {
      case .none: continue
      case .starting(let seen):
        update(member.session, member.channel) {
          $0.subscription = .starting(seen: max(seen, head))
        }
      case .live(let told):
        guard head > told else { continue }
        let first = RelayCore.place(of: told + 1, in: entries, endingAt: head)
        if let group = tell(member, entries, from: first, head: head, isOwn: member == author) {
          groups[group, default: []].append(member)
        }
      }
    }
    let last = rooms[mailbox]?.last
    for (group, targets) in groups.sorted(by: { $0.key < $1.key }) {
      Probe.pushedNews.hit()
      counters.pushes += targets.count
      let news = Array(entries[group.first...])
      effects.append(.share(targets, tail: pushTail(news, after: group.isPacked ? last : nil)))
    }
    rooms[mailbox]?.last = entries.last.flatMap {
      $0.header.position == head
        ? (head, RelayPackingBase(name: $0.header.name, blob: $0.blob)) : nil
    }
  }

  /// Records that a subscriber is informed of a head, and sends a hint if the entries are not
  /// pushed.
  ///
  /// - Parameter first: the index of the subscriber's first new entry; nil if entries of others lie
  ///   before.
  /// - Returns: the group with which the subscriber gets a push, if it gets one.
  private mutating func tell(
    _ member: RelayPushTarget, _ entries: [RelayEntry], from first: Int?, head: UInt64, isOwn: Bool
  ) -> PushGroup? {
    let isCongested = sessions[member.session]?.congestedAt != nil
    let isKnown = isOwn && first != nil
    let pushedFrom = first.flatMap { !isCongested && isPushed(entries[$0...]) ? $0 : nil }
    var couldFollow = false
    update(member.session, member.channel) {
      couldFollow = $0.holdsLast
      $0.subscription = .live(told: head)
      $0.holdsLast = $0.takesPacked && (isKnown || pushedFrom != nil)
      if isCongested, !isKnown { $0.missedHead = head }
    }
    if isKnown || isCongested { return nil }
    if let pushedFrom { return PushGroup(first: pushedFrom, isPacked: couldFollow) }
    counters.hints += 1
    send(member.session, push: .behind(channel: member.channel, head: head))
    return nil
  }

  /// A group of subscribers that get the same bytes: from the same entry on, and either packed or
  /// not.
  private struct PushGroup: Hashable, Comparable {
    let first: Int
    let isPacked: Bool

    static func < (left: PushGroup, right: PushGroup) -> Bool {
      (left.first, left.isPacked ? 1 : 0) < (right.first, right.isPacked ? 1 : 0)
    }
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

  private func isPushed(_ entries: ArraySlice<RelayEntry>) -> Bool {
    entries.reduce(0) { $0 + $1.blob.count + $1.header.name.count }
      <= configuration.maximumPushBytes
  }

  // MARK: Other relays of the same log

  /// The mailboxes that are open in some session, sorted.
  var openMailboxes: [Identifier] { rooms.keys.sorted() }

  /// Whether a mailbox is open in some session.
  func isOpen(_ mailbox: Identifier) -> Bool { rooms[mailbox] != nil }

  /// The earliest position up to which a mailbox's subscribers are informed; nil without
  /// subscribers.
  func told(of mailbox: Identifier) -> UInt64? {
    var least: UInt64?
    for member in rooms[mailbox]?.members ?? [] {
      let open = sessions[member.session]?.channels[member.channel]?.open
      if case .live(let told)? = open?.subscription { least = min(least ?? told, told) }
    }
    return least
  }

  /// Ends sessions whose right another relay revoked, and delivers new entries to the rest.
  mutating func take(_ news: RelayLogNews) {
    guard let room = rooms[news.name] else { return }
    guard let mailbox = news.mailbox, mailbox.head.generation == room.generation else {
      cut(news.name, sparing: nil) { _ in true }
      return
    }
    // A session that is changing the key right now stays: its answer is pending.
    let rotating = tickets.values.first {
      if case .rotate = $0.purpose { $0.mailbox == news.name } else { false }
    }
    // The news may be older than a session's proof, so a newer generation stays.
    cut(news.name, sparing: rotating) { open in
      switch open.authority {
      case .access(let generation):
        generation < mailbox.accessGeneration || mailbox.rank(of: open.author) == .struck
      case .manager, .author: mailbox.refusal(of: open.authority) != nil
      case .reader: false
      }
    }
    deliver(news.name, news.entries, head: mailbox.head.position, author: nil)
  }

  /// Closes every mailbox for all sessions.
  ///
  /// A client that reopens it sees whether the log has changed.
  mutating func reopenAll() {
    for mailbox in openMailboxes { cut(mailbox, sparing: nil) { _ in true } }
  }
}
