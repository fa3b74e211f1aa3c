import HearthCRDT
import HearthCrypto

/// A relay's message: an answer to a request, or a push.
package enum RelayReply: RelayMessage {
  /// Answers `hello`.
  case welcome(RelayWelcome)
  /// Answers `open`: the key to prove, and a nonce that is valid for one proof.
  case challenge(keyID: Bytes16, nonce: Bytes32)
  /// Answers `prove` and `create`.
  case opened(RelayOpened)
  /// Answers `put`, with one outcome per item: everything stored is durable.
  case stored([RelayStored])
  /// Answers `remove`: the position of each removal, 0 if there was nothing to remove.
  case removed([UInt64])
  /// Answers `list`.
  case listing(RelayListing)
  /// Answers `fetch`: a blob or nil for as many of the names, from the first, as fit.
  case blobs([[UInt8]?])
  /// Answers `fetchAfter`.
  case entries(RelayPage)
  /// Answers `subscribe`: entries after this position will be pushed.
  case subscribed(head: UInt64)
  /// Answers `rotate`: the generation of the new key.
  case rotated(generation: UInt64)
  /// Answers requests that have no result.
  case done
  /// Answers `roster`.
  case roster(RelayRosterReport)
  /// Answers `ping`.
  case pong
  /// Answers `query`.
  case found(PublicAnswer)
  /// Answers any refused request.
  case fault(RelayFault)
  /// Pushed: new entries, without gaps after the last pushed one.
  case pushed(channel: Int, entries: [RelayEntry])
  /// Pushed: new entries that were put, from a position on, packed against the last reported entry
  /// of the channel.
  case pushedPacked(channel: Int, from: UInt64, items: [RelayPackedItem])
  /// Pushed: there are more entries than were pushed, up to this position; fetch them.
  case behind(channel: Int, head: UInt64)
  /// Pushed: the relay closed the channel.
  case closed(channel: Int, RelayFault)
  /// Pushed: the relay closes the connection.
  case farewell(RelayFault)
}

/// Who may create mailboxes at a relay.
package enum RelayRegistration: UInt8, Sendable, CaseIterable {
  /// Anybody.
  case open = 0
  /// Holders of a token from the operator.
  case token = 1
  /// Clients whose manager key the operator has listed.
  case allowList = 2
}

/// A relay's first statement about itself.
package struct RelayWelcome: Hashable, Sendable {
  /// The version that both sides now use.
  package let version: Int
  /// The relay's id.
  package let relayID: Bytes32
  /// Who may create mailboxes.
  package let registration: RelayRegistration
  /// After how many seconds without a frame the client should ping.
  ///
  /// Silence of three times that long ends the connection.
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

/// The relay's judgement of the cursor in a proof.
package enum RelayCursorStanding: Hashable, Sendable {
  /// The proof had none.
  case none
  /// The log has that position, and its chain there is this.
  case known(Bytes32)
  /// The log has another generation: it was wiped or restored.
  case otherGeneration
  /// The log ends before that position: it was set back.
  case beyondHead
}

/// The state of a mailbox that was opened.
package struct RelayOpened: Hashable, Sendable {
  /// The generation of the log and its last position.
  package let head: RelayCursor
  /// ``RelayChain`` at the head.
  package let chain: Bytes32
  /// The relay's judgement of the client's cursor.
  package let standing: RelayCursorStanding
  /// How often the access key was set; 1 for the first.
  package let accessGeneration: UInt64
  /// The rank of the device's own key.
  package let rank: RelayRank
  /// ``RelayRosterReport/digest(managers:authors:)`` of the listed keys.
  package let roster: Bytes16
  /// How many bytes of blobs and names the mailbox holds.
  package let usedBytes: UInt64
  /// How many bytes it may hold.
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

/// The result of putting one blob.
package struct RelayStored: Hashable, Sendable {
  /// The outcome of a put.
  package enum Outcome: UInt8, Sendable {
    /// Stored at a new position.
    case stored = 0
    /// The name already has the same bytes.
    case present = 1
    /// The name has other bytes and is not replaceable; nothing was changed.
    case conflict = 2
  }

  /// The outcome.
  package let outcome: Outcome
  /// The position of the name's entry.
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
  /// The last position that the page covers; list after it to continue.
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
  /// The last position of the log.
  ///
  /// The page ends the log if its last entry has this position.
  package let head: UInt64
  /// ``RelayChain`` after the page's last entry, or at the requested position if there is none.
  package let chain: Bytes32

  package init(entries: [RelayEntry], head: UInt64, chain: Bytes32) {
    self.entries = entries
    self.head = head
    self.chain = chain
  }
}
