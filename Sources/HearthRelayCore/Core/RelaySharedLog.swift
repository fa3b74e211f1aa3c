import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// A notification from a shared log about other relays.
package enum RelayTidings: Hashable, Sendable {
  /// Another relay changed this mailbox: its entries, its keys, or its existence.
  case changed(Identifier)
  /// A change may have been missed: all open mailboxes must be compared with the log.
  case missed
  /// The log may have lost acknowledged data (another primary): clients must compare again.
  case replaced
}

/// A mailbox and its entries since a position, from one moment of the log.
package struct RelayLogNews: Hashable, Sendable {
  /// The mailbox's name.
  package var name: Identifier
  /// The mailbox; nil if it no longer exists.
  package var mailbox: RelayMailbox?
  /// The entries that follow the requested position.
  ///
  /// They may end before the head.
  package var entries: [RelayEntry]

  package init(name: Identifier, mailbox: RelayMailbox?, entries: [RelayEntry]) {
    self.name = name
    self.mailbox = mailbox
    self.entries = entries
  }
}

/// The port to a log that several relays serve at once.
package protocol RelaySharedLog: RelayLog {
  /// Begins to report changes by other relays, from a thread of the log's own. Called once.
  func listen(_ hear: @escaping @Sendable (RelayTidings) -> Void)
  /// Ends what ``listen(_:)`` began.
  func stopListening()
  /// The entries of a mailbox after a position, as many as fit; none if the position is nil.
  func news(of mailbox: Identifier, after position: UInt64?, limit: Int, byteLimit: Int)
    throws(RelayError) -> RelayLogNews
  /// Returns those of the mailboxes that exist, in any order.
  func mailboxes(_ names: [Identifier]) throws(RelayError) -> [RelayMailbox]
}

extension RelayLog {
  /// Whether the log works, as far as it knows without a question.
  package var isHealthy: Bool { true }
}

/// The port of the operator's commands, which run beside serving relays or without one.
package protocol RelayOperatorLog: RelayLog {
  /// All mailboxes, the largest first.
  func statistics() throws(RelayError) -> [RelayMailboxStatistics]
  /// Sets or removes a mailbox's own quota; throws `notFound`.
  func setQuota(_ bytes: UInt64?, of mailbox: Identifier) throws(RelayError)
  /// Lets a token create a number of mailboxes.
  func addToken(digest: Bytes32, uses: Int, note: String) throws(RelayError)
  /// Lets the holder of a manager's key create mailboxes.
  func list(managerKey: [UInt8], note: String) throws(RelayError)
  /// Deletes mailboxes without blobs that nobody changed since a day, with their children.
  ///
  /// Used-up tokens stay, so that their holders are notified of the reason.
  func collectGarbage(before day: UInt32) throws(RelayError) -> Int
  /// Deletes a mailbox with its contents and children; throws `notFound`.
  ///
  /// - Returns: how many mailboxes were deleted.
  func remove(_ mailbox: Identifier) throws(RelayError) -> Int
  /// Records how much all mailboxes together may hold, according to the serving relay's options.
  func setTotalQuota(_ bytes: UInt64?) throws(RelayError)
  /// Returns the last recorded total quota.
  func totalQuota() throws(RelayError) -> UInt64?
  /// Gives a mailbox a new generation, with which its chain begins anew.
  func renewGeneration(of mailbox: Identifier, to generation: Identifier) throws(RelayError)
  /// Checks everything. Returns one sentence per problem.
  func verify() throws(RelayError) -> [String]
  /// Copies the whole log, from one moment, into a new SQLite file.
  func export(to path: String) throws(RelayError)
}

extension RelayError {
  /// The error for a mailbox that an operator named and that does not exist.
  package static let noMailbox = RelayError(
    .notFound, "there is no mailbox of that name: see `hearth-relay stats`")
}

extension RelayOperatorLog {
  /// Gives every mailbox a new generation, after the log was deliberately restored from a backup.
  ///
  /// Clients then compare and refill.
  ///
  /// - Returns: how many mailboxes there were.
  package func renewGenerations(_ random: (Int) -> [UInt8]) throws(RelayError) -> Int {
    let names = try statistics().map(\.name)
    for name in names {
      guard let generation = Identifier(bytes: random(Identifier.byteCount)) else {
        preconditionFailure("a generation has \(Identifier.byteCount) bytes")
      }
      try renewGeneration(of: name, to: generation)
    }
    return names.count
  }
}

/// Checks one mailbox's entries one at a time, in the order of their positions.
package struct RelayAudit {
  private let mailbox: RelayMailbox
  private var position: UInt64 = 0
  private var chain: Bytes32
  private var usedBytes: UInt64 = 0
  private var publicRecords = 0
  private var problem: String?

  package init(of mailbox: RelayMailbox) {
    self.mailbox = mailbox
    chain = RelayChain.start(mailbox: mailbox.name, generation: mailbox.head.generation)
  }

  /// Checks the next entry with its stored chain.
  ///
  /// Returns false once the log is inconsistent.
  package mutating func take(_ header: RelayHeader, chain stored: Bytes32, blob: [UInt8]) -> Bool {
    guard problem == nil else { return false }
    position += 1
    chain = RelayChain.next(chain, header)
    usedBytes += RelayQuota.cost(ofName: header.name)
    guard header.position == position, stored == chain else {
      problem = "the log is torn at position \(position)"
      return false
    }
    guard header.isLive else { return true }
    usedBytes += UInt64(header.byteCount)
    if PublicEntry.path(ofName: header.name) != nil { publicRecords += 1 }
    if blob.count != header.byteCount || RelayChain.digest(of: blob) != header.digest {
      problem = "the blob at position \(position) is damaged"
    }
    return problem == nil
  }

  /// Returns the problems, each with the mailbox's name.
  ///
  /// - Parameter indexedRecords: how many records the log finds by their fields; nil if the mailbox
  ///   is no catalogue.
  package func problems(indexedRecords: Int?) -> [String] {
    var found: [String] = []
    if let problem {
      found.append(problem)
    } else {
      if mailbox.head.position != position || mailbox.chain != chain {
        found.append("the head says \(mailbox.head.position), the log ends at \(position)")
      }
      if mailbox.usedBytes != usedBytes {
        found.append("\(usedBytes) bytes are stored, \(mailbox.usedBytes) are counted")
      }
      if let indexedRecords, indexedRecords != publicRecords {
        found.append(
          "\(publicRecords) records are stored, \(indexedRecords) are found by their fields")
      }
    }
    return found.map { "mailbox \(Hex.encode(mailbox.name.bytes)): \($0)" }
  }
}
