import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A key that may open a mailbox, with the id of its origin.
package struct MailboxKey: Sendable, Equatable {
  /// The 32 bytes of the epoch's id, or another id that distinguishes this key.
  package let id: [UInt8]
  /// The root from which the key pair of each mailbox at each relay is derived.
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
  /// The keys.
  ///
  /// The one that should open the mailbox comes first, then those that may still open it.
  package var keys: [MailboxKey]
  /// Whether to create the mailbox if a relay does not have it.
  package var mayCreate: Bool
  /// Whether to refrain from creating the mailbox even if this device may.
  ///
  /// The device's own key may still open it.
  package var onlyOpens = false
  /// Whether this device belonged to the mailbox's group and no longer does, by the control log.
  package var isOver = false
  /// The role in which the mailbox is opened.
  package let role: Role
  /// The kind of child that a new mailbox is of its parent; nil for mailboxes without a parent.
  package let child: RelayParent.Child?
  /// The possible parents of a new mailbox, the preferred one first.
  ///
  /// The client uses the first that it has open when it creates the mailbox. No right to register
  /// is then needed.
  package var parents: [Identifier]

  /// The role in which a mailbox is opened.
  package enum Role: Sendable, Hashable {
    /// A holder of the mailbox's shared key.
    case member
    /// The publisher of a catalogue of this name, whose key pair is the client's manager pair.
    case publisher(name: String)
    /// Anybody who reads a catalogue.
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

  /// Returns the access for reading a catalogue.
  package static func reading(_ catalogue: CatalogueReference) -> MailboxAccess {
    MailboxAccess(mailbox: catalogue.id, keys: [], mayCreate: false, role: .reader)
  }

  /// Returns the access for writing a catalogue as its publisher.
  package static func publishing(
    _ catalogue: CatalogueReference, by publisher: PublisherIdentity
  ) -> MailboxAccess {
    MailboxAccess(
      mailbox: catalogue.id,
      keys: [MailboxKey(id: publisher.publicKey.bytes, root: publisher.accessRoot)],
      mayCreate: true, role: .publisher(name: catalogue.name))
  }

  /// Returns the rendezvous mailbox of an invitation bundle.
  ///
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

  /// Returns the rendezvous mailbox of an invitation's bundle, which is opened and never created.
  ///
  /// A device without the invitation's secret opens it by its own key: it may if it is listed in
  /// the mailbox to which the rendezvous belongs.
  ///
  /// - Parameter secret: the invitation's secret, if this device has it.
  package static func rendezvous(
    of invite: Identifier, with secret: InviteSecret?
  ) -> MailboxAccess {
    var access = MailboxAccess(
      mailbox: BlobName.bundle(of: invite).scope,
      keys: secret.map { [MailboxKey(id: $0.rendezvousID, root: $0.relayAccessRoot)] } ?? [],
      mayCreate: true, child: .place)
    access.onlyOpens = true
    return access
  }

  /// Returns the mailbox for requests to join by an invitation, and for their answers.
  ///
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

  /// Returns the mailbox of a recovery bundle.
  ///
  /// - Throws: `corrupt`, `outOfMemory` of the crypto module.
  package static func recovery(
    _ access: RecoveryCapsuleAccess, mayCreate: Bool
  ) throws -> MailboxAccess {
    guard let mailbox = Identifier(bytes: access.locator) else {
      throw SyncError(.corrupt, "the place of a recovery bundle has the wrong length")
    }
    return MailboxAccess(
      mailbox: mailbox,
      keys: [MailboxKey(id: access.locator, root: try access.relayAccessRoot())],
      mayCreate: mayCreate, child: .words)
  }

  /// Returns the replacement of this mailbox after a number of recreations under other names.
  ///
  /// Members recreate a mailbox if a removed member remained its only manager.
  package func moved(_ times: UInt64) -> MailboxAccess {
    guard times > 0 else { return self }
    var access = self
    access.mailbox = derivedIdentifier(
      "HRTH/relay-moved/v1", mailbox.bytes,
      (0..<8).map { UInt8(truncatingIfNeeded: times >> (8 * (7 - $0))) })
    return access
  }

  /// Returns the rekey handoff mailbox, which leads holders of an earlier key to the current one.
  ///
  /// The member who changes the access key of a control zone's mailbox leaves two things there: the
  /// segments encrypted under the earlier epoch, and the new access key, sealed to each authorized
  /// device. So a device that was away regains access. A removed device learns who removed it, and
  /// nothing more.
  ///
  /// - Parameters:
  ///   - control: the mailbox of the control zone.
  ///   - key: the earlier key.
  package static func handoff(
    of control: Identifier, behind key: MailboxKey, mayCreate: Bool
  ) -> MailboxAccess {
    MailboxAccess(
      mailbox: derivedIdentifier("HRTH/relay-door/v1", control.bytes, key.id), keys: [key],
      mayCreate: mayCreate, child: .handoff, parents: [control])
  }

  /// The most keys to try for one mailbox: years of monthly epochs.
  package static let maximumKeys = 64
}
