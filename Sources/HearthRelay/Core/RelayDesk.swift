import HearthCRDT
import HearthSync

/// What waits for the log, and what goes to it together: the group commit as a value.
///
/// Whoever owns a core hands over what the core asks of the log, takes batches for as long as there
/// are some, and tells the core what came of each. One batch of writes and one read are with the
/// log at a time.
package struct RelayDesk {
  /// The most writes of one transaction.
  package static let maximumBatchWrites = 1_024

  /// Writes of one transaction, in order.
  package struct Batch: Sendable {
    /// What the core knows each by.
    package let tickets: [UInt64]
    /// What is to be written.
    package let writes: [RelayWrite]

    /// What the core is told.
    package func events(_ result: Result<[RelayWritten], RelayError>) -> [RelayEvent] {
      tickets.enumerated().map { place, ticket in
        .written(ticket: ticket, result.map { $0[place] })
      }
    }
  }

  private var writes: [(ticket: UInt64, write: RelayWrite)] = []
  private var reads: [(ticket: UInt64, read: RelayRead)] = []
  private var isWriting = false
  /// Whether the log is asked something.
  package private(set) var isReading = false

  package init() {}

  /// How many writes wait.
  package var writesWaiting: Int { writes.count }
  /// How many reads wait.
  package var readsWaiting: Int { reads.count }

  /// A write is to be done.
  package mutating func add(_ ticket: UInt64, _ write: RelayWrite) {
    writes.append((ticket, write))
  }

  /// A read is to be done.
  package mutating func add(_ ticket: UInt64, _ read: RelayRead) {
    reads.append((ticket, read))
  }

  /// The writes that go to the log now, all that came while the last batch was with it; nil while
  /// it is, or where there are none.
  package mutating func nextBatch() -> Batch? {
    guard !isWriting, !writes.isEmpty else { return nil }
    isWriting = true
    let batch = writes.prefix(RelayDesk.maximumBatchWrites)
    Probe.writesTogether.hit(if: batch.count > 1)
    writes.removeFirst(batch.count)
    return Batch(tickets: batch.map(\.ticket), writes: batch.map(\.write))
  }

  /// The log is done with the writes.
  package mutating func finishedWriting() { isWriting = false }

  /// The read that goes to the log now; nil while another is there, or where there is none.
  package mutating func nextRead() -> (ticket: UInt64, read: RelayRead)? {
    guard !isReading, !reads.isEmpty else { return nil }
    isReading = true
    return reads.removeFirst()
  }

  /// The log is asked something that no session asked for: reads wait until it is done.
  package mutating func beginReading() {
    precondition(!isReading, "one question is with the log at a time")
    isReading = true
  }

  /// The log is done with the read.
  package mutating func finishedReading() { isReading = false }
}
