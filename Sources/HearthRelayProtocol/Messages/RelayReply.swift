import HearthCRDT
import HearthCrypto

/// What a relay says: answers to requests, and pushes.
package enum RelayReply: RelayMessage {
  /// Answers `hello`.
  case welcome(RelayWelcome)
  /// Answers `open`: which key to prove, and a nonce that holds for one proof.
  case challenge(keyID: Bytes16, nonce: Bytes32)
  /// Answers `prove` and `create`.
  case opened(RelayOpened)
  /// Answers `put`, one outcome an item: everything stored is durable.
  case stored([RelayStored])
  /// Answers `remove`: the position of each removal, 0 where there was nothing to remove.
  case removed([UInt64])
  /// Answers `list`.
  case listing(RelayListing)
  /// Answers `fetch`: a blob or nil for as many of the names, from the first, as fit.
  case blobs([[UInt8]?])
  /// Answers `fetchAfter`.
  case entries(RelayPage)
  /// Answers `subscribe`: what is stored after this position is pushed.
  case subscribed(head: UInt64)
  /// Answers `rotate`: the generation of the new key.
  case rotated(generation: UInt64)
  /// Answers what has nothing to tell.
  case done
  /// Answers `roster`.
  case roster(RelayRosterReport)
  /// Answers `ping`.
  case pong
  /// Answers `query`.
  case found(PublicAnswer)
  /// Answers any request that was refused.
  case fault(RelayFault)
  /// Pushed: entries that were just stored, without gaps after the last that was pushed.
  case pushed(channel: Int, entries: [RelayEntry])
  /// The same in pieces that repeat the last entry that was told of on the channel: blobs that
  /// were put, from a position on.
  case pushedPacked(channel: Int, from: UInt64, items: [RelayPackedItem])
  /// Pushed: there is more than what was pushed, up to this position; fetch it.
  case behind(channel: Int, head: UInt64)
  /// Pushed: the channel was closed by the relay.
  case closed(channel: Int, RelayFault)
  /// Pushed: the relay closes the connection.
  case farewell(RelayFault)
}

/// Who may make mailboxes at a relay.
package enum RelayRegistration: UInt8, Sendable, CaseIterable {
  /// Anybody.
  case open = 0
  /// Who has a token of the operator.
  case token = 1
  /// Whose manager key the operator has listed.
  case allowList = 2
}

/// What a relay says of itself first.
package struct RelayWelcome: Hashable, Sendable {
  /// The version that both sides now speak.
  package let version: Int
  /// The relay's id.
  package let relayID: Bytes32
  /// Who may make mailboxes.
  package let registration: RelayRegistration
  /// After how many seconds without a frame the client should ping; silence of three times that
  /// long ends the connection.
  package let heartbeatSeconds: Int

  package init(
    version: Int, relayID: Bytes32, registration: RelayRegistration, heartbeatSeconds: Int
  ) {
    self.version = version
    self.relayID = relayID
    self.registration = registration
    self.heartbeatSeconds = heartbeatSeconds
  }
}

/// What the relay makes of the cursor in a proof.
package enum RelayCursorStanding: Hashable, Sendable {
  /// The proof had none.
  case none
  /// The log has that position; its chain there is this.
  case known(Bytes32)
  /// The log has another generation: it was wiped or restored.
  case otherGeneration
  /// The log ends before that position: it was set back.
  case beyondHead
}

/// The state of a mailbox that was opened.
package struct RelayOpened: Hashable, Sendable {
  /// The life of the log and its last position.
  package let head: RelayCursor
  /// ``RelayChain`` at the head.
  package let chain: Bytes32
  /// What the relay makes of the client's cursor.
  package let standing: RelayCursorStanding
  /// How often the access key was set; 1 for the first.
  package let accessGeneration: UInt64
  /// What the device's own key is worth there.
  package let rank: RelayRank
  /// ``RelayRosterReport/digest(managers:authors:)`` of the keys that are listed.
  package let roster: Bytes16
  /// How many bytes of blobs and names the mailbox holds.
  package let usedBytes: UInt64
  /// How many it may hold.
  package let quotaBytes: UInt64

  package init(
    head: RelayCursor, chain: Bytes32, standing: RelayCursorStanding, accessGeneration: UInt64,
    rank: RelayRank, roster: Bytes16, usedBytes: UInt64, quotaBytes: UInt64
  ) {
    self.head = head
    self.chain = chain
    self.standing = standing
    self.accessGeneration = accessGeneration
    self.rank = rank
    self.roster = roster
    self.usedBytes = usedBytes
    self.quotaBytes = quotaBytes
  }
}

/// What became of one blob.
package struct RelayStored: Hashable, Sendable {
  /// How a put ended.
  package enum Outcome: UInt8, Sendable {
    /// Stored at a new position.
    case stored = 0
    /// The same bytes were there under that name.
    case present = 1
    /// Other bytes are there under that name, and it is not replaceable; nothing was changed.
    case conflict = 2
  }

  /// How it ended.
  package let outcome: Outcome
  /// Where the name's entry is.
  package let position: UInt64

  package init(_ outcome: Outcome, position: UInt64) {
    self.outcome = outcome
    self.position = position
  }
}

/// One page of a listing.
package struct RelayListing: Hashable, Sendable {
  /// The entries in order of position.
  package let headers: [RelayHeader]
  /// How far the log was looked through; list after it to go on.
  package let through: UInt64
  /// The last position of the log.
  package let head: UInt64
  /// ``RelayChain`` at `through`.
  package let chain: Bytes32

  package init(headers: [RelayHeader], through: UInt64, head: UInt64, chain: Bytes32) {
    self.headers = headers
    self.through = through
    self.head = head
    self.chain = chain
  }
}

/// One page of a log with its blobs.
package struct RelayPage: Hashable, Sendable {
  /// The entries in order of position, without gaps.
  package let entries: [RelayEntry]
  /// The last position of the log; the page ends it when its last entry has this position.
  package let head: UInt64
  /// ``RelayChain`` after the page's last entry, or at the position asked for if there is none.
  package let chain: Bytes32

  package init(entries: [RelayEntry], head: UInt64, chain: Bytes32) {
    self.entries = entries
    self.head = head
    self.chain = chain
  }
}
