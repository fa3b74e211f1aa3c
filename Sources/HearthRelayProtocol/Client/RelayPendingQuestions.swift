import HearthCRDT

/// The questions of a client's owner that have no answer yet, by ticket.
struct RelayPendingQuestions: Sendable {
  /// A question without an answer.
  struct Pending: Sendable {
    let mailbox: Identifier
    let question: RelayQuestion
    var deadline: UInt64
    /// The earliest time to send the question.
    ///
    /// It is 0 once that time has come, so that the shell is not woken for it again.
    var notBefore: UInt64 = 0
    var tries = 0
    var isSent = false
    /// The opening under which the question was sent.
    var opening: UInt64 = 0

    /// Whether the question can be sent now.
    func isDue(at now: UInt64) -> Bool { !isSent && notBefore <= now }
  }

  private var pending: [UInt64: Pending] = [:]

  /// The question of a ticket.
  subscript(ticket: UInt64) -> Pending? {
    get { pending[ticket] }
    _modify { yield &pending[ticket] }
  }

  /// Whether there are none.
  var isEmpty: Bool { pending.isEmpty }

  /// All tickets, in order.
  var tickets: [UInt64] { pending.keys.sorted() }

  /// The tickets of questions about a mailbox, in order.
  func tickets(about mailbox: Identifier) -> [UInt64] {
    tickets.filter { pending[$0]?.mailbox == mailbox }
  }

  /// Whether there are questions about a mailbox.
  func contains(_ mailbox: Identifier) -> Bool {
    pending.values.contains { $0.mailbox == mailbox }
  }

  /// The mailboxes with questions that can be sent now.
  func dueMailboxes(at now: UInt64) -> Set<Identifier> {
    Set(pending.values.filter { $0.isDue(at: now) }.map(\.mailbox))
  }

  /// The times at which questions can be sent that wait for them.
  var delays: [UInt64] {
    pending.values.filter { !$0.isSent && $0.notBefore > 0 }.map(\.notBefore)
  }

  /// The times until which questions wait for a connection.
  var deadlines: [UInt64] { pending.values.map(\.deadline) }

  /// Ends the delays that are over.
  mutating func wake(at now: UInt64) {
    for ticket in tickets where pending[ticket]?.notBefore ?? 0 <= now {
      pending[ticket]?.notBefore = 0
    }
  }
}
