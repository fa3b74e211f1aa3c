import HearthCRDT
import HearthRelayProtocol
import HearthSync

// The permissions in a mailbox, shared by every log so that all decide alike.
extension RelayMailbox {
  /// Returns the rank of a device's own key in the mailbox.
  ///
  /// In a child mailbox only the parent's roster decides, and having created the child gives no
  /// right: a removed device also loses the mailboxes that it created. It is a guest there, so that
  /// it may still read who removed it.
  package func rank(of key: [UInt8]) -> RelayRank {
    guard parent != nil else { return roster.rank(of: key) }
    let rank = parentRoster?.rank(of: key) ?? .guest
    return rank == .struck ? .guest : rank
  }

  /// Why a session with this authority may no longer work on the mailbox; nil if it may.
  package func refusal(of authority: RelayAuthority) -> RelayRefusal? {
    if Mutant.relaySparesOldKeys.isActive { return nil }
    return switch authority {
    case .access(let generation): generation == accessGeneration ? nil : .accessChanged
    case .manager(let key): rank(of: key) == .manager ? nil : .accessChanged
    case .author(let key): rank(of: key).isListed ? nil : .accessChanged
    case .reader: .forbidden
    }
  }

  /// Why a session with this authority may no longer read the mailbox; nil if it may.
  package func refusal(toRead authority: RelayAuthority) -> RelayRefusal? {
    if authority == .reader { return kind == .catalogue ? nil : .forbidden }
    return refusal(of: authority)
  }

  /// Why a write is not permitted, apart from quotas; nil if it is.
  package func refusal(of write: RelayWrite) -> RelayRefusal? {
    guard let authority = write.authority else { return .forbidden }
    if let refusal = refusal(of: authority) { return refusal }
    // A child mailbox has no roster of its own: its creator has the only seat.
    if parent != nil, case .setRank = write.action { return .notManager }
    if kind == .catalogue || rank(of: write.author) == .manager { return nil }
    switch write.action {
    case .create: return .forbidden
    // A rekey handoff leads others to the current keys, so only managers may fill or empty it.
    case .put, .remove: return parent?.child == .handoff ? .notManager : nil
    case .rotate, .setRank, .reset: return .notManager
    }
  }

  /// Whether an author may remove or replace an entry that a seat stored.
  ///
  /// In rendezvous mailboxes every key holder may: guests and members answer each other.
  package func mayDrop(storedBy number: Int64, _ author: [UInt8]) -> Bool {
    if kind == .catalogue || parent != nil || rank(of: author) == .manager { return true }
    let own = roster.number(of: author)
    return own != RelayRoster.guests && own == number
  }

  /// Whether an author may replace the bytes of a replaceable entry that a seat stored.
  ///
  /// If the creator is the only key that was ever listed, the mailbox follows no control log. It is
  /// then a rendezvous or a recovery mailbox that was created when it had no possible parent.
  package func mayReplace(storedBy number: Int64, _ author: [UInt8]) -> Bool {
    mayDrop(storedBy: number, author) || roster.seats.count <= 1
  }
}
