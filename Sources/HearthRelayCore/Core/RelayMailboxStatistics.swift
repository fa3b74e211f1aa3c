import HearthCRDT
import HearthRelayProtocol

/// An operator's view of one mailbox: sizes, no keys and no content.
package struct RelayMailboxStatistics: Sendable {
  /// The opaque name.
  package let name: Identifier
  /// The last position.
  package let head: UInt64
  /// The number of blobs.
  package let liveBlobs: Int
  /// The bytes in use, as ``RelayQuota`` counts.
  package let usedBytes: UInt64
  /// The operator's quota for the mailbox.
  package let quotaBytes: UInt64?
  /// The day of the last change, counted from 1970.
  package let day: UInt32
  /// The parent mailbox, if there is one.
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
