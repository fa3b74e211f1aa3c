import HearthCRDT
import HearthCrypto

/// The bounds of the relay protocol, each with a reason; both sides refuse what exceeds them.
package enum RelayLimits {
  /// The version of the protocol that this program speaks.
  package static let version = 2
  /// The longest frame without its length field: a full batch with the names and numbers around it.
  package static let maximumFrameBytes = maximumBatchBytes + (128 << 10)
  /// The longest frame before a mailbox was opened: every handshake fits with room to spare, and a
  /// stranger can make the relay hold no more.
  package static let maximumHandshakeFrameBytes = 1024
  /// The longest name of an entry: segment and chunk names have about 60 bytes.
  package static let maximumNameBytes = 128
  /// The longest blob: one sealed envelope.
  package static let maximumBlobBytes = Envelope.maximumEnvelopeBytes
  /// The most items of one request or page.
  package static let maximumBatchItems = 400
  /// The most bytes of names and blobs of one put, and those at which a page ends.
  package static let maximumBatchBytes = 2 << 20
  /// The most entries of one listing page, which carries no blobs.
  package static let maximumListItems = 2_000
  /// The most mailboxes open in one session; channel numbers are below it.
  package static let maximumChannels = 256
  /// The most managers of one mailbox.
  package static let maximumManagers = 64
  /// The most keys of one mailbox that are listed as authors and no managers.
  package static let maximumAuthors = 256
  /// The most keys of one mailbox that are remembered, those that were struck off among them.
  package static let maximumSeats = 512
  /// One part in so many of a mailbox is kept free for managers.
  package static let managersReserve: UInt64 = 4
  /// An author that is no manager holds at most one part in so many.
  package static let authorsShare: UInt64 = 4
  /// All who are not listed hold together at most one part in so many.
  package static let guestsShare: UInt64 = 8
  /// The most doors of one mailbox, as many as monthly changes of keys come to in almost three
  /// years; one more takes the place of the oldest.
  package static let maximumDoors = 32
  /// The most meeting places of one mailbox; one more is refused, unless an idle one gives way.
  package static let maximumPlaces = 64
  /// After how many days without a change a meeting place may give way to another.
  ///
  /// Whatever lies there: invitations are good for a week, unless somebody says otherwise, and
  /// answers for 30 days.
  package static let idlePlaceDays: UInt32 = 90
  /// The most mailboxes of recovery words that belong to one; one more is refused, unless an empty
  /// one gives way: who replaces words takes the capsule of the old ones away.
  package static let maximumWords = 64
  /// The most bytes that a mailbox which belongs to another holds: a door has at most a MiB of
  /// news and some granted keys from each who fills it, a meeting place sealed letters.
  package static let maximumChildBytes: UInt64 = 4 << 20
  /// The most entries of a mailbox that belongs to another.
  package static let maximumChildEntries: UInt64 = 16_384
  /// The longest registration credential.
  package static let maximumCredentialBytes = 64
  /// The longest text of a fault.
  package static let maximumMessageBytes = 256
  /// The greatest request number.
  package static let maximumRequest = Int(UInt32.max)
  /// The greatest time to wait that a fault may ask for: one day.
  package static let maximumRetryMilliseconds = 86_400_000
  /// The greatest interval between pings that a welcome may ask for: one hour.
  package static let maximumHeartbeatSeconds = 3_600
  /// The greatest position in a mailbox's log.
  package static let maximumPosition = Frontier.maximumSequence
}
