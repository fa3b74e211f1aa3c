import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// A request to a log, and the session that made it.
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

/// The requests that the log has not answered yet.
struct RelayLogRequests {
  private var tickets: [UInt64: RelayTicket] = [:]
  private var lastNumber: UInt64 = 0

  /// Whether the log has answered everything.
  var isEmpty: Bool { tickets.isEmpty }

  /// Returns the ticket of a number.
  subscript(number: UInt64) -> RelayTicket? { tickets[number] }

  /// Adds a request and returns its number.
  mutating func add(_ ticket: RelayTicket) -> UInt64 {
    lastNumber += 1
    tickets[lastNumber] = ticket
    return lastNumber
  }

  /// Removes an answered request and returns it; nil for an unknown number.
  mutating func take(_ number: UInt64) -> RelayTicket? {
    tickets.removeValue(forKey: number)
  }

  /// The earliest request that changes a mailbox's access key right now.
  func rotation(of mailbox: Identifier) -> RelayTicket? {
    let rotations = tickets.filter { _, ticket in
      if case .rotate = ticket.purpose { ticket.mailbox == mailbox } else { false }
    }
    return rotations.min { $0.key < $1.key }?.value
  }
}
