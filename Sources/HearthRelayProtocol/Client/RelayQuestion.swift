import HearthCRDT
import HearthCrypto

/// A question about an open mailbox.
///
/// Repeating it after a lost connection does no harm.
package enum RelayQuestion: Sendable {
  /// Open the mailbox; the answer is how it was opened.
  case open
  /// Store blobs.
  case put([RelayPut])
  /// Remove blobs.
  case remove([[UInt8]])
  /// List the entries after a position, without blobs.
  case list(after: UInt64, limit: Int)
  /// Get the entries after a position, given the chain there.
  ///
  /// The connection's own reports answer this if they are complete and the relay was asked
  /// recently. Otherwise the relay lists the entries.
  case news(after: UInt64, chain: Bytes32, limit: Int)
  /// Fetch blobs by name.
  case fetch([[UInt8]])
  /// Set the access key to the client's first key.
  case rotate
  /// Fetch the entries after a position, with their blobs.
  case fetchAfter(UInt64, limit: Int)
  /// Find records of a catalogue.
  case query(PublicQuery)
  /// Set a device's rank in the roster, or remove its key.
  case setRank(key: [UInt8], RelayRank)
  /// Get the roster, with how much each key stored.
  case roster
  /// Delete all contents of the mailbox.
  case reset
  /// Close the mailbox in this session; the next question about it opens it again.
  case close
  /// List the live entries that a key stored, after a position, without blobs.
  case listOf(author: [UInt8], after: UInt64, limit: Int)

  /// Whether a reply answers this question, with valid counts and order.
  func accepts(_ reply: RelayReply) -> Bool {
    switch (self, reply) {
    case (.put(let items), .stored(let stored)): stored.count == items.count
    case (.remove(let names), .removed(let positions)): positions.count == names.count
    case (.list(let after, let limit), .listing(let page)),
      (.listOf(_, let after, let limit), .listing(let page)),
      (.news(let after, _, let limit), .listing(let page)):
      // A log that ends before the requested position is valid: it was set back.
      page.headers.count <= limit
        && (page.through >= after || (page.headers.isEmpty && page.through == page.head))
        && page.headers.allSatisfy { $0.position > after && $0.position <= page.through }
        && zip(page.headers, page.headers.dropFirst()).allSatisfy { $0.position < $1.position }
    case (.fetch(let names), .blobs(let blobs)):
      !blobs.isEmpty && blobs.count <= names.count
    case (.rotate, .rotated), (.setRank, .done), (.roster, .roster), (.reset, .done),
      (.close, .done):
      true
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
  /// The key that opened a mailbox.
  package enum Key: Sendable, Equatable {
    /// One of the access keys, by its index; 0 is the one that should open the mailbox.
    case access(Int)
    /// This device's own key, which a manager has listed.
    case own
  }

  /// The relay's answer.
  package var opened: RelayOpened
  /// The key that opened the mailbox.
  package var key: Key
  /// Whether the opening created the mailbox.
  package let isCreated: Bool
  /// The number of this opening, which rises within a session.
  ///
  /// Each opening is a separate answer by the relay.
  package let number: UInt64
  /// The id of the key that the relay wanted.
  package var wanted: Bytes16
  /// Whether the wanted key is now the client's first one.
  package var wantsNewest = false
  /// The relay's id, from which devices' keys there are computed.
  package var relayID: [UInt8] = []
  /// The client's cursor at that time, to which the `standing` in `opened` refers.
  package let cursor: RelayCursor?
  /// Whether this opening has not been returned to a caller yet, so that its head is current.
  package var isNew = true
}

/// The outcome of a ``RelayQuestion``.
package enum RelayOutcome: Sendable {
  /// The mailbox is open.
  case opened(RelayOpening)
  /// The entries up to the last one that the relay reported; no question was sent.
  case announced([RelayHeader])
  /// The relay's answer, which fits the question.
  case reply(RelayReply)
}

/// Why a question has no answer.
package enum RelayFailure: Error, Sendable, Equatable {
  /// The relay cannot be reached; the reason in words.
  case unreachable(String)
  /// The relay presents another certificate than the pinned one.
  case certificate
  /// No trusted authority vouches for the relay's certificate, as its address requires; the reason
  /// in words.
  case untrusted(String)
  /// No key of this client opens the mailbox, or the mailbox does not exist.
  case refused
  /// A manager of the mailbox has removed this device's key from its roster.
  case struckOff
  /// The client tried to create the mailbox, but the operator's allow list lacks its key for this
  /// relay.
  case unlisted(key: [UInt8])
  /// The client tried to create the mailbox, but its token is used up.
  case tokenUsedUp
  /// The client tried to create the mailbox at a relay that requires a token. It has no valid
  /// token, or somebody else owns the name.
  case unregistered
  /// The relay refused for another reason.
  case fault(RelayFault)
  /// The relay violates the protocol; the violation in words.
  case protocolBroken(String)
}

/// An unsolicited message from a relay.
package enum RelayNews: Sendable, Equatable {
  /// An entry was stored. Later pushes come after this position.
  case stored(mailbox: Identifier, head: UInt64)
  /// The mailbox was closed, usually because its access key was changed.
  case closed(mailbox: Identifier)
  /// The connection was lost. The next subscription reports what happens meanwhile.
  case lost
}

/// How long a client waits for various events.
package struct RelayClientTiming: Sendable {
  /// For a connection with its greeting.
  package var connectMilliseconds: UInt64 = 10_000
  /// For any frame while answers are due.
  package var answerMilliseconds: UInt64 = 15_000
  /// The time for an answer while other things are heard: a batch over a slow network takes long,
  /// and a relay that only answers pings must not keep a sync waiting.
  package var longestAnswerMilliseconds: UInt64 = 600_000
  /// For a lost connection to come back, before questions fail.
  package var patienceMilliseconds: UInt64 = 5_000
  /// The first pause before reconnecting; it doubles each time.
  package var firstPauseMilliseconds: UInt64 = 100
  /// The longest pause.
  package var longestPauseMilliseconds: UInt64 = 60_000
  /// The least time between two attempts, regardless of the number of questions.
  package var leastPauseMilliseconds: UInt64 = 50
  /// The lifetime after which a connection counts as good, so that pauses start from the first one
  /// again.
  package var steadyMilliseconds: UInt64 = 10_000
  /// How long the head that a relay reports at an opening counts as current.
  package var freshMilliseconds: UInt64 = 1_000
  /// How long reports on a connection count as the log after the relay was last asked for it.
  ///
  /// A relay that pushes another log than it lists is detected after this time.
  package var confirmedMilliseconds: UInt64 = 60_000
  /// How often one question is sent.
  package var maximumTries = 4

  package init() {}

  /// When an answer is overdue: nothing was heard for some time, or other things were for long.
  func answerDeadline(askedAt: UInt64, heardAt: UInt64) -> UInt64 {
    min(max(askedAt, heardAt) + answerMilliseconds, askedAt + longestAnswerMilliseconds)
  }
}
