import HearthCRDT
import HearthRelayProtocol
import HearthSync

/// The current value of a right to register.
package enum RelayRightStanding: Hashable, Sendable {
  /// It permits creating a mailbox.
  case good
  /// There is no such right.
  case none
  /// It was valid for a number of mailboxes, and they have been created.
  case usedUp
}

/// The rules for creating mailboxes, shared by every log so that all decide alike.
package enum RelayRegistrar {
  /// A child of the same parent and of the same kind.
  package struct Sibling: Hashable, Sendable {
    /// Its name.
    package let name: Identifier
    /// Whether it holds no blob.
    package let isEmpty: Bool
    /// The day of its last change.
    package let day: UInt32
    /// The key of its creator.
    package let maker: [UInt8]

    package init(name: Identifier, isEmpty: Bool, day: UInt32, maker: [UInt8]) {
      self.name = name
      self.isEmpty = isEmpty
      self.day = day
      self.maker = maker
    }
  }

  /// The decision.
  package enum Verdict: Hashable, Sendable {
    /// Nothing is created.
    case refused(RelayRefusal)
    /// The mailbox is created by the right to register, without a parent.
    case registered
    /// The mailbox is created without such a right, after these mailboxes are deleted.
    case adopted(RelayParent, dropping: [Identifier])
  }

  /// Decides whether a mailbox is created.
  ///
  /// A request may name a parent that does not exist, is a child itself, or is no longer open to
  /// the session. Such a request is treated as if it named none, so that naming a parent reveals
  /// nothing.
  ///
  /// - Parameters:
  ///   - isTaken: whether a mailbox of the name exists already.
  ///   - right: the value of the right to register.
  ///   - adoption: the request for a parent.
  ///   - parent: that parent; nil if it does not exist.
  ///   - siblings: the parent's children of the same kind, the oldest first.
  ///   - day: today.
  package static func judge(
    isTaken: Bool, right: RelayRightStanding, adoption: RelayAdoption?, parent: RelayMailbox?,
    siblings: [Sibling], day: UInt32
  ) -> Verdict {
    guard let adoption, let parent, parent.mayAdopt(by: adoption.authority) else {
      switch right {
      // The answer is the same for free and taken names, so that it reveals nothing about them.
      case .usedUp: return .refused(.tokenUsedUp)
      case .none: return .refused(.forbidden)
      case .good: return isTaken ? .refused(.forbidden) : .registered
      }
    }
    guard !isTaken else { return .refused(.forbidden) }
    let isManager = parent.rank(of: adoption.author) == .manager
    switch adoption.parent.child {
    case .handoff:
      // Anybody who may create rekey handoffs could displace those of others, and so lock out the
      // members who are away.
      guard isManager else { return .refused(.notManager) }
      let excess = max(0, siblings.count - RelayLimits.maximumHandoffs + 1)
      return .adopted(adoption.parent, dropping: siblings.prefix(excess).map(\.name))
    case .place, .words:
      let most = most(of: adoption.parent.child)
      let ofOthers = siblings.filter { !isManagers($0, of: parent) }
      // Non-managers have half of the rendezvous at most, so that managers always find one.
      let isHalfTaken = !isManager && ofOthers.count >= most / 2
      guard siblings.count >= most || isHalfTaken else {
        return .adopted(adoption.parent, dropping: [])
      }
      if isManager, let first = ofOthers.first {
        let idle = ofOthers.first { isIdle($0, as: adoption.parent.child, day) }
        return .adopted(adoption.parent, dropping: [(idle ?? first).name])
      }
      // Beyond that half, only another non-manager's mailbox may give way; else their share would
      // grow.
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

  /// The most children of one kind that a mailbox may have.
  package static func most(of child: RelayParent.Child) -> Int {
    switch child {
    case .handoff: RelayLimits.maximumHandoffs
    case .place: RelayLimits.maximumPlaces
    case .words: RelayLimits.maximumWords
    }
  }

  /// Whether a mailbox may be replaced by another.
  private static func isIdle(
    _ sibling: Sibling, as child: RelayParent.Child, _ day: UInt32
  ) -> Bool {
    // A mailbox that was created today may be empty because it is about to be filled.
    if sibling.isEmpty { return sibling.day < day }
    return child == .place && day >= sibling.day + RelayLimits.idlePlaceDays
  }
}

extension RelayMailbox {
  /// Whether a session with this authority may create children of this mailbox.
  package func mayAdopt(by authority: RelayAuthority) -> Bool {
    parent == nil && kind == .sealed && refusal(of: authority) == nil
  }
}
