import HearthCRDT
import HearthRelayProtocol
import HearthSync

/// The wish to make a mailbox that belongs to another, and the right to that other.
package struct RelayAdoption: Hashable, Sendable {
  /// To which mailbox it is to belong, and as what.
  package var parent: RelayParent
  /// By which right the session has that mailbox open; the log checks it in the same transaction.
  package var authority: RelayAuthority
  /// The own key of whoever has it open; empty where none was proven.
  package var author: [UInt8]

  package init(_ parent: RelayParent, by authority: RelayAuthority, author: [UInt8] = []) {
    self.author = author
    self.parent = parent
    self.authority = authority
  }
}

/// What a right to register is worth at the moment.
package enum RelayRightStanding: Hashable, Sendable {
  /// A mailbox may be made by it.
  case good
  /// There is no such right.
  case none
  /// It was good for a number of mailboxes, and they are made.
  case usedUp
}

/// Whether and how a mailbox is made: decided here for every log, so that all decide alike.
package enum RelayRegistrar {
  /// A mailbox that belongs to the same one, as the same.
  package struct Sibling: Hashable, Sendable {
    /// Its name.
    package let name: Identifier
    /// Whether it holds no blob.
    package let isEmpty: Bool
    /// The day of its last change.
    package let day: UInt32
    /// The key of whoever made it.
    package let maker: [UInt8]

    package init(name: Identifier, isEmpty: Bool, day: UInt32, maker: [UInt8]) {
      self.name = name
      self.isEmpty = isEmpty
      self.day = day
      self.maker = maker
    }
  }

  /// What comes of it.
  package enum Verdict: Hashable, Sendable {
    /// Nothing is made.
    case refused(RelayRefusal)
    /// It is made by the right to register, and belongs to none.
    case registered
    /// It is made without such a right, once these are gone.
    case adopted(RelayParent, dropping: [Identifier])
  }

  /// Decides.
  ///
  /// Whoever names a mailbox that is not there, belongs to another itself, or is not open to it any
  /// more, stands as if none had been named: nothing is learnt by naming.
  ///
  /// - Parameters:
  ///   - isTaken: Whether there is a mailbox of the name already.
  ///   - right: What the right to register is worth.
  ///   - adoption: The wish to belong to another mailbox.
  ///   - parent: That other mailbox; nil if there is none.
  ///   - siblings: What belongs to it as the same, from the oldest.
  ///   - day: Today.
  package static func judge(
    isTaken: Bool, right: RelayRightStanding, adoption: RelayAdoption?, parent: RelayMailbox?,
    siblings: [Sibling], day: UInt32
  ) -> Verdict {
    guard let adoption, let parent, parent.mayAdopt(by: adoption.authority) else {
      switch right {
      // Said of free and taken names alike, so that it tells nothing of them.
      case .usedUp: return .refused(.tokenUsedUp)
      case .none: return .refused(.forbidden)
      case .good: return isTaken ? .refused(.forbidden) : .registered
      }
    }
    guard !isTaken else { return .refused(.forbidden) }
    let isManager = parent.rank(of: adoption.author) == .manager
    switch adoption.parent.child {
    case .door:
      // Whoever could lay doors could drop those of others, and those who are away with them.
      guard isManager else { return .refused(.notManager) }
      let excess = max(0, siblings.count - RelayLimits.maximumDoors + 1)
      return .adopted(adoption.parent, dropping: siblings.prefix(excess).map(\.name))
    case .place, .words:
      let most = most(of: adoption.parent.child)
      let ofOthers = siblings.filter { !isManagers($0, of: parent) }
      // Who is no manager has half of them at most, so that managers always find one.
      let isHalfTaken = !isManager && ofOthers.count >= most / 2
      guard siblings.count >= most || isHalfTaken else {
        return .adopted(adoption.parent, dropping: [])
      }
      if isManager, let first = ofOthers.first {
        let idle = ofOthers.first { isIdle($0, as: adoption.parent.child, day) }
        return .adopted(adoption.parent, dropping: [(idle ?? first).name])
      }
      // Beyond that half only one of theirs gives way to them: else it would grow.
      let candidates = isHalfTaken ? ofOthers : siblings
      if let idle = candidates.first(where: { isIdle($0, as: adoption.parent.child, day) }) {
        return .adopted(adoption.parent, dropping: [idle.name])
      }
      return right == .good ? .registered : .refused(.children)
    }
  }

  private static func isManagers(_ sibling: Sibling, of parent: RelayMailbox) -> Bool {
    parent.rank(of: sibling.maker) == .manager
  }

  /// How many may belong to one mailbox as the same.
  package static func most(of child: RelayParent.Child) -> Int {
    switch child {
    case .door: RelayLimits.maximumDoors
    case .place: RelayLimits.maximumPlaces
    case .words: RelayLimits.maximumWords
    }
  }

  /// Whether one may give way to another.
  private static func isIdle(
    _ sibling: Sibling, as child: RelayParent.Child, _ day: UInt32
  ) -> Bool {
    // One that was made today may be empty because it is about to be filled.
    if sibling.isEmpty { return sibling.day < day }
    return child == .place && day >= sibling.day + RelayLimits.idlePlaceDays
  }
}

extension RelayMailbox {
  /// Whether a session with this authority may make mailboxes that belong to this one.
  package func mayAdopt(by authority: RelayAuthority) -> Bool {
    parent == nil && kind == .sealed && refusal(of: authority) == nil
  }
}

extension RelayQuota {
  /// The bytes that a mailbox may hold.
  ///
  /// One that belongs to another is made without a right to register, so it holds little: all of
  /// one mailbox's together 640 MiB at most, without any lock but their own.
  package func bytes(of mailbox: RelayMailbox) -> UInt64 {
    if let own = mailbox.quotaBytes { return own }
    return mailbox.parent == nil ? bytes : min(bytes, RelayLimits.maximumChildBytes)
  }

  /// The entries that a mailbox may have.
  package func entries(of mailbox: RelayMailbox) -> UInt64 {
    mailbox.parent == nil ? entries : min(entries, RelayLimits.maximumChildEntries)
  }
}
