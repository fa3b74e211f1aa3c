import HearthCRDT
import HearthCrypto

/// What a client wants of an open mailbox; asking again after a lost connection does no harm.
package enum RelayQuestion: Sendable {
  /// That it is open; answered with how it was opened.
  case open
  /// To store blobs.
  case put([RelayPut])
  /// To drop blobs.
  case remove([[UInt8]])
  /// The entries after a position, without blobs.
  case list(after: UInt64, limit: Int)
  /// What came after a position, with the chain there: as this connection has told of it, where
  /// that is all and the relay was asked lately, else listed.
  case news(after: UInt64, chain: Bytes32, limit: Int)
  /// Blobs by name.
  case fetch([[UInt8]])
  /// To set the access key to the first that this client knows.
  case rotate
  /// The entries after a position, with their blobs.
  case fetchAfter(UInt64, limit: Int)
  /// Records of a catalogue.
  case query(PublicQuery)
  /// To list a device's key, or to strike it off.
  case setRank(key: [UInt8], RelayRank)
  /// Who is listed, and who stored how much.
  case roster
  /// To drop all that the mailbox holds.
  case reset
  /// The live entries that were stored with a key, after a position, without blobs.
  case listOf(author: [UInt8], after: UInt64, limit: Int)

  /// Whether a reply is an answer to this, with counts and order as they must be.
  func accepts(_ reply: RelayReply) -> Bool {
    switch (self, reply) {
    case (.put(let items), .stored(let stored)): stored.count == items.count
    case (.remove(let names), .removed(let positions)): positions.count == names.count
    case (.list(let after, let limit), .listing(let page)),
      (.listOf(_, let after, let limit), .listing(let page)),
      (.news(let after, _, let limit), .listing(let page)):
      // A log that ends before what is asked for is news, not nonsense: it was set back.
      page.headers.count <= limit
        && (page.through >= after || (page.headers.isEmpty && page.through == page.head))
        && page.headers.allSatisfy { $0.position > after && $0.position <= page.through }
        && zip(page.headers, page.headers.dropFirst()).allSatisfy { $0.position < $1.position }
    case (.fetch(let names), .blobs(let blobs)):
      !blobs.isEmpty && blobs.count <= names.count
    case (.rotate, .rotated), (.setRank, .done), (.roster, .roster), (.reset, .done): true
    case (.fetchAfter(let after, let limit), .entries(let page)):
      page.entries.count <= limit && page.head >= page.entries.last?.header.position ?? 0
        && page.entries.first?.header.position ?? after + 1 == after + 1
    case (.query(let query), .found(let answer)):
      answer.records.count <= query.limit
        && answer.next.map { query.after.utf8.lexicographicallyPrecedes($0.utf8) } ?? true
    default: false
    }
  }
}

/// How a mailbox was opened.
package struct RelayOpening: Sendable, Equatable {
  /// By which key.
  package enum Key: Sendable, Equatable {
    /// By one of the access keys, by its place; 0 is the one that should open it.
    case access(Int)
    /// By this device's own key, which a manager has listed.
    case own
  }

  /// What the relay said.
  package var opened: RelayOpened
  /// By which key.
  package var key: Key
  /// Whether the mailbox was made thereby.
  package let isCreated: Bool
  /// Rises with every opening of a session: the relay said this at a moment of its own.
  package let number: UInt64
  /// The id of the key that the relay wanted.
  package var wanted: Bytes16
  /// Whether that is the first of the client's keys now.
  package var wantsNewest = false
  /// The relay's id, with which devices' keys there are computed.
  package var relayID: [UInt8] = []
  /// What the client knew of the log then: the standing is about this.
  package let cursor: RelayCursor?
  /// Whether nobody was told of this opening before: what it says of the head is of this moment.
  package var isNew = true
}

/// What came of a ``RelayQuestion``.
package enum RelayOutcome: Sendable {
  /// The mailbox is open.
  case opened(RelayOpening)
  /// What came, up to the last that the relay told of; nothing was asked.
  case told([RelayHeader])
  /// The relay's answer, which fits the question.
  case reply(RelayReply)
}

/// Why a question has no answer.
package enum RelayFailure: Error, Sendable, Equatable {
  /// The relay cannot be reached, in words.
  case unreachable(String)
  /// The relay shows another certificate than the pinned one.
  case certificate
  /// The relay's certificate is not vouched for as its address demands, in words.
  case untrusted(String)
  /// No key of this client opens the mailbox, or there is none.
  case refused
  /// A manager of the mailbox has taken this device's key off its list.
  case struckOff
  /// The same, where this client would have made the mailbox and the relay's operator lists the
  /// keys of those who may: the client's key for this relay.
  case unlisted(key: [UInt8])
  /// The same, where this client would have made the mailbox and its token is used up.
  case tokenUsedUp
  /// The same, where this client would have made the mailbox at a relay that wants a token: it has
  /// none that is good, or somebody else has the name.
  case unregistered
  /// The relay said no, for another reason.
  case fault(RelayFault)
  /// The relay does not keep to the protocol, in words.
  case protocolBroken(String)
}

/// What a relay tells without being asked.
package enum RelayNews: Sendable, Equatable {
  /// Something was stored; pushes from here on come after this position.
  case stored(mailbox: Identifier, head: UInt64)
  /// The mailbox was closed: its access key was changed, as a rule.
  case closed(mailbox: Identifier)
  /// The connection was lost; what happens meanwhile is told by the subscription that follows.
  case lost
}

/// How long a client waits for what.
package struct RelayClientTiming: Sendable {
  /// For a connection with its greeting.
  package var connectMilliseconds: UInt64 = 10_000
  /// For any frame while answers are due.
  package var answerMilliseconds: UInt64 = 15_000
  /// For a connection that was lost to come back, before questions fail.
  package var patienceMilliseconds: UInt64 = 5_000
  /// The first pause before connecting again; it doubles each time.
  package var firstPauseMilliseconds: UInt64 = 100
  /// The longest pause.
  package var longestPauseMilliseconds: UInt64 = 60_000
  /// The least time between two attempts, however much is asked.
  package var leastPauseMilliseconds: UInt64 = 50
  /// A connection that lived this long was a good one: pauses begin anew.
  package var steadyMilliseconds: UInt64 = 10_000
  /// How long what a relay says of its head at an opening is taken for the present.
  package var freshMilliseconds: UInt64 = 1_000
  /// For how long what a connection tells of a log is taken for the log, after the relay was asked
  /// for it: so a relay that pushes another log than it shows is noticed after this.
  package var confirmedMilliseconds: UInt64 = 60_000
  /// How often one question is sent.
  package var maximumTries = 4

  package init() {}
}
