import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// The quota of one mailbox, unless the operator has set another one for it.
package struct RelayQuota: Hashable, Sendable {
  /// The bytes of live blobs, and of names with ``RelayQuota/entryBytes`` for every entry.
  package var bytes: UInt64
  /// The entries, live or not; fewer than the names that a client keeps of a mailbox.
  package var entries: UInt64
  /// The bytes that all mailboxes together may hold; nil for as many as the disk has.
  package var total: UInt64?

  package init(bytes: UInt64 = 1 << 30, entries: UInt64 = 800_000, total: UInt64? = nil) {
    self.bytes = bytes
    self.entries = entries
    self.total = total
  }

  /// Why a mailbox would hold too much after a put; nil if it would not.
  package func refusal(of mailbox: RelayMailbox, _ share: RelayShare) -> RelayRefusal? {
    share.refusal(
      mailbox.roster, used: mailbox.usedBytes, limit: bytes(of: mailbox), \.usedBytes)
      ?? share.refusal(
        mailbox.roster, used: mailbox.head.position, limit: entries(of: mailbox), \.entries)
  }

  /// Whether a growing mailbox, together with all others, exceeds the relay's total.
  package func isBeyondTotal(from before: UInt64, to after: UInt64, others: UInt64) -> Bool {
    guard let total else { return false }
    return after > before && others + after > total
  }

  /// The cost of an entry beside its name and blob: about what it takes in the log.
  package static let entryBytes: UInt64 = 96

  /// The cost of an entry without its blob.
  package static func cost(ofName name: [UInt8]) -> UInt64 {
    entryBytes + UInt64(name.count)
  }

  /// The bytes that a mailbox may hold.
  ///
  /// A child mailbox is created without a right to register, so it holds little. All children of
  /// one mailbox hold 640 MiB at most, without any lock but their own.
  package func bytes(of mailbox: RelayMailbox) -> UInt64 {
    if let own = mailbox.quotaBytes { return own }
    return mailbox.parent == nil ? bytes : min(bytes, RelayLimits.maximumChildBytes)
  }

  /// The entries that a mailbox may have.
  package func entries(of mailbox: RelayMailbox) -> UInt64 {
    mailbox.parent == nil ? entries : min(entries, RelayLimits.maximumChildEntries)
  }
}

/// An author's share of a mailbox, shared by every log so that all decide alike.
package struct RelayShare: Hashable, Sendable {
  private let rank: RelayRank
  private let isChild: Bool
  private let isCatalogue: Bool
  private let isAlone: Bool
  private let number: Int64

  /// - Parameter author: the author's own key; empty for a guest.
  package init(of author: [UInt8], in mailbox: RelayMailbox) {
    rank = mailbox.rank(of: author)
    isChild = mailbox.parent != nil
    isCatalogue = mailbox.kind == .catalogue
    isAlone = mailbox.roster.managers.count < 2
    number = mailbox.roster.number(of: author)
  }

  /// Why an amount of bytes or entries is too much; nil if it is not.
  ///
  /// - Parameters:
  ///   - roster: the resulting use of each key.
  ///   - used: the resulting total use.
  ///   - limit: the mailbox's limit.
  package func refusal(
    _ roster: RelayRoster, used: UInt64, limit: UInt64, _ measure: (RelaySeat) -> UInt64
  ) -> RelayRefusal? {
    if used > limit { return .quota }
    if isCatalogue { return nil }
    let own = roster.seats.first { $0.number == number }.map { measure($0.seat) } ?? 0
    let reserve = limit / RelayLimits.managersReserve
    if rank == .manager {
      // If there are several managers, each leaves room for the others. A single one may use
      // everything.
      return isAlone || isChild || own <= limit - reserve ? nil : .share
    }
    let guests = measure(roster.guestSeat)
    let others = roster.seats.reduce(guests) {
      $0 + ($1.seat.rank == .manager ? 0 : measure($1.seat))
    }
    if others > limit - reserve { return .quota }
    if isChild { return nil }
    switch rank {
    case .author: return own <= limit / RelayLimits.authorsShare ? nil : .share
    default:
      return guests <= limit / RelayLimits.guestsShare ? nil : .share
    }
  }
}
