import HearthCRDT

// Mailboxes that are created as children of another one. The parent is opened first.
extension RelayClientSession {
  /// Returns the parent of a new mailbox; nil if this session has none of its possible parents
  /// open.
  func parent(of mailbox: Identifier) -> RelayParent? {
    guard let access = boxes[mailbox]?.access, let child = access.child else { return nil }
    return access.parents.first { $0 != mailbox && boxes[$0]?.stage == .open }
      .map { RelayParent($0, child) }
  }

  /// Whether a mailbox was opened only as another's parent, so that it is not created.
  func isOnlyForChild(_ mailbox: Identifier) -> Bool {
    guard let box = boxes[mailbox], box.isForChild, !box.wantsNews else { return false }
    return !tasks.values.contains { $0.mailbox == mailbox }
  }
}

/// Ensures that a new mailbox finds one of its possible parents open.
enum RelayParenthood {
  /// Begins to open a possible parent of a mailbox if none is open yet.
  ///
  /// - Returns: whether the child has to wait for it.
  static func waits(
    _ mailbox: Identifier, in session: inout RelayClientSession, now: UInt64
  ) -> Bool {
    guard let access = session.boxes[mailbox]?.access, access.mayCreate, !access.onlyOpens,
      session.parent(of: mailbox) == nil
    else { return false }
    for parent in access.parents where parent != mailbox {
      guard let box = session.boxes[parent], !box.isUnfit, !box.isBarred else { continue }
      switch box.stage {
      case .open: return false
      case .asked, .proving, .creating: return true
      case .closed:
        guard session.asked.count < RelayClientSession.maximumUnanswered else { return true }
        session.boxes[parent]?.isForChild = true
        session.openNow(parent, now: now)
        return session.boxes[parent]?.stage != .closed
      }
    }
    return false
  }
}
