import HearthCRDT

/// The mailboxes that a client's session knows, by name.
struct RelayClientMailboxes: Sendable {
  private var mailboxes: [Identifier: RelayClientMailbox] = [:]

  /// The state of a mailbox.
  subscript(name: Identifier) -> RelayClientMailbox? {
    get { mailboxes[name] }
    _modify { yield &mailboxes[name] }
  }

  /// The known mailboxes, sorted.
  var names: [Identifier] { mailboxes.keys.sorted() }

  /// Whether the pushes of some mailbox are wanted that can be opened.
  var wantNews: Bool { mailboxes.values.contains { $0.wantsNews && !$0.isBarred } }

  /// The first channel that no mailbox uses; nil if all are in use.
  var freeChannel: Int? {
    let used = Set(mailboxes.values.compactMap(\.channel))
    return (0..<RelayLimits.maximumChannels).first { !used.contains($0) }
  }

  /// The mailbox that is open on a channel.
  func name(at channel: Int) -> Identifier? {
    names.first { mailboxes[$0]?.channel == channel && mailboxes[$0]?.stage == .open }
  }

  /// Returns the parent of a new mailbox; nil if none of its possible parents is open.
  func parent(of name: Identifier) -> RelayParent? {
    guard let access = mailboxes[name]?.access, let child = access.child else { return nil }
    return access.parents.first { $0 != name && mailboxes[$0]?.stage == .open }
      .map { RelayParent($0, child) }
  }

  /// Stops wanting pushes.
  mutating func stopListening() {
    for name in mailboxes.keys { mailboxes[name]?.wantsNews = false }
  }

  /// Closes all, because the connection is gone.
  mutating func closeAll() {
    for name in names {
      mailboxes[name]?.close()
      mailboxes[name]?.isUnfit = false
    }
  }
}
