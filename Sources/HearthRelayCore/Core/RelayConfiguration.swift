import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// An operator's settings; every number is a bound.
package struct RelayConfiguration: Sendable {
  /// Who may create mailboxes.
  package var registration = RelayRegistration.open
  /// The quota of a mailbox.
  package var quota = RelayQuota()
  /// After how many seconds of silence a client should ping.
  package var heartbeatSeconds = 30
  /// The most connections.
  package var maximumSessions = 10_000
  /// The most connections of one address.
  package var maximumSessionsPerAddress = 256
  /// The most strangers: connections that have no mailbox open.
  package var maximumStrangers = 512
  /// How many strangers an address may have before it must make room for others at once.
  package var fairStrangersPerAddress = 32
  /// How long a connection may take to open its first mailbox.
  package var handshakeMilliseconds: UInt64 = 30_000
  /// How long a client may leave sent data unread.
  package var slowReaderMilliseconds: UInt64 = 30_000
  /// How many requests of one session may be in a wrong state or beyond a limit.
  package var maximumFaults = 1_000
  /// How many pings of one session are answered in a minute.
  package var pingsPerMinute = 600
  /// The most congested connections, which have more queued output than they take: each holds some
  /// MiB.
  package var maximumCongested = 128
  /// The most unanswered requests of a session.
  package var maximumUnanswered = 64
  /// The bytes of unanswered requests at which the relay stops reading from a session.
  package var pausingBytes = 4 << 20
  /// The bytes of all sessions' unanswered requests at which new requests are refused.
  package var maximumWaitingBytes = 128 << 20
  /// The most bytes of incomplete frames, of all sessions.
  package var maximumHeldBytes = 128 << 20
  /// The most sessions that have one mailbox open.
  package var maximumMembers = 10_000
  /// The most bytes of one push; a larger push becomes a hint.
  package var maximumPushBytes = 64 << 10
  /// How many entries one session may append in a minute.
  package var sessionAppendsPerMinute = 240_000
  /// How many entries may be appended to one mailbox in a minute.
  package var mailboxAppendsPerMinute = 480_000
  /// How many refused attempts and created mailboxes one address may have in a minute.
  package var refusalsPerMinute = 120
  /// The most addresses whose refusals are remembered.
  package var maximumAddresses = 10_000
  /// The most connections that have opened only catalogues, to read.
  package var maximumReaders = 2_000
  /// The catalogue work that one address may request in a minute.
  ///
  /// A page or query counts ten, a record whose signature is checked one.
  package var catalogueWorkPerMinute = 12_000

  package init() {}
}

/// The identity of a relay, and the secret behind its decoys.
package struct RelayIdentity: Sendable {
  /// The relay's id.
  package let relayID: Bytes32
  /// The pin of the certificate that the relay presents.
  package let pin: Bytes32
  /// A public key that no mailbox has; proofs for unknown mailboxes are checked against it.
  package let decoyKey: [UInt8]
  /// The secret from which the key ids of nonexistent mailboxes derive.
  package let decoySecret: SecretKey

  package init(relayID: Bytes32, pin: Bytes32, decoyKey: [UInt8], decoySecret: SecretKey) {
    self.relayID = relayID
    self.pin = pin
    self.decoyKey = decoyKey
    self.decoySecret = decoySecret
  }
}

/// The number of a connection.
///
/// One process never uses a number twice.
package struct RelaySessionID: Hashable, Comparable, Sendable {
  /// The number, which rises with every connection.
  package let number: UInt64

  package init(_ number: UInt64) { self.number = number }

  package static func < (left: RelaySessionID, right: RelaySessionID) -> Bool {
    left.number < right.number
  }
}

/// An event that concerns the relay.
package enum RelayEvent: Sendable {
  /// A client connected, from an address for which limits are counted.
  case connected(RelaySessionID, address: [UInt8])
  /// A whole frame of a known size arrived.
  case received(RelaySessionID, RelayFrame<RelayRequest>, byteCount: Int)
  /// Bytes arrived that are no frame.
  case malformed(RelaySessionID, CodecFault)
  /// Part of an incomplete frame arrived: over a slow network one frame takes minutes.
  case arriving(RelaySessionID)
  /// A considerable number of bytes of an incomplete frame is buffered, or none any more.
  case holding(RelaySessionID, byteCount: Int)
  /// The connection is gone.
  case disconnected(RelaySessionID)
  /// The session's output queue became too long, or is no longer.
  case congested(RelaySessionID, Bool)
  /// The session's output queue is long, but the session has taken some of it.
  case draining(RelaySessionID)
  /// The log answered a write.
  case written(ticket: UInt64, Result<RelayWritten, RelayError>)
  /// The log answered a read.
  case answered(ticket: UInt64, Result<RelayAnswer, RelayError>)
  /// Another process appended to a mailbox of the same log, up to this position.
  case appended(Identifier, head: UInt64)
  /// Another process changed a mailbox: its entries are pushed, and sessions that lost their right
  /// end.
  case news(RelayLogNews)
  /// The log may have lost data: all clients must reopen their mailboxes and compare.
  case replaced
  /// About a second passed.
  case tick
  /// The relay shuts down: sessions end once their writes are answered.
  case drain

  /// Why bytes were no frame, as text that contains none of the bytes.
  package typealias CodecFault = String
}

/// An action for the relay's shell.
package enum RelayEffect: Equatable, Sendable {
  /// Send bytes to a session.
  case send(RelaySessionID, [UInt8])
  /// Send one push to many sessions: to each its own head, then the tail.
  case share([RelayPushTarget], tail: RelayPushTail)
  /// Write to the log, and report with the ticket.
  case write(ticket: UInt64, RelayWriteBox)
  /// Read from the log, and report with the ticket.
  case read(ticket: UInt64, RelayReadBox)
  /// Stop reading from a session, or continue.
  case pause(RelaySessionID, Bool)
  /// Let a session send frames of full length.
  case trust(RelaySessionID)
  /// Close a session after sending its pending output.
  case close(RelaySessionID)
}

/// One receiver of a shared push.
package struct RelayPushTarget: Equatable, Sendable {
  /// The session.
  package let session: RelaySessionID
  /// Its channel for the mailbox.
  package let channel: Int
}

/// A write in an effect.
///
/// Tests compare effects, here only by mailbox.
package struct RelayWriteBox: Equatable, Sendable {
  /// The write.
  package let write: RelayWrite

  package static func == (left: RelayWriteBox, right: RelayWriteBox) -> Bool {
    left.write.mailbox == right.write.mailbox
  }
}

/// A read in an effect.
///
/// Tests compare effects, here only by mailbox.
package struct RelayReadBox: Equatable, Sendable {
  /// The read.
  package let read: RelayRead

  package static func == (left: RelayReadBox, right: RelayReadBox) -> Bool {
    left.read.mailbox == right.read.mailbox
  }
}

/// The relay's counters.
///
/// None of them distinguishes mailboxes.
package struct RelayCounters: Equatable, Sendable {
  /// Connections so far.
  package var sessionsEver = 0
  /// Received frames.
  package var framesReceived = 0
  /// Appended entries.
  package var entriesAppended = 0
  /// Bytes of appended blobs.
  package var bytesAppended = 0
  /// Pages that were read.
  package var pagesRead = 0
  /// Pushes, counted once per receiving session.
  package var pushes = 0
  /// Hints that replaced a push.
  package var hints = 0
  /// Created mailboxes.
  package var mailboxesMade = 0
  /// Changes of access keys.
  package var rotations = 0
  /// Refused proofs and registrations.
  package var refusals = 0
  /// Requests beyond a limit.
  package var limited = 0
  /// Connections that sent invalid frames.
  package var malformed = 0
  /// Connections that ended because they did not read.
  package var slowReaders = 0
  /// Connections that ended because they were silent.
  package var timeouts = 0
  /// Requests that failed because of the log.
  package var logFailures = 0
  /// Queries to catalogues.
  package var queries = 0

  package init() {}
}

/// A token bucket that fills evenly.
///
/// It uses only integers, so that runs are repeatable.
struct RelayBucket {
  private let perMinute: Int
  // In sixty-thousandths of a token, so that a millisecond adds `perMinute` of them.
  private var level: Int
  private var filledAt: UInt64

  init(perMinute: Int, now: UInt64) {
    self.perMinute = perMinute
    level = perMinute * 60_000
    filledAt = now
  }

  /// Takes tokens.
  ///
  /// Returns 0 if there were enough, else the milliseconds until there are.
  mutating func take(_ count: Int, now: UInt64) -> Int {
    fill(now)
    let wanted = count * 60_000
    guard level < wanted else {
      level -= wanted
      return 0
    }
    let wait = (wanted - level + perMinute - 1) / max(1, perMinute)
    return min(max(1, wait), RelayLimits.maximumRetryMilliseconds)
  }

  /// Whether the bucket equals a new one, so that it need not be stored.
  mutating func isFull(now: UInt64) -> Bool {
    fill(now)
    return level == perMinute * 60_000
  }

  private mutating func fill(_ now: UInt64) {
    let passed = Int(min(60_000, now > filledAt ? now - filledAt : 0))
    level = min(perMinute * 60_000, level + passed * perMinute)
    filledAt = max(filledAt, now)
  }
}
