import HearthCRDT

/// The requests of a connection that wait for their answers.
struct RelaySentRequests: Sendable {
  /// The purpose of a request, and so the recipient of its answer.
  enum Purpose: Equatable {
    case hello
    case ping
    case open(Identifier)
    case prove(Identifier)
    case subscribe(Identifier)
    case close
    case question(UInt64)
  }

  /// A request without an answer.
  struct Sent: Sendable {
    let purpose: Purpose
    let since: UInt64
  }

  /// The most questions that wait for answers at a time: half of what relays allow.
  private static let maximumUnanswered = 32

  private var sent: [UInt32: Sent] = [:]
  private var lastNumber: UInt32 = 0
  /// When the last request was sent.
  private(set) var lastSent: UInt64 = 0

  /// Whether one more question may wait for its answer.
  var hasRoom: Bool { sent.count < RelaySentRequests.maximumUnanswered }

  /// When the oldest request was sent; nil if there is none.
  var oldest: UInt64? { sent.values.map(\.since).min() }

  /// Whether a ping waits for its answer.
  var hasPing: Bool { sent.values.contains { $0.purpose == .ping } }

  /// Adds a request and returns its number.
  mutating func add(_ purpose: Purpose, now: UInt64) -> UInt32 {
    lastNumber += 1
    lastSent = now
    sent[lastNumber] = Sent(purpose: purpose, since: now)
    return lastNumber
  }

  /// Removes an answered request and returns it; nil if it was not sent.
  mutating func take(_ number: UInt32) -> Sent? {
    sent.removeValue(forKey: number)
  }

  /// Begins anew, on another connection.
  mutating func reset() {
    sent = [:]
    lastNumber = 0
  }
}
