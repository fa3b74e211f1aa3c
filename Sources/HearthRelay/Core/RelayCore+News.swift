import HearthCRDT
import HearthSync

// Push: what was appended here or by another relay, to everybody who subscribed.
extension RelayCore {
  /// Brings entries to all subscribers of a mailbox who were not told of them, encoded once.
  ///
  /// Who was told up to the entry before the first gets a push. Who was not, because another relay
  /// appended in between and the news of it are still under way, gets a hint at the head, and so
  /// does everybody if the entries are too large or end before the head.
  /// - Parameters:
  ///   - entries: Entries that follow each other.
  ///   - head: The position of the log's head after them.
  ///   - author: Who appended them, who is told only if entries of others came before.
  mutating func deliver(
    _ mailbox: Identifier, _ entries: [RelayEntry], head: UInt64, author: RelayPushTarget?
  ) {
    var groups: [Int: [RelayPushTarget]] = [:]
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
        update(member.session, member.channel) { $0.subscription = .live(told: head) }
        let first = RelayCore.place(of: told + 1, in: entries, endingAt: head)
        if first != nil, member == author { continue }
        if session.congestedAt != nil {
          update(member.session, member.channel) { $0.missedHead = head }
        } else if let first, isPushed(entries[first...]) {
          groups[first, default: []].append(member)
        } else {
          counters.hints += 1
          send(member.session, push: .behind(channel: member.channel, head: head))
        }
      }
    }
    for (first, targets) in groups.sorted(by: { $0.key < $1.key }) {
      Probe.pushedNews.hit()
      counters.pushes += targets.count
      effects.append(.share(targets, tail: RelayPushFrame.tail(of: Array(entries[first...]))))
    }
  }

  /// Where an entry is among entries that follow each other up to a head; nil if it is not.
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

  /// After which position subscribers of a mailbox want to be told; nil if there are none.
  func told(of mailbox: Identifier) -> UInt64? {
    var least: UInt64?
    for member in rooms[mailbox]?.members ?? [] {
      let open = sessions[member.session]?.channels[member.channel]?.open
      if case .live(let told)? = open?.subscription { least = min(least ?? told, told) }
    }
    return least
  }

  /// Ends sessions whose right another relay took away, and tells the rest what it appended.
  mutating func take(_ news: RelayLogNews) {
    guard let room = rooms[news.name] else { return }
    guard let mailbox = news.mailbox, mailbox.head.generation == room.generation else {
      cut(news.name, sparing: nil) { _ in true }
      return
    }
    // Who is changing the key right now stays: the answer is on its way.
    let rotating = tickets.values.first {
      if case .rotate = $0.purpose { $0.mailbox == news.name } else { false }
    }
    // The news may be older than what a session has proven, so a newer generation stays.
    cut(news.name, sparing: rotating) { authority in
      switch authority {
      case .access(let generation): generation < mailbox.accessGeneration
      case .manager(let key): !mailbox.managers.contains(key)
      case .reader: false
      }
    }
    deliver(news.name, news.entries, head: mailbox.head.position, author: nil)
  }

  /// Closes every mailbox to everybody: who opens it again sees whether the log is another.
  mutating func reopenAll() {
    for mailbox in openMailboxes { cut(mailbox, sparing: nil) { _ in true } }
  }
}
