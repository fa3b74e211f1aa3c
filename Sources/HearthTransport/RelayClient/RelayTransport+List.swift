import HearthCRDT
import HearthCrypto
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

  /// Drops all that a mailbox holds; as a manager.
  func reset(_ access: MailboxAccess) throws {
    try open(access)
    guard case .done = try reply(access.mailbox, .reset) else {
      throw inconsistent("it answers something else than what was asked")
    }
    indices[access.mailbox] = nil
    lists[access.mailbox] = nil
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

  /// How far this device has read the log of a mailbox.
  func lastPosition(in mailbox: Identifier) -> UInt64 { indices[mailbox]?.index.position ?? 0 }

  // MARK: Mailboxes that were made anew

  /// How often the mailboxes of a group were left for others, as far as this device knows.
  package func moves(of group: GroupID) throws -> UInt64 {
    guard let bytes = try memory.load(memoryName(group, "moved")) else { return 0 }
    var reader = ByteReader(bytes)
    return try reader.varint("moves")
  }

  /// Keeps that the mailboxes of a group were left for others.
  package func keepMoves(_ moves: UInt64, of group: GroupID) throws {
    var writer = ByteWriter()
    writer.varint(moves)
    try memory.save(memoryName(group, "moved"), writer.bytes)
  }
}
