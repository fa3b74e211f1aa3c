import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthRelayCore
import Synchronization

/// A thread that receives other relays' notifications, and detects when the database goes away and
/// comes back.
///
/// After each connection all open mailboxes are compared, because notifications may have been
/// missed. They are also compared once in a while.
final class PostgresListener: Sendable {
  private let address: PostgresAddress
  private let standing: PostgresStanding
  private let origin: String
  private let isStopped = Mutex(false)
  /// The reading end of a pipe, which becomes readable when the thread is to end.
  private let waking: Int32
  private let alarm: Int32

  /// How long the database may be silent before the thread checks that it is there.
  static let pulseMilliseconds = 2_000
  /// After how many silent pulses everything is compared.
  static let pulsesPerComparison = 5
  /// The longest payload to process.
  static let maximumPayloadBytes = 128

  init(_ address: PostgresAddress, _ standing: PostgresStanding, origin: String) {
    self.address = address
    self.standing = standing
    self.origin = origin
    var ends: [Int32] = [-1, -1]
    // Without a pipe the thread ends at its next pulse.
    if pipe(&ends) == 0 { for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) } }
    (waking, alarm) = (ends[0], ends[1])
  }

  deinit { for end in [waking, alarm] where end >= 0 { close(end) } }

  func start() {
    let thread = Thread { [self] in
      while !isStopped.withLock({ $0 }) { listenOnce() }
    }
    thread.name = "relay-listener"
    thread.start()
  }

  func stop() {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    if isFirst { _ = write(alarm, [1], 1) }
  }

  /// Connects and listens until the connection or the thread ends.
  private func listenOnce() {
    do throws(PostgresFault) {
      let made = try PostgresLink.connect(address)
      let canListen = try listen(made.connection)
      standing.connected(to: made.incarnation)
      standing.tell(.missed)
      try hear(made.connection, canListen: canListen)
    } catch {
      standing.lost()
      let wait = standing.failed()
      _ = PostgresConnection.poll([(waking, POLLIN)], for: .milliseconds(wait))
    }
  }

  /// Whether the database supports notifications; some that speak PostgreSQL do not.
  private func listen(_ connection: PostgresConnection) throws(PostgresFault) -> Bool {
    do throws(PostgresFault) {
      _ = try connection.run([.once("LISTEN \(PostgresWriter.channel)")])
      return true
    } catch {
      if connection.isUsable { return false }
      throw error
    }
  }

  private func hear(_ connection: PostgresConnection, canListen: Bool) throws(PostgresFault) {
    let pulse = canListen ? PostgresListener.pulseMilliseconds : 1_000
    let pulsesPerComparison = canListen ? PostgresListener.pulsesPerComparison : 1
    var pulses = 0
    while !isStopped.withLock({ $0 }) {
      if connection.wait(or: waking, milliseconds: pulse) {
        for payload in try connection.notifications() {
          if let mailbox = mailbox(in: payload) { standing.tell(.changed(mailbox)) }
        }
        continue
      }
      _ = try connection.run([PostgresCall("SELECT 1")])
      standing.answered()
      for payload in try connection.notifications() {
        if let mailbox = mailbox(in: payload) { standing.tell(.changed(mailbox)) }
      }
      pulses += 1
      if pulses.isMultiple(of: pulsesPerComparison) { standing.tell(.missed) }
    }
  }

  /// The mailbox of a notification; nil for this relay's own and for any that no relay sent.
  private func mailbox(in payload: String) -> Identifier? {
    guard payload.utf8.count <= PostgresListener.maximumPayloadBytes else { return nil }
    let fields = payload.split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0] != origin else { return nil }
    return Identifier(hex: String(fields[1]))
  }
}
