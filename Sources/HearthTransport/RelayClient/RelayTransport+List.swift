import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Rosters of mailboxes, storage per author, and operations for managers only.
extension RelayTransport {
  /// Returns the key of a device or of recovery words at a relay, by their Ed25519 key.
  func pseudonym(of signKey: [UInt8], relayID: [UInt8]) throws -> [UInt8] {
    if let known = pseudonyms[relayID + signKey] { return known }
    let key = try RelayPseudonym.key(
      of: SigningPublicKey(validating: signKey), relayID: relayID)
    pseudonyms[relayID + signKey] = key
    return key
  }

  /// Returns the roster of a mailbox that this device may open.
  func roster(of access: MailboxAccess) async throws -> RelayRosterReport {
    try await open(access)
    guard case .roster(let report) = try await reply(access.mailbox, .roster) else {
      throw inconsistent("its answer does not match the request")
    }
    return report
  }

  /// Sets a key's rank in the roster, or removes the key; requires managing the mailbox.
  func setRank(_ rank: RelayRank, of key: [UInt8], in access: MailboxAccess) async throws {
    try await open(access)
    guard case .done = try await reply(access.mailbox, .setRank(key: key, rank)) else {
      throw inconsistent("its answer does not match the request")
    }
  }

  /// Sets a key's rank if the relay permits it.
  ///
  /// The relay may refuse because the roster is full or because the change would remove the last
  /// manager.
  ///
  /// - Returns: whether the relay made the change.
  func trySetting(_ rank: RelayRank, of key: [UInt8], in access: MailboxAccess) async throws -> Bool
  {
    do {
      try await setRank(rank, of: key, in: access)
      return true
    } catch let error as TransportError where error.code == .relayFault {
      return false
    }
  }

  /// Deletes all contents of a mailbox; requires managing it.
  func reset(_ access: MailboxAccess) async throws {
    try await open(access)
    guard case .done = try await reply(access.mailbox, .reset) else {
      throw inconsistent("its answer does not match the request")
    }
    // Record the new generation, so that it is not reported as a loss later.
    let generation = try await open(access).opened.head.generation
    var index = RelayMailboxIndex(mailbox: access.mailbox)
    index.begin(generation: generation)
    indices[access.mailbox] = Known(index: index, isDirty: true)
    try keep()
  }

  /// Returns the names and lengths of the live entries that a key stored.
  func names(
    storedBy author: [UInt8], in access: MailboxAccess, after: UInt64, limit: Int
  ) async throws -> RelayListing {
    try await open(access)
    let question = RelayQuestion.listOf(author: author, after: after, limit: limit)
    guard case .listing(let page) = try await reply(access.mailbox, question) else {
      throw inconsistent("its answer does not match the request")
    }
    return page
  }

  /// Whether the last refusal concerned creating a mailbox, and the relay lets this device create
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

  /// The last log position of a mailbox that this device has read.
  func lastPosition(in mailbox: Identifier) -> UInt64 { indices[mailbox]?.index.position ?? 0 }

  // MARK: Recreated mailboxes

  /// Returns which of a group's mailboxes this device uses.
  package func moves(of group: GroupID) throws -> RelayMoves {
    guard let bytes = try memory.load(memoryName(group, "moved")) else { return RelayMoves() }
    return try RelayMoves(decoding: bytes)
  }

  /// Stores which of a group's mailboxes this device uses.
  package func keep(_ moves: RelayMoves, of group: GroupID) throws {
    try memory.save(memoryName(group, "moved"), moves.encoded)
  }

  /// The digest of a mailbox's roster, as of its opening or a later check.
  func list(of mailbox: Identifier, _ opening: RelayOpening) -> Bytes16 {
    guard let seen = lists[mailbox], seen.opening == opening.number else {
      return opening.opened.roster
    }
    return seen.digest
  }
}
