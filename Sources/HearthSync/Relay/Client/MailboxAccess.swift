import HearthCRDT
import HearthCrypto
import HearthMembership

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

extension Engine {
  /// By which keys a zone's mailbox may be opened: those of the control zone's epochs, the one
  /// that is written under first, the others from the latest.
  ///
  /// - Parameter granted: keys that were handed to this device without their epochs.
  /// - Throws: `notFound`; `outOfMemory` of the crypto module.
  package func mailboxAccess(
    of id: ZoneID, granted: [MailboxKey] = []
  ) throws -> MailboxAccess {
    let zone = try zone(id)
    let control = try controlZone(of: zone.group)
    let current = control.currentEpoch?.id
    let depths = Dictionary(
      membership(of: zone.group).epochs(of: control.id).map { ($0.grant.epoch, $0.depth) },
      uniquingKeysWith: { max($0, $1) })
    let epochs = control.epochs.enumerated().sorted { left, right in
      func rank(_ item: (offset: Int, element: EpochKey)) -> (Int, Int, Int) {
        (item.element.id == current ? 1 : 0, depths[item.element.id] ?? -1, item.offset)
      }
      return rank(left) > rank(right)
    }
    var keys: [MailboxKey] = []
    for (_, epoch) in epochs.prefix(MailboxAccess.maximumKeys) {
      keys.append(MailboxKey(id: epoch.id, root: try epoch.relayAccessRoot()))
    }
    keys += granted.filter { !keys.contains($0) }
    return MailboxAccess(
      mailbox: zone.tag, keys: keys, mayCreate: membership(of: zone.group).isActive(device))
  }

  /// The names of grants at a door, and to whom each is sealed: the active devices, the
  /// invitations that let in at once, and the recovery words of people.
  ///
  /// This device is among them: a backup of it, restored later, has the keys of then.
  package func doorRecipients(of group: GroupID) throws -> [(id: Identifier, box: [UInt8])] {
    let membership = membership(of: group)
    let staying = Mutant.doorsForEverybody.isActive ? membership.allDevices : membership.devices
    return staying.map { ($0.id, $0.card.boxKey) }
      + membership.openInvites.map { ($0.operation.invite, $0.operation.boxKey) }
      + membership.recoveryKeys().map { ($0.person, $0.keys.box) }
  }

  /// The segments of a group's control zone that were sealed under an epoch, those of one author
  /// in order; at most some bytes, the latest.
  package func controlSegments(
    of group: GroupID, sealedUnder epoch: [UInt8], atMostBytes limit: Int
  ) throws -> [(name: SegmentName, bytes: [UInt8])] {
    let control = try controlZone(of: group)
    let tag = try EpochKey.tag(ofID: epoch)
    var found: [(name: SegmentName, bytes: [UInt8])] = []
    var byteCount = 0
    for segment in try store.segments(of: control.id).sorted(by: { $1.last < $0.last }) {
      guard let bytes = try store.bytes(of: segment.digest, in: control.id),
        (try? Envelope.parseHeader(bytes))?.epochTag == tag
      else { continue }
      byteCount += bytes.count
      guard byteCount <= limit else { break }
      found.append((SyncPlan.name(of: segment, in: control), bytes))
    }
    return found.reversed()
  }
}
