import HearthCRDT
import HearthRelayProtocol

/// The subscribers of mailboxes: the sessions that have them open, in order of arrival.
struct RelaySubscribers {
  /// The last reported entry and the base for packed pushes, kept once and not for each subscriber.
  typealias LastEntry = (position: UInt64, base: RelayPackingBase)

  private struct Mailbox {
    /// The generation of the log that all of them opened.
    let generation: Identifier
    var members: [RelayPushTarget] = []
    var appends: RelayBucket
    var last: LastEntry?
  }

  private let configuration: RelayConfiguration
  private var mailboxes: [Identifier: Mailbox] = [:]

  init(_ configuration: RelayConfiguration) {
    self.configuration = configuration
  }

  /// The number of mailboxes with subscribers.
  var count: Int { mailboxes.count }

  /// The mailboxes with subscribers, sorted.
  var names: [Identifier] { mailboxes.keys.sorted() }

  /// The generation of the log that a mailbox's subscribers opened; nil if there are none.
  func generation(of mailbox: Identifier) -> Identifier? { mailboxes[mailbox]?.generation }

  /// The subscribers of a mailbox.
  func members(of mailbox: Identifier) -> [RelayPushTarget] { mailboxes[mailbox]?.members ?? [] }

  /// The entry of a mailbox that was reported last, if it can be a base for packed pushes.
  func last(of mailbox: Identifier) -> LastEntry? { mailboxes[mailbox]?.last }

  /// Records the entry that was reported last; nil if it cannot be a base.
  mutating func setLast(_ last: LastEntry?, of mailbox: Identifier) {
    mailboxes[mailbox]?.last = last
  }

  /// Counts entries that are to be appended to a mailbox.
  ///
  /// Returns 0, or the milliseconds to wait.
  mutating func appendWait(_ mailbox: Identifier, _ count: Int, now: UInt64) -> Int {
    mailboxes[mailbox]?.appends.take(count, now: now) ?? 0
  }

  /// Adds a subscriber; returns false if the mailbox has too many.
  mutating func join(
    _ mailbox: Identifier, generation: Identifier, _ member: RelayPushTarget, now: UInt64
  ) -> Bool {
    var entry =
      mailboxes[mailbox]
      ?? Mailbox(
        generation: generation,
        appends: RelayBucket(perMinute: configuration.mailboxAppendsPerMinute, now: now))
    guard entry.members.count < configuration.maximumMembers else { return false }
    entry.members.append(member)
    mailboxes[mailbox] = entry
    return true
  }

  /// Removes one channel of a session.
  mutating func leave(_ mailbox: Identifier, _ member: RelayPushTarget) {
    remove(mailbox) { $0 == member }
  }

  /// Removes all channels of a session.
  mutating func leave(_ mailbox: Identifier, session: RelaySessionID) {
    remove(mailbox) { $0.session == session }
  }

  private mutating func remove(
    _ mailbox: Identifier, where isGone: (RelayPushTarget) -> Bool
  ) {
    mailboxes[mailbox]?.members.removeAll(where: isGone)
    if mailboxes[mailbox]?.members.isEmpty == true { mailboxes[mailbox] = nil }
  }
}
