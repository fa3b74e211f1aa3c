import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// What an operator may set; every number bounds something.
package struct RelayConfiguration: Sendable {
  /// Who may make mailboxes.
  package var registration = RelayRegistration.open
  /// What a mailbox may hold.
  package var quota = RelayQuota()
  /// After how many seconds of silence a client should ping.
  package var heartbeatSeconds = 30
  /// The most connections.
  package var maximumSessions = 10_000
  /// The most connections of one address.
  package var maximumSessionsPerAddress = 256
  /// The most connections that have no mailbox open.
  package var maximumStrangers = 512
  /// How many of those an address may have before it gives way at once to others.
  package var fairStrangersPerAddress = 32
  /// How long a connection may take to open its first mailbox.
  package var handshakeMilliseconds: UInt64 = 30_000
  /// How long a client may leave what was sent unread.
  package var slowReaderMilliseconds: UInt64 = 30_000
  /// How many requests of one session may be in a wrong state or beyond a limit.
  package var maximumFaults = 1_000
  /// How many pings of one session are answered in a minute.
  package var pingsPerMinute = 600
  /// The most connections to which more waits to be sent than they take: each holds some MiB.
  package var maximumCongested = 128
  /// The most requests of a session without an answer.
  package var maximumUnanswered = 64
  /// The bytes of unanswered requests at which nothing more is read from a session.
  package var pausingBytes = 4 << 20
  /// The bytes of unanswered requests of all sessions at which new ones are refused.
  package var maximumWaitingBytes = 128 << 20
  /// The most bytes of frames that have begun and are not whole, of all sessions.
  package var maximumHeldBytes = 128 << 20
  /// The most sessions that have one mailbox open.
  package var maximumMembers = 10_000
  /// The most bytes of one push; more becomes a hint.
  package var maximumPushBytes = 64 << 10
  /// How many entries one session may append in a minute.
  package var sessionAppendsPerMinute = 240_000
  /// How many entries may be appended to one mailbox in a minute.
  package var mailboxAppendsPerMinute = 480_000
  /// How many mailboxes one address may ask for in a minute, and be refused or make.
  package var refusalsPerMinute = 120
  /// The most addresses whose refusals are remembered.
  package var maximumAddresses = 10_000
  /// The most connections that have opened nothing but catalogues, to read.
  package var maximumReaders = 2_000
  /// What one address may ask of catalogues in a minute: a page or query counts ten, a record
  /// whose signature is checked one.
  package var catalogueWorkPerMinute = 12_000

  package init() {}
}

/// Who a relay is, and the secret behind its decoys.
package struct RelayIdentity: Sendable {
  /// The relay's id.
  package let relayID: Bytes32
  /// The pin of the certificate that it shows.
  package let pin: Bytes32
  /// A public key that no mailbox has; proofs for unknown mailboxes are checked against it.
  package let decoyKey: [UInt8]
  /// From it come the key ids of mailboxes that do not exist.
  package let decoySecret: SecretKey

  package init(relayID: Bytes32, pin: Bytes32, decoyKey: [UInt8], decoySecret: SecretKey) {
    self.relayID = relayID
    self.pin = pin
    self.decoyKey = decoyKey
    self.decoySecret = decoySecret
  }
}

/// The number of a connection; never used twice by one process.
package struct RelaySessionID: Hashable, Comparable, Sendable {
  package let number: UInt64

  package init(_ number: UInt64) { self.number = number }

  package static func < (left: RelaySessionID, right: RelaySessionID) -> Bool {
    left.number < right.number
  }
}

/// What happens to the relay.
package enum RelayEvent: Sendable {
  /// Somebody connected, from an address that limits are counted by.
  case connected(RelaySessionID, address: [UInt8])
  /// A whole frame arrived, of so many bytes.
  case received(RelaySessionID, RelayFrame<RelayRequest>, byteCount: Int)
  /// Bytes arrived that are no frame.
  case malformed(RelaySessionID, CodecFault)
  /// Something arrived, of a frame that is not whole yet: over a slow line one takes minutes.
  case arriving(RelaySessionID)
  /// So much of a frame that is not whole is here, where that is not little, or none any more.
  case holding(RelaySessionID, byteCount: Int)
  /// The connection is gone.
  case disconnected(RelaySessionID)
  /// More waits to be sent to the session than is good, or no longer.
  case congested(RelaySessionID, Bool)
  /// Much waits still to be sent, and the session has taken some of it.
  case draining(RelaySessionID)
  /// The log answered a write.
  case written(ticket: UInt64, Result<RelayWritten, RelayError>)
  /// The log answered a read.
  case answered(ticket: UInt64, Result<RelayAnswer, RelayError>)
  /// Another process appended to a mailbox of the same log, up to this position.
  case appended(Identifier, head: UInt64)
  /// What another process made of a mailbox: its entries are pushed, lost rights end sessions.
  case news(RelayLogNews)
  /// The log may have lost what it had: everybody opens again and compares.
  case replaced
  /// About a second went by.
  case tick
  /// The relay is to end: sessions are sent away once their writes are answered.
  case drain

  /// Why bytes were no frame, as text: nothing of them is kept.
  package typealias CodecFault = String
}

/// What the relay's shell has to do.
package enum RelayEffect: Equatable, Sendable {
  /// Send bytes to a session.
  case send(RelaySessionID, [UInt8])
  /// Send one push to many: to each its own head, then the tail.
  case share([RelayPushTarget], tail: RelayPushTail)
  /// Do in the log, and report with the ticket.
  case write(ticket: UInt64, RelayWriteBox)
  /// Read in the log, and report with the ticket.
  case read(ticket: UInt64, RelayReadBox)
  /// Read nothing more from a session, or go on.
  case pause(RelaySessionID, Bool)
  /// Let a session send frames of full length.
  case trust(RelaySessionID)
  /// Close a session after what was sent to it.
  case close(RelaySessionID)
}

/// One receiver of a shared push.
package struct RelayPushTarget: Equatable, Sendable {
  /// The session.
  package let session: RelaySessionID
  /// Its channel for the mailbox.
  package let channel: Int
}

/// A write in an effect; effects are compared in tests, by mailbox alone here.
package struct RelayWriteBox: Equatable, Sendable {
  /// The write.
  package let write: RelayWrite

  package static func == (left: RelayWriteBox, right: RelayWriteBox) -> Bool {
    left.write.mailbox == right.write.mailbox
  }
}

/// A read in an effect; effects are compared in tests, by mailbox alone here.
package struct RelayReadBox: Equatable, Sendable {
  /// The read.
  package let read: RelayRead

  package static func == (left: RelayReadBox, right: RelayReadBox) -> Bool {
    left.read.mailbox == right.read.mailbox
  }
}

/// What the relay counts; nothing of it tells mailboxes apart.
package struct RelayCounters: Equatable, Sendable {
  package var sessionsEver = 0
  package var framesReceived = 0
  package var entriesAppended = 0
  package var bytesAppended = 0
  package var pagesRead = 0
  package var pushes = 0
  package var hints = 0
  package var mailboxesMade = 0
  package var rotations = 0
  package var refusals = 0
  package var limited = 0
  package var malformed = 0
  package var slowReaders = 0
  package var timeouts = 0
  package var logFailures = 0
  package var queries = 0

  package init() {}
}

/// A bucket of tokens that fills evenly; integers only, so that runs repeat.
struct RelayBucket {
  private let perMinute: Int
  // In sixty-thousandths, so that a millisecond adds `perMinute` of them.
  private var level: Int
  private var filledAt: UInt64

  init(perMinute: Int, now: UInt64) {
    self.perMinute = perMinute
    level = perMinute * 60_000
    filledAt = now
  }

  /// Takes tokens; 0 if there were enough, else the milliseconds until there are.
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

  /// Whether the bucket would tell a newcomer nothing.
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
