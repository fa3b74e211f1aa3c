import HearthCRDT

// Mailboxes that are made as belonging to another: that one is opened before.
extension RelayClientSession {
  /// To which mailbox a new one is to belong; nil where this session has none of them open.
  func parent(of mailbox: Identifier) -> RelayParent? {
    guard let access = boxes[mailbox]?.access, let child = access.child else { return nil }
    return access.parents.first { $0 != mailbox && boxes[$0]?.stage == .open }
      .map { RelayParent($0, child) }
  }

  /// Whether a mailbox was opened only because another is to belong to it, so that it is not made.
  func isOnlyForChild(_ mailbox: Identifier) -> Bool {
    guard let box = boxes[mailbox], box.isForChild, !box.wantsNews else { return false }
    return !tasks.values.contains { $0.mailbox == mailbox }
  }
}

/// Sees to it that a mailbox that may be made finds one open to which it can belong.
enum RelayParenthood {
  /// Begins to open a mailbox to which another may belong, where none is open yet.
  ///
  /// - Returns: Whether the other has to wait for it.
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
