import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A key by which a mailbox may be opened, with what it is of.
package struct MailboxKey: Sendable, Equatable {
  /// The 32 bytes of the epoch's id, or what else tells this key from others.
  package let id: [UInt8]
  /// From it follows the pair of each mailbox at each relay.
  package let root: RelayAccessRoot

  package init(id: [UInt8], root: RelayAccessRoot) {
    self.id = id
    self.root = root
  }

  package static func == (left: MailboxKey, right: MailboxKey) -> Bool { left.id == right.id }
}

/// A mailbox at relays, and the keys by which this device may open it.
package struct MailboxAccess: Sendable, Equatable {
  /// The mailbox's name.
  package private(set) var mailbox: Identifier
  /// The keys, the one that should open it first; then those by which it may still open.
  package var keys: [MailboxKey]
  /// Whether the mailbox is made where a relay does not have it.
  package var mayCreate: Bool
  /// Whether it is not made though this device might: it is opened by its own key all the same.
  package var onlyOpens = false
  /// What kind of mailbox it is, and as whom it is opened.
  package let role: Role
  /// What it is of another mailbox, where it is made as one; nil for those that stand alone.
  package let child: RelayParent.Child?
  /// To which mailboxes it may belong, the preferred one first: to the first that this client has
  /// open when it makes this one, so that no right to register is needed.
  package var parents: [Identifier]

  /// As whom a mailbox is opened.
  package enum Role: Sendable, Hashable {
    /// As one of those who share its key.
    case member
    /// As the publisher of a catalogue of this name, whose pair is the client's manager's pair.
    case publisher(name: String)
    /// As anybody, to read a catalogue.
    case reader
  }

  package init(
    mailbox: Identifier, keys: [MailboxKey], mayCreate: Bool, role: Role = .member,
    child: RelayParent.Child? = nil, parents: [Identifier] = []
  ) {
    self.child = child
    self.parents = parents
    self.mailbox = mailbox
    self.keys = keys
    self.mayCreate = mayCreate
    self.role = role
  }

  /// A catalogue, to be read by anybody.
  package static func reading(_ catalogue: CatalogueReference) -> MailboxAccess {
    MailboxAccess(mailbox: catalogue.id, keys: [], mayCreate: false, role: .reader)
  }

  /// A catalogue, to be written by its publisher.
  package static func publishing(
    _ catalogue: CatalogueReference, by publisher: PublisherIdentity
  ) -> MailboxAccess {
    MailboxAccess(
      mailbox: catalogue.id,
      keys: [MailboxKey(id: publisher.publicKey.bytes, root: publisher.accessRoot)],
      mayCreate: true, role: .publisher(name: catalogue.name))
  }

  /// The mailbox of an invitation's capsule.
  /// - Throws: `corrupt`.
  package static func rendezvous(
    of secret: InviteSecret, mayCreate: Bool
  ) throws -> MailboxAccess {
    guard let mailbox = Identifier(bytes: secret.rendezvousID) else {
      throw SyncError(.corrupt, "the place of an invitation has the wrong length")
    }
    return MailboxAccess(
      mailbox: mailbox, keys: [MailboxKey(id: secret.rendezvousID, root: secret.relayAccessRoot)],
      mayCreate: mayCreate, child: .place)
  }

  /// The mailbox in which requests to join by an invitation lie, and their answers.
  /// - Throws: `outOfMemory` of the crypto module.
  package static func joinRequests(
    by invite: Identifier, sign: [UInt8], box: [UInt8]
  ) throws -> MailboxAccess {
    MailboxAccess(
      mailbox: derivedIdentifier("HRTH/relay-joins/v1", invite.bytes),
      keys: [
        MailboxKey(id: invite.bytes, root: try .ofJoinRequests(sign: sign, box: box))
      ], mayCreate: true, child: .place)
  }

  /// The mailbox of the capsule of recovery words.
  /// - Throws: `corrupt`, `outOfMemory` of the crypto module.
  package static func recovery(
    _ access: RecoveryCapsuleAccess, mayCreate: Bool
  ) throws -> MailboxAccess {
    guard let mailbox = Identifier(bytes: access.locator) else {
      throw SyncError(.corrupt, "the place of a recovery capsule has the wrong length")
    }
    return MailboxAccess(
      mailbox: mailbox,
      keys: [MailboxKey(id: access.locator, root: try access.relayAccessRoot())],
      mayCreate: mayCreate, child: .words)
  }

  /// The mailbox in its place, after it was so often made anew under another name.
  ///
  /// Where somebody who was removed stayed the only manager of a mailbox, those who stay leave it.
  package func moved(_ times: UInt64) -> MailboxAccess {
    guard times > 0 else { return self }
    var access = self
    access.mailbox = derivedIdentifier(
      "HRTH/relay-moved/v1", mailbox.bytes,
      (0..<8).map { UInt8(truncatingIfNeeded: times >> (8 * (7 - $0))) })
    return access
  }

  /// The mailbox that leads those who hold an earlier key to the present one.
  ///
  /// Whoever changes the access key of a control zone's mailbox leaves there what was written
  /// under the earlier epoch, and the new access key, sealed to each who may enter. A device that
  /// was away thus finds its way, and one that was removed learns who removed it, and no more.
  ///
  /// - Parameters:
  ///   - control: the mailbox of the control zone.
  ///   - key: the earlier key.
  package static func door(
    of control: Identifier, behind key: MailboxKey, mayCreate: Bool
  ) -> MailboxAccess {
    MailboxAccess(
      mailbox: derivedIdentifier("HRTH/relay-door/v1", control.bytes, key.id), keys: [key],
      mayCreate: mayCreate, child: .door, parents: [control])
  }

  /// The greatest number of keys that are tried for one mailbox: years of monthly epochs.
  package static let maximumKeys = 64
}
