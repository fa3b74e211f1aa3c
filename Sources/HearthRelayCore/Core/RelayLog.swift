import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The right by which a mailbox is created.
package enum RelayRegistrationRight: Hashable, Sendable {
  /// Anybody may create mailboxes.
  case open
  /// The operator's token with this digest; the creation consumes one of its uses.
  case token(digest: Bytes32)
  /// A manager's key that the operator has listed.
  case listed
}

/// A request to create a child mailbox, and the right to its parent.
package struct RelayAdoption: Hashable, Sendable {
  /// The parent mailbox and the kind of child.
  package var parent: RelayParent
  /// The right by which the session has the parent open.
  ///
  /// The log checks it in the same transaction.
  package var authority: RelayAuthority
  /// The session's own key; empty if none was proven.
  package var author: [UInt8]

  package init(_ parent: RelayParent, by authority: RelayAuthority, author: [UInt8] = []) {
    self.author = author
    self.parent = parent
    self.authority = authority
  }
}

/// A durable change to a log.
package struct RelayWrite: Sendable {
  /// The kind of change.
  package enum Action: Sendable {
    /// Creates the mailbox. `generation` and `managerKey` are the initial ones.
    case create(
      kind: RelayMailboxKind, generation: Identifier, accessKey: [UInt8], managerKey: [UInt8],
      right: RelayRegistrationRight, adoption: RelayAdoption? = nil)
    /// Stores blobs, all or none.
    case put([RelayPut])
    /// Removes blobs by name.
    case remove([[UInt8]])
    /// Sets the next access key if the generation is this one.
    case rotate(generation: UInt64, accessKey: [UInt8])
    /// Sets a key's rank or removes the key, except for the last manager.
    case setRank([UInt8], RelayRank)
    /// Removes all entries: the log restarts with this generation.
    case reset(generation: Identifier)
  }

  /// The mailbox's name.
  package var mailbox: Identifier
  /// The right to the change; nil for `create`, which carries its own.
  package var authority: RelayAuthority?
  /// The session's proven own key; empty if there is none.
  package var author: [UInt8]
  /// The change.
  package var action: Action
  /// The mailbox's quota.
  package var quota: RelayQuota
  /// The day, counted from 1970, recorded as the mailbox's last use.
  ///
  /// A log stores no other time.
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

/// The result of a ``RelayWrite``.
package enum RelayWritten: Hashable, Sendable {
  /// The mailbox was created.
  case created(RelayMailbox)
  /// Blobs were stored: one outcome per item, and the headers of the new entries.
  case stored([RelayStored], appended: [RelayHeader], head: UInt64)
  /// Blobs were removed: one position per name, and the headers of the new entries.
  case removed([UInt64], appended: [RelayHeader], head: UInt64)
  /// The access key has this generation now.
  case rotated(generation: UInt64)
  /// The log restarts here, without entries.
  case reset(RelayCursor)
  /// Done, without a result.
  case done
  /// Nothing was changed.
  case refused(RelayRefusal)
}

/// A read from a log.
package struct RelayRead: Sendable {
  /// The kind of read.
  package enum Question: Sendable {
    /// The mailbox, and the chain at a position; needs no authority.
    case find(chainAt: UInt64?)
    /// The position of the head.
    case head
    /// Entries after a position without blobs.
    ///
    /// With an author's key, only entries that this key stored. With a key that has no seat, only
    /// entries that no present seat stored.
    case list(after: UInt64, limit: Int, isLiveOnly: Bool, author: [UInt8]? = nil)
    /// The roster, with how much each key stored.
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
  /// The right to the read; nil for `find`.
  package var authority: RelayAuthority?
  /// The kind of read.
  package var question: Question

  package init(mailbox: Identifier, authority: RelayAuthority?, question: Question) {
    self.mailbox = mailbox
    self.authority = authority
    self.question = question
  }
}

/// How much of a log one question examines.
package enum RelayLogLook {
  /// The most entries to examine in a selective listing, of one author or of live entries.
  ///
  /// Otherwise a request without any matches would keep the log busy with a whole mailbox.
  package static let maximumEntries: UInt64 = 16_384

  /// The last position that a listing examines; positions have no gaps.
  package static func end(after: UInt64, head: UInt64, isSelective: Bool) -> UInt64 {
    guard isSelective, after < head else { return head }
    return min(head, after + maximumEntries)
  }
}

/// The answer to a ``RelayRead``.
package enum RelayAnswer: Hashable, Sendable {
  /// The mailbox; nil if there is none. The chain is nil if none was requested or the position is
  /// beyond the head.
  case found(RelayMailbox?, chain: Bytes32?)
  /// The position of the head.
  case head(UInt64)
  /// A page of headers.
  case listing(RelayListing)
  /// Blobs, nil for names without a blob.
  case blobs([[UInt8]?])
  /// A page of entries.
  case page(RelayPage)
  /// Records of a catalogue.
  case records(PublicAnswer)
  /// The roster, with how much each key stored.
  case roster(RelayRosterReport)
  /// The read was refused.
  case refused(RelayRefusal)
}

/// The port to the durable log of all mailboxes.
///
/// Positions of a mailbox are 1, 2, 3 … without gaps. Results that `write` returned are on the
/// disk. If `write` throws, either all of the batch is stored or nothing, and nobody was notified:
/// if the commit itself failed, only reopening the log shows which. One thread at a time calls
/// `write`, another may call `read`.
///
/// In a mailbox of kind `catalogue` every live record can be found by its fields; entries that are
/// no records (`PublicEntry.record`) are only stored. A catalogue has at most
/// `PublicLimits.maximumRecords` records. A reader's authority reads catalogues, and writes nothing
/// (`RelayMailbox.refusal(toRead:)`, `refusal(of:)`).
///
/// `RelayRegistrar` decides whether a mailbox is created, and which ones are deleted for it.
/// Deleting a mailbox also deletes its children.
package protocol RelayLog: AnyObject, Sendable {
  /// Makes all changes in one transaction and returns after its commit. Each refusal is
  /// independent.
  func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten]
  /// Reads committed data.
  func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer
  /// Whether the log works, as far as it knows without a question.
  var isHealthy: Bool { get }
}
