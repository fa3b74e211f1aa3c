import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// The right by which a session works on a mailbox.
///
/// The log checks it in the same transaction.
package enum RelayAuthority: Hashable, Sendable {
  /// The access key of this generation; worthless after the key was changed.
  case access(generation: UInt64)
  /// This own key of a manager.
  case manager([UInt8])
  /// This own key, which a manager has listed.
  case author([UInt8])
  /// The right of anybody to read catalogues. It does not permit writes.
  case reader
}

/// Why a log refused a read or write.
package enum RelayRefusal: Hashable, Sendable {
  /// No such mailbox, one that exists already, or no right to create it.
  case forbidden
  /// The authority's key is no longer the mailbox's.
  case accessChanged
  /// The access key has another generation than the one to be replaced.
  case conflict
  /// The mailbox would hold too much.
  case quota
  /// All mailboxes together would hold too much.
  case full
  /// The roster is full, or the last manager would be removed.
  case managers
  /// Only a manager may do this.
  case notManager
  /// The author has used up its share, in which others still have room.
  case share
  /// The parent has the maximum number of children, and no other right permits the creation.
  case children
  /// The token was valid for a number of mailboxes, and they have been created.
  case tokenUsedUp
}

/// A mailbox as the log knows it, without its entries.
package struct RelayMailbox: Hashable, Sendable {
  /// The opaque name.
  package var name: Identifier
  /// The kind: sealed blobs, a catalogue, or a kind of a later version.
  package var kind: RelayMailboxKind
  /// The generation of the log and its last position.
  package var head: RelayCursor
  /// ``RelayChain`` at the head.
  package var chain: Bytes32
  /// The key that opens the mailbox, 32 bytes.
  package var accessKey: [UInt8]
  /// How often the key was set.
  package var accessGeneration: UInt64
  /// The roster, with how much each key stored.
  package var roster: RelayRoster
  /// The bytes in use, as ``RelayQuota`` counts.
  package var usedBytes: UInt64
  /// The operator's own quota for the mailbox, if there is one.
  package var quotaBytes: UInt64?
  /// The parent mailbox, if there is one.
  package var parent: RelayParent?
  /// The parent's roster.
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
