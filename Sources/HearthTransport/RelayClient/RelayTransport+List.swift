import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Who is listed at mailboxes, who stored how much, and what only managers do.
extension RelayTransport {
  /// The key of a device or of recovery words at a relay, by their Ed25519 key.
  func pseudonym(of signKey: [UInt8], relayID: [UInt8]) throws -> [UInt8] {
    if let known = pseudonyms[relayID + signKey] { return known }
    let key = try RelayPseudonym.key(
      of: SigningPublicKey(validating: signKey), relayID: relayID)
    pseudonyms[relayID + signKey] = key
    return key
  }

  /// Who is listed at a mailbox that this device may open.
  func roster(of access: MailboxAccess) throws -> RelayRosterReport {
    try open(access)
    guard case .roster(let report) = try reply(access.mailbox, .roster) else {
      throw inconsistent("it answers something else than what was asked")
    }
    return report
  }

  /// Lists a key, or strikes it off; as a manager.
  func setRank(_ rank: RelayRank, of key: [UInt8], in access: MailboxAccess) throws {
    try open(access)
    guard case .done = try reply(access.mailbox, .setRank(key: key, rank)) else {
      throw inconsistent("it answers something else than what was asked")
    }
  }

  /// The same where a full list, or that of a last manager, may refuse it.
  ///
  /// - Returns: whether it was done.
  func trySetting(_ rank: RelayRank, of key: [UInt8], in access: MailboxAccess) throws -> Bool {
    do {
      try setRank(rank, of: key, in: access)
      return true
    } catch let error as TransportError where error.code == .relayFault {
      return false
    }
  }

  /// Drops all that a mailbox holds; as a manager.
  func reset(_ access: MailboxAccess) throws {
    try open(access)
    guard case .done = try reply(access.mailbox, .reset) else {
      throw inconsistent("it answers something else than what was asked")
    }
    // Its new generation is known here, so that it is no loss to be told of.
    let generation = try open(access).opened.head.generation
    var index = RelayMailboxIndex(mailbox: access.mailbox)
    index.begin(generation: generation)
    indices[access.mailbox] = Known(index: index, isDirty: true)
    try keep()
  }

  /// The names of live entries that were stored with a key, with their lengths.
  func names(
    storedBy author: [UInt8], in access: MailboxAccess, after: UInt64, limit: Int
  ) throws -> RelayListing {
    try open(access)
    let question = RelayQuestion.listOf(author: author, after: after, limit: limit)
    guard case .listing(let page) = try reply(access.mailbox, question) else {
      throw inconsistent("it answers something else than what was asked")
    }
    return page
  }

  /// Whether what was refused last would have made a mailbox, and the relay lets this device make
  /// none.
  var lacksRight: Bool {
    switch refusal {
    case .unlisted, .tokenUsedUp, .unregistered: true
    default: false
    }
  }

  /// The segments that a mailbox holds, as far as this device has read its log.
  func knownSegments(of zone: ZoneState, in mailbox: Identifier) -> [SegmentName] {
    (indices[mailbox]?.index.sortedNames ?? []).compactMap {
      if case .segment(let name)? = RelayName($0, zoneTag: zone.tag) { name } else { nil }
    }
  }

  /// How far this device has read the log of a mailbox.
  func lastPosition(in mailbox: Identifier) -> UInt64 { indices[mailbox]?.index.position ?? 0 }

  // MARK: Mailboxes that were made anew

  /// Which of a group's mailboxes this device uses.
  package func moves(of group: GroupID) throws -> RelayMoves {
    guard let bytes = try memory.load(memoryName(group, "moved")) else { return RelayMoves() }
    return try RelayMoves(decoding: bytes)
  }

  /// Keeps which of a group's mailboxes this device uses.
  package func keep(_ moves: RelayMoves, of group: GroupID) throws {
    try memory.save(memoryName(group, "moved"), moves.encoded)
  }

  /// The digest of a mailbox's list, as it was when it was opened or looked at since.
  func list(of mailbox: Identifier, _ opening: RelayOpening) -> Bytes16 {
    guard let seen = lists[mailbox], seen.opening == opening.number else {
      return opening.opened.roster
    }
    return seen.digest
  }
}
