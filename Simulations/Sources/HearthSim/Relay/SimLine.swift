import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import HearthTransport
import Synchronization

/// One connection between a device and the relay; each end may believe in it longer than the other.
struct SimLine {
  let device: Int
  let session: RelaySessionID
  /// Which connection of its link it is.
  let attempt: Int
  var isOpenAtDevice = true
  var isOpenAtRelay = false
  /// Nothing passes any more in this direction, and nobody is told.
  var isDeafUp = false
  var isDeafDown = false
  var buffer = RelayFrameBuffer(limit: RelayLimits.maximumHandshakeFrameBytes)
  /// When the last bytes of each direction arrive: nothing overtakes them.
  var lastUp: UInt64 = 0
  var lastDown: UInt64 = 0
  /// How many bytes are on their way to the device, and whether that is too much.
  var waitingDown = 0
  var isCongested = false
  /// How many messages went over it, for its dice.
  var messages: UInt64 = 0
}

/// A device's end of its connections: the production session, with time and lines of the
/// simulation.
///
/// Lives as long as the device's program.
final class SimLink: RelayClientConnection {
  let device: Int
  let address: RelayAddress
  var session: RelayClientSession
  var line: RelaySessionID?
  var attempts = 0
  private var lastTicket: UInt64 = 0
  private(set) var results: [UInt64: Result<RelayOutcome, RelayFailure>] = [:]
  /// How many questions were asked of it.
  private(set) var questions = 0
  /// Of which logs a live line told alone, so that the relay was not asked for them.
  private(set) var unasked: Set<Identifier> = []
  private unowned let net: SimNet

  init(_ net: SimNet, device: Int, identity: DeviceIdentity, life: UInt64) {
    self.net = net
    self.device = device
    address = net.relay.address
    let dice = Dice(Chance(net.seed, domain: "link", UInt64(device), life))
    session = RelayClientSession(
      pin: address.pin, timing: RelayClientTiming(),
      managerPair: { try identity.relayPair(relayID: $0) },
      random: { dice.bytes($0) })
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {
    session.know(access, cursor: cursor, now: net.now)
    net.perform(self)
  }

  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {
    for (access, cursor) in accesses { session.know(access, cursor: cursor, now: net.now) }
    session.prefetch(accesses.map(\.access.mailbox), now: net.now)
    net.perform(self)
  }

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    questions += 1
    net.interrupt(self)
    lastTicket += 1
    let ticket = lastTicket
    session.ask(ticket, mailbox, question, now: net.now)
    net.perform(self)
    net.run { self.results[ticket] != nil }
    guard let result = results.removeValue(forKey: ticket) else {
      throw RelayFailure.unreachable("the question was never answered")
    }
    let outcome = try result.get()
    if case .announced = outcome {
      unasked.insert(mailbox)
    } else if case .reply(.listing) = outcome {
      unasked.remove(mailbox)
    }
    return outcome
  }

  /// An exchange begins.
  func begin() { unasked = [] }

  func finished(_ ticket: UInt64, _ result: Result<RelayOutcome, RelayFailure>) {
    results[ticket] = result
  }
}

/// Dice behind a lock, for closures that may be called from anywhere.
final class Dice: Sendable {
  private let chance: Mutex<Chance>

  init(_ chance: Chance) { self.chance = Mutex(chance) }

  func bytes(_ count: Int) -> [UInt8] { chance.withLock { $0.bytes(count) } }
}

extension Chance {
  /// So many bytes.
  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
