import HearthCRDT
import HearthCrypto

/// The bounds of the relay protocol, each with a reason.
///
/// Both sides refuse anything beyond them.
package enum RelayLimits {
  /// The version of the protocol that this program supports.
  package static let version = 2
  /// The longest frame without its length field: a full batch with the names and numbers around it.
  package static let maximumFrameBytes = maximumBatchBytes + (128 << 10)
  /// The longest frame before a mailbox is open.
  ///
  /// Every handshake fits with room to spare, and a stranger cannot make the relay store more.
  package static let maximumHandshakeFrameBytes = 1024
  /// The longest name of an entry: segment and chunk names have about 60 bytes.
  package static let maximumNameBytes = 128
  /// The longest blob: one sealed envelope.
  package static let maximumBlobBytes = EnvelopeFormat.maximumEnvelopeBytes
  /// The most items of one request or page.
  package static let maximumBatchItems = 400
  /// The most bytes of names and blobs of one put, and the size at which a page ends.
  package static let maximumBatchBytes = 2 << 20
  /// The most entries of one listing page, which has no blobs.
  package static let maximumListItems = 2_000
  /// The most mailboxes open in one session; channel numbers are below it.
  package static let maximumChannels = 256
  /// The most managers of one mailbox.
  package static let maximumManagers = 64
  /// The most authors of one mailbox that are not managers.
  package static let maximumAuthors = 256
  /// The most keys of one mailbox that are remembered, removed keys included.
  package static let maximumSeats = 512
  /// The divisor of the share of a mailbox that is reserved for managers.
  package static let managersReserve: UInt64 = 4
  /// The divisor of the largest share of an author that is not a manager.
  package static let authorsShare: UInt64 = 4
  /// The divisor of the largest joint share of all unlisted keys.
  package static let guestsShare: UInt64 = 8
  /// The most rekey handoffs of one mailbox: monthly key changes of almost three years.
  ///
  /// One more replaces the oldest.
  package static let maximumHandoffs = 32
  /// The most rendezvous mailboxes of one mailbox.
  ///
  /// One more is refused unless an idle one can be replaced.
  package static let maximumPlaces = 64
  /// After how many days without a change a rendezvous mailbox may be replaced.
  ///
  /// Its contents do not matter: invitations are valid for a week by default, and answers for 30
  /// days.
  package static let idlePlaceDays: UInt32 = 90
  /// The most recovery mailboxes of one mailbox.
  ///
  /// One more is refused unless an empty one can be replaced: a person who replaces recovery words
  /// removes the old words' bundle.
  package static let maximumWords = 64
  /// The most bytes of a child mailbox.
  ///
  /// A rekey handoff holds at most 1 MiB of segments and some granted keys from each device that
  /// fills it. A rendezvous holds sealed letters.
  package static let maximumChildBytes: UInt64 = 4 << 20
  /// The most entries of a child mailbox.
  package static let maximumChildEntries: UInt64 = 16_384
  /// The longest registration credential.
  package static let maximumCredentialBytes = 64
  /// The longest text of a fault.
  package static let maximumMessageBytes = 256
  /// The greatest request number.
  package static let maximumRequest = Int(UInt32.max)
  /// The longest wait that a fault may ask for: one day.
  package static let maximumRetryMilliseconds = 86_400_000
  /// The longest interval between pings that a welcome may ask for: one hour.
  package static let maximumHeartbeatSeconds = 3_600
  /// The greatest position in a mailbox's log.
  package static let maximumPosition = Frontier.maximumSequence
}
