import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// Rosters of mailboxes at one relay, and what managers do with them.
package final class RelayRosters {
  private let client: RelayMailboxClient
  /// The devices' keys at relays, by relay and device key.
  ///
  /// Computing one takes a scalar multiplication.
  private var pseudonyms: [[UInt8]: [UInt8]] = [:]
  /// The rosters' digests at this device's last check, and the opening of that check.
  private var checks: [Identifier: (opening: UInt64, digest: Bytes16)] = [:]

  init(_ client: RelayMailboxClient) {
    self.client = client
  }

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
    try await client.open(access)
    guard case .roster(let report) = try await client.reply(access.mailbox, .roster)
    else { throw client.wrongAnswer() }
    return report
  }

  /// Sets a key's rank in the roster, or removes the key; requires managing the mailbox.
  func setRank(_ rank: RelayRank, of key: [UInt8], in access: MailboxAccess) async throws {
    try await client.open(access)
    guard case .done = try await client.reply(access.mailbox, .setRank(key: key, rank))
    else { throw client.wrongAnswer() }
  }

  /// Sets a key's rank if the relay permits it.
  ///
  /// The relay may refuse because the roster is full or because the change would remove the last
  /// manager.
  ///
  /// - Returns: whether the relay made the change.
  func trySetting(
    _ rank: RelayRank, of key: [UInt8], in access: MailboxAccess
  ) async throws -> Bool {
    do {
      try await setRank(rank, of: key, in: access)
      return true
    } catch let error as TransportError where error.code == .relayFault {
      return false
    }
  }

  /// Returns the names and lengths of the live entries that a key stored.
  func names(
    storedBy author: [UInt8], in access: MailboxAccess, after: UInt64, limit: Int
  ) async throws -> RelayListing {
    try await client.open(access)
    let question = RelayQuestion.listOf(author: author, after: after, limit: limit)
    guard case .listing(let page) = try await client.reply(access.mailbox, question)
    else { throw client.wrongAnswer() }
    return page
  }

  // MARK: Checks

  /// The digest of a mailbox's roster, as of its opening or a later check.
  func digest(of mailbox: Identifier, _ opening: RelayOpening) -> Bytes16 {
    guard let check = checks[mailbox], check.opening == opening.number else {
      return opening.opened.roster
    }
    return check.digest
  }

  /// Whether the roster was checked since the opening.
  func isChecked(_ mailbox: Identifier, _ opening: RelayOpening) -> Bool {
    checks[mailbox]?.opening == opening.number
  }

  /// Records the digest of a mailbox's roster that was checked since the opening.
  func note(_ digest: Bytes16, of mailbox: Identifier, _ opening: RelayOpening) {
    checks[mailbox] = (opening.number, digest)
  }
}
