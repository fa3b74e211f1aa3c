import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// What the relay remembers of one connection.
struct RelaySession {
  let address: [UInt8]
  let connectedAt: UInt64
  var heardAt: UInt64
  var isGreeted = false
  /// Whether a mailbox was ever opened.
  var isTrusted = false
  /// Whether a catalogue was ever opened to be read.
  var isReader = false
  var channels: [Int: RelayChannel] = [:]
  /// Requests that wait for their turn.
  var queue: [Waiting] = []
  /// The bytes of requests that wait or are being done.
  var pendingBytes = 0
  /// How many requests are with the log.
  var flights = 0
  /// Whether those are reads, of which there is one at a time.
  var isReading = false
  var isPaused = false
  /// Since when it has read nothing of what waits for it.
  var congestedAt: UInt64?
  /// Since when something waits for it without a break.
  var congestedSince: UInt64 = 0
  /// How much of its next frame is here.
  var heldBytes = 0
  /// Since when that frame has been arriving.
  var heldSince: UInt64 = 0
  var isEnding = false
  /// How many of its requests were in a wrong state or beyond a limit.
  var faults = 0
  var appends: RelayBucket
  var pings: RelayBucket

  struct Waiting {
    let frame: RelayFrame<RelayRequest>
    let byteCount: Int
  }

  init(address: [UInt8], now: UInt64, _ configuration: RelayConfiguration) {
    self.address = address
    connectedAt = now
    heardAt = now
    appends = RelayBucket(perMinute: configuration.sessionAppendsPerMinute, now: now)
    pings = RelayBucket(perMinute: configuration.pingsPerMinute, now: now)
  }
}

/// One channel of a session.
enum RelayChannel {
  /// Asked for, and the log is being asked for its key.
  case asking(Identifier)
  /// Challenged with a nonce for one proof.
  case challenged(Identifier, nonce: Bytes32)
  /// The proof is being checked.
  case proving(Identifier)
  /// A catalogue is being looked for, to be read.
  case lookingUp(Identifier)
  case open(Open)

  struct Open {
    let mailbox: Identifier
    var authority: RelayAuthority
    /// The own key that was proven; empty for none.
    var author: [UInt8]
    /// Whose signature entries need, where the mailbox is a catalogue.
    var publisher: SigningPublicKey?
    var subscription = Subscription.none
    /// The head that a hint has to tell when the session reads again.
    var missedHead: UInt64?
    /// After what the session's next packed put is packed.
    var lastPut = RelayPackingBase()
    /// Whether pushes may be packed.
    var takesPacked = false
    /// Whether the last entry that it was told of was told whole, so that the next may follow it.
    var holdsLast = false
  }

  enum Subscription: Equatable {
    case none
    /// The head is being asked for; what was appended meanwhile.
    case starting(seen: UInt64)
    /// Pushed or hinted at was everything up to this position.
    case live(told: UInt64)
  }

  var open: Open? {
    if case .open(let open) = self { open } else { nil }
  }
}

/// The sessions that have a mailbox open, in the order in which they came.
struct RelayRoom {
  /// The life of the log that all of them opened.
  let generation: Identifier
  var members: [RelayPushTarget] = []
  var appends: RelayBucket
  /// The last entry that anybody was told of, and what of it packed pushes may repeat: kept once,
  /// not for each who listens.
  var last: (position: UInt64, base: RelayPackingBase)?
}

/// What a log was asked for, and by whom.
struct RelayTicket {
  let session: RelaySessionID
  let request: UInt32
  let byteCount: Int
  let mailbox: Identifier
  let channel: Int
  let purpose: Purpose

  enum Purpose {
    case challenge
    case prove(RelayProof, nonce: Bytes32)
    case openPublic
    case create(managerKey: [UInt8])
    case put([RelayPut])
    case remove
    case rotate
    case setRank([UInt8])
    case reset
    case subscribe
    case page
  }
}
