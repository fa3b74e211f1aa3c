import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The relay's state of one connection.
struct RelaySession {
  let address: [UInt8]
  let connectedAt: UInt64
  var heardAt: UInt64
  var isGreeted = false
  /// Whether a mailbox was ever opened.
  var isTrusted = false
  /// Whether a catalogue was ever opened for reading.
  var isReader = false
  var channels: [Int: RelayChannel] = [:]
  /// Queued requests.
  var queue: [RelayCall] = []
  /// The bytes of queued and running requests.
  var pendingBytes = 0
  /// The number of requests that are with the log.
  var flights = 0
  /// Whether those are reads, of which there is one at a time.
  var isReading = false
  var isPaused = false
  /// Since when the client has read nothing of its output queue.
  var congestedAt: UInt64?
  /// Since when it has been congested without a break.
  var congestedSince: UInt64 = 0
  /// The buffered bytes of the next frame.
  var heldBytes = 0
  /// Since when that frame has been arriving.
  var heldSince: UInt64 = 0
  var isEnding = false
  /// How many of its requests were in a wrong state or beyond a limit.
  var faults = 0
  var appends: RelayBucket
  var pings: RelayBucket

  init(address: [UInt8], now: UInt64, _ configuration: RelayConfiguration) {
    self.address = address
    connectedAt = now
    heardAt = now
    appends = RelayBucket(perMinute: configuration.sessionAppendsPerMinute, now: now)
    pings = RelayBucket(perMinute: configuration.pingsPerMinute, now: now)
  }
}

/// A request of a session, and its size in memory.
struct RelayCall {
  let session: RelaySessionID
  let request: UInt32
  let message: RelayRequest
  let byteCount: Int

  /// Whether the request changes the log.
  ///
  /// Several such requests may be with the log at once.
  var isWrite: Bool {
    switch message {
    case .put, .putPacked, .remove: true
    default: false
    }
  }
}

/// One channel of a session.
enum RelayChannel {
  /// Requested; the log is being asked for the mailbox's key.
  case asking(Identifier)
  /// Challenged with a nonce for one proof.
  case challenged(Identifier, nonce: Bytes32)
  /// The proof is being checked.
  case proving(Identifier)
  /// A catalogue is being looked up for reading.
  case lookingUp(Identifier)
  case open(Open)

  struct Open {
    let mailbox: Identifier
    var authority: RelayAuthority
    /// The own key that was proven; empty for none.
    var author: [UInt8]
    /// The key that must sign entries if the mailbox is a catalogue.
    var publisher: SigningPublicKey?
    var subscription = Subscription.none
    /// The head that a hint must report once the session reads again.
    var missedHead: UInt64?
    /// The base of the session's next packed put.
    var lastPut = RelayPackingBase()
    /// Whether pushes may be packed.
    var takesPacked = false
    /// Whether the session has the last reported entry completely, so that a packed push may follow
    /// it.
    var holdsLast = false
  }

  enum Subscription: Equatable {
    case none
    /// The head is being read. `seen` includes what was appended meanwhile.
    case starting(seen: UInt64)
    /// Everything up to this position was pushed or hinted at.
    case live(reported: UInt64)
  }

  var open: Open? {
    if case .open(let open) = self { open } else { nil }
  }
}
