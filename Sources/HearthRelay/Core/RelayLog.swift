import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// By which right a session works on a mailbox; the log checks it in the same transaction.
package enum RelayAuthority: Hashable, Sendable {
  /// By the access key of this generation: worth nothing after the key was changed.
  case access(generation: UInt64)
  /// By this own key of a manager.
  case manager([UInt8])
  /// By this own key, which a manager has listed.
  case author([UInt8])
  /// As anybody: catalogues are read by this right, and nothing is written.
  case reader
}

/// By which right a mailbox is made.
package enum RelayRegistrationRight: Hashable, Sendable {
  /// Anybody may.
  case open
  /// By the operator's token with this digest, which is used up by one.
  case token(digest: Bytes32)
  /// By a manager's key that the operator has listed.
  case listed
}

/// How much one mailbox may hold, unless the operator has set something else for it.
package struct RelayQuota: Hashable, Sendable {
  /// The bytes of live blobs, and of names with ``RelayQuota/entryBytes`` for every entry.
  package var bytes: UInt64
  /// The entries, live or not.
  package var entries: UInt64
  /// The bytes that all mailboxes together may hold; nil for as many as the disk has.
  package var total: UInt64?

  package init(bytes: UInt64 = 1 << 30, entries: UInt64 = 2_000_000, total: UInt64? = nil) {
    self.bytes = bytes
    self.entries = entries
    self.total = total
  }

  /// Why a mailbox would hold too much after a put; nil if it would not.
  package func refusal(of mailbox: RelayMailbox, _ share: RelayShare) -> RelayRefusal? {
    share.refusal(
      mailbox.roster, used: mailbox.usedBytes, limit: bytes(of: mailbox), \.usedBytes)
      ?? share.refusal(
        mailbox.roster, used: mailbox.head.position, limit: entries(of: mailbox), \.entries)
  }

  /// Whether a mailbox that grows, beside what all the others hold, is too much for the relay.
  package func isBeyondTotal(from before: UInt64, to after: UInt64, others: UInt64) -> Bool {
    guard let total else { return false }
    return after > before && others + after > total
  }

  /// What an entry counts beside its name and blob: about what it takes in the log.
  package static let entryBytes: UInt64 = 96

  /// What an entry without its blob counts.
  package static func cost(ofName name: [UInt8]) -> UInt64 {
    entryBytes + UInt64(name.count)
  }
}

/// A mailbox as the log knows it, without its entries.
package struct RelayMailbox: Hashable, Sendable {
  /// The opaque name.
  package var name: Identifier
  /// Sealed blobs, or a kind of a later version.
  package var kind: RelayMailboxKind
  /// The life of the log and its last position.
  package var head: RelayCursor
  /// ``RelayChain`` at the head.
  package var chain: Bytes32
  /// The key that opens it, 32 bytes.
  package var accessKey: [UInt8]
  /// How often the key was set.
  package var accessGeneration: UInt64
  /// Who is listed, and who stored how much.
  package var roster: RelayRoster
  /// What it holds, as ``RelayQuota`` counts.
  package var usedBytes: UInt64
  /// The operator's own quota for it, if there is one.
  package var quotaBytes: UInt64?
  /// The mailbox to which it belongs, if there is one.
  package var parent: RelayParent?
  /// Who is listed there.
  package var parentRoster: RelayRoster?

  /// The managers' keys, sorted.
  package var managers: [[UInt8]] { roster.managers }

  package init(
    name: Identifier, kind: RelayMailboxKind, head: RelayCursor, chain: Bytes32,
    accessKey: [UInt8], accessGeneration: UInt64, roster: RelayRoster, usedBytes: UInt64,
    quotaBytes: UInt64?, parent: RelayParent? = nil, parentRoster: RelayRoster? = nil
  ) {
    self.name = name
    self.kind = kind
    self.head = head
    self.chain = chain
    self.accessKey = accessKey
    self.accessGeneration = accessGeneration
    self.roster = roster
    self.usedBytes = usedBytes
    self.quotaBytes = quotaBytes
    self.parent = parent
    self.parentRoster = parentRoster
  }
}

/// Something to do in a log, durably.
package struct RelayWrite: Sendable {
  /// What is done.
  package enum Action: Sendable {
    /// Makes the mailbox; `generation` and `managerKey` are of its first moment.
    case create(
      kind: RelayMailboxKind, generation: Identifier, accessKey: [UInt8], managerKey: [UInt8],
      right: RelayRegistrationRight, adoption: RelayAdoption? = nil)
    /// Stores blobs, all or none.
    case put([RelayPut])
    /// Drops blobs by name.
    case remove([[UInt8]])
    /// Sets the next access key if the generation is this one.
    case rotate(generation: UInt64, accessKey: [UInt8])
    /// Lists a key, or strikes it off, but for the last manager.
    case setRank([UInt8], RelayRank)
    /// Drops everything that was stored: the log begins anew, with this generation.
    case reset(generation: Identifier)
  }

  /// The mailbox's name.
  package var mailbox: Identifier
  /// By which right; nil for `create`, which carries its own.
  package var authority: RelayAuthority?
  /// The own key of whoever does it, which was proven; empty where none was.
  package var author: [UInt8]
  /// What is done.
  package var action: Action
  /// What the mailbox may hold.
  package var quota: RelayQuota
  /// The day, counted from 1970, noted as the mailbox's last use; the only time a log keeps.
  package var day: UInt32

  package init(
    mailbox: Identifier, authority: RelayAuthority?, author: [UInt8] = [], action: Action,
    quota: RelayQuota, day: UInt32
  ) {
    self.author = author
    self.mailbox = mailbox
    self.authority = authority
    self.action = action
    self.quota = quota
    self.day = day
  }
}

/// What became of a ``RelayWrite``.
package enum RelayWritten: Hashable, Sendable {
  /// The mailbox was made.
  case created(RelayMailbox)
  /// Blobs were stored: one outcome an item, and the headers of the new entries.
  case stored([RelayStored], appended: [RelayHeader], head: UInt64)
  /// Blobs were dropped: one position a name, and the headers of the new entries.
  case removed([UInt64], appended: [RelayHeader], head: UInt64)
  /// The access key has this generation now.
  case rotated(generation: UInt64)
  /// The log begins here, with nothing in it.
  case reset(RelayCursor)
  /// Done, with nothing to tell.
  case done
  /// Nothing was changed.
  case refused(RelayRefusal)
}

/// Something to read in a log.
package struct RelayRead: Sendable {
  /// What is read.
  package enum Question: Sendable {
    /// The mailbox, and the chain at a position; needs no authority.
    case find(chainAt: UInt64?)
    /// The position of the head.
    case head
    /// Entries after a position without blobs.
    ///
    /// With an author's key only what was stored with that one; with one that has no seat, what
    /// was stored with no present seat.
    case list(after: UInt64, limit: Int, isLiveOnly: Bool, author: [UInt8]? = nil)
    /// Who is listed, and who stored how much.
    case roster
    /// Blobs by name, as many from the first as fit the bytes, at least one.
    case fetch([[UInt8]], byteLimit: Int)
    /// Entries after a position, as many as fit the bytes, at least one.
    case page(after: UInt64, limit: Int, byteLimit: Int)
    /// Records of a catalogue by their fields, as many as fit the bytes, at least one.
    case query(PublicQuery, byteLimit: Int)
  }

  /// The mailbox's name.
  package var mailbox: Identifier
  /// By which right; nil for `find`.
  package var authority: RelayAuthority?
  /// What is read.
  package var question: Question

  package init(mailbox: Identifier, authority: RelayAuthority?, question: Question) {
    self.mailbox = mailbox
    self.authority = authority
    self.question = question
  }
}

/// How much of a log one question looks at.
package enum RelayLogLook {
  /// The most entries that are looked at for those of one author, or for live ones: whoever asks
  /// for what there is nothing of would otherwise keep the log busy with all of a mailbox.
  package static let maximumEntries: UInt64 = 16_384

  /// To which position a listing looks; positions have no gaps.
  package static func end(after: UInt64, head: UInt64, isSelective: Bool) -> UInt64 {
    guard isSelective, after < head else { return head }
    return min(head, after + maximumEntries)
  }
}

/// The answer to a ``RelayRead``.
package enum RelayAnswer: Hashable, Sendable {
  /// The mailbox; nil if there is none. The chain is nil where none was asked or the position is
  /// beyond the head.
  case found(RelayMailbox?, chain: Bytes32?)
  /// The position of the head.
  case head(UInt64)
  /// A page of headers.
  case listing(RelayListing)
  /// Blobs, nil where the name has none.
  case blobs([[UInt8]?])
  /// A page of entries.
  case page(RelayPage)
  /// Records of a catalogue.
  case records(PublicAnswer)
  /// Who is listed, and who stored how much.
  case roster(RelayRosterReport)
  /// Nothing is told.
  case refused(RelayRefusal)
}

/// Why a log did not do or tell something.
package enum RelayRefusal: Hashable, Sendable {
  /// No such mailbox, one that is there already, or no right to make it.
  case forbidden
  /// The authority's key is not the mailbox's any more.
  case accessChanged
  /// The access key has another generation than the one to be replaced.
  case conflict
  /// The mailbox would hold too much.
  case quota
  /// All mailboxes together would hold too much.
  case full
  /// As many are listed as can be, or the last manager would go.
  case managers
  /// Only a manager may do this.
  case notManager
  /// Whoever stores holds its share, in which others still have room.
  case share
  /// As many mailboxes belong to the one named as may, and nothing else lets another be made.
  case children
  /// The token was good for a number of mailboxes, and they are made.
  case tokenUsedUp
}

/// The port to the durable log of all mailboxes.
///
/// Positions of a mailbox are 1, 2, 3 … without gaps. What `write` returned is on the disk; when it
/// throws, all of the batch is there or nothing, and nobody was told: where the commit itself
/// failed only opening the log anew tells which. One thread at a time calls `write`, another may
/// call `read`.
///
/// In a mailbox of kind `catalogue` every live record is found by its fields; entries that are no
/// records (`PublicEntry.record`) are only kept. A catalogue has at most
/// `PublicLimits.maximumRecords` records. A reader's authority reads catalogues, and writes nothing
/// (`RelayMailbox.refusal(toRead:)`, `refusal(of:)`).
///
/// Whether a mailbox is made, and what goes for it, `RelayRegistrar` decides; what belongs to a
/// mailbox goes when that one does.
package protocol RelayLog: AnyObject, Sendable {
  /// Does all in one transaction and returns after its commit; each refusal stands alone.
  func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten]
  /// Reads what was committed before.
  func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer
  /// Whether the log works, as far as it knows without being asked for anything.
  var isHealthy: Bool { get }
}
