import HearthCRDT
import HearthRelayProtocol
import HearthSync

// Who may do what in a mailbox: decided here for every log, so that all decide alike.
extension RelayMailbox {
  /// What a device's own key is worth in the mailbox.
  ///
  /// In what belongs to another mailbox that one's list alone says so, and having made it gives no
  /// right: whoever is struck off loses what it made as well. It is a guest there, so that a
  /// removed device may still read who removed it.
  package func rank(of key: [UInt8]) -> RelayRank {
    guard parent != nil else { return roster.rank(of: key) }
    let rank = parentRoster?.rank(of: key) ?? .guest
    return rank == .struck ? .guest : rank
  }

  /// Why a session with this authority may not work on the mailbox any more; nil if it may.
  package func refusal(of authority: RelayAuthority) -> RelayRefusal? {
    if Mutant.relaySparesOldKeys.isActive { return nil }
    return switch authority {
    case .access(let generation): generation == accessGeneration ? nil : .accessChanged
    case .manager(let key): rank(of: key) == .manager ? nil : .accessChanged
    case .author(let key): rank(of: key).isListed ? nil : .accessChanged
    case .reader: .forbidden
    }
  }

  /// Why a session with this authority may not read the mailbox any more; nil if it may.
  package func refusal(toRead authority: RelayAuthority) -> RelayRefusal? {
    if authority == .reader { return kind == .catalogue ? nil : .forbidden }
    return refusal(of: authority)
  }

  /// Why a write may not be done, apart from quotas; nil if it may.
  package func refusal(of write: RelayWrite) -> RelayRefusal? {
    guard let authority = write.authority else { return .forbidden }
    if let refusal = refusal(of: authority) { return refusal }
    // Nobody is listed in what belongs to another: its maker has the only seat.
    if parent != nil, case .setRank = write.action { return .notManager }
    if kind == .catalogue || rank(of: write.author) == .manager { return nil }
    switch write.action {
    case .create: return .forbidden
    // A door leads others to the keys of today: nobody but managers fills or empties it.
    case .put, .remove: return parent?.child == .door ? .notManager : nil
    case .rotate, .setRank, .reset: return .notManager
    }
  }

  /// Whether somebody may take away or replace what a seat stored.
  ///
  /// In meeting places whoever has the key may, as before: guests and members answer each other.
  package func mayDrop(storedBy number: Int64, _ author: [UInt8]) -> Bool {
    if kind == .catalogue || parent != nil || rank(of: author) == .manager { return true }
    let own = roster.number(of: author)
    return own != RelayRoster.guests && own == number
  }

  /// Whether somebody may put other bytes in place of replaceable ones that a seat stored.
  ///
  /// Where nobody but the maker was ever listed the mailbox follows no members' log: it is a
  /// meeting place, or one of recovery words, that was made while nothing was there to which it
  /// could belong.
  package func mayReplace(storedBy number: Int64, _ author: [UInt8]) -> Bool {
    mayDrop(storedBy: number, author) || roster.seats.count <= 1
  }
}

/// What one who stores may hold: decided here for every log, so that all decide alike.
package struct RelayShare: Hashable, Sendable {
  private let rank: RelayRank
  private let isChild: Bool
  private let isCatalogue: Bool
  private let isAlone: Bool
  private let number: Int64

  /// - Parameter author: the own key of whoever stores; empty for a guest.
  package init(of author: [UInt8], in mailbox: RelayMailbox) {
    rank = mailbox.rank(of: author)
    isChild = mailbox.parent != nil
    isCatalogue = mailbox.kind == .catalogue
    isAlone = mailbox.roster.managers.count < 2
    number = mailbox.roster.number(of: author)
  }

  /// Why so much is too much, of bytes or of entries; nil if it is not.
  ///
  /// - Parameters:
  ///   - roster: what all would hold.
  ///   - used: what all would hold together.
  ///   - limit: what the mailbox may hold.
  package func refusal(
    _ roster: RelayRoster, used: UInt64, limit: UInt64, _ measure: (RelaySeat) -> UInt64
  ) -> RelayRefusal? {
    if used > limit { return .quota }
    if isCatalogue { return nil }
    let own = roster.seats.first { $0.number == number }.map { measure($0.seat) } ?? 0
    let reserve = limit / RelayLimits.managersReserve
    if rank == .manager {
      // One of several managers leaves room for the others; one alone has all of it.
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
