import HearthCRDT
import HearthRelayProtocol

/// What an operator sees of one mailbox: sizes, no keys and no content.
package struct RelayMailboxStatistics: Sendable {
  /// The opaque name.
  package let name: Identifier
  /// The last position.
  package let head: UInt64
  /// How many blobs there are.
  package let liveBlobs: Int
  /// What it holds, as ``RelayQuota`` counts.
  package let usedBytes: UInt64
  /// The operator's quota for it.
  package let quotaBytes: UInt64?
  /// The day of the last change, counted from 1970.
  package let day: UInt32
  /// The mailbox to which it belongs, if there is one.
  package let parent: RelayParent?

  package init(
    name: Identifier, head: UInt64, liveBlobs: Int, usedBytes: UInt64, quotaBytes: UInt64?,
    day: UInt32, parent: RelayParent?
  ) {
    self.name = name
    self.head = head
    self.liveBlobs = liveBlobs
    self.usedBytes = usedBytes
    self.quotaBytes = quotaBytes
    self.day = day
    self.parent = parent
  }
}
