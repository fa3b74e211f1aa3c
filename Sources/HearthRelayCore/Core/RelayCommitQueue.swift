import HearthCRDT
import HearthSync

/// The commit queue: pending requests to the log, and the group commit as a value.
///
/// The owner of a core adds the core's requests to the log, takes batches while there are some, and
/// reports each result to the core. One batch of writes and one read are with the log at a time.
package struct RelayCommitQueue {
  /// The most writes of one transaction.
  package static let maximumBatchWrites = 1_024

  /// Writes of one transaction, in order.
  package struct Batch: Sendable {
    /// The core's ticket for each write.
    package let tickets: [UInt64]
    /// The writes.
    package let writes: [RelayWrite]

    /// The events that report the results to the core.
    package func events(_ result: Result<[RelayWritten], RelayError>) -> [RelayEvent] {
      tickets.enumerated().map { place, ticket in
        .written(ticket: ticket, result.map { $0[place] })
      }
    }
  }

  private var writes: [(ticket: UInt64, write: RelayWrite)] = []
  private var reads: [(ticket: UInt64, read: RelayRead)] = []
  private var isWriting = false
  /// Whether the log is answering a read.
  package private(set) var isReading = false

  package init() {}

  /// The number of queued writes.
  package var writesWaiting: Int { writes.count }
  /// The number of queued reads.
  package var readsWaiting: Int { reads.count }

  /// Adds a write.
  package mutating func add(_ ticket: UInt64, _ write: RelayWrite) {
    writes.append((ticket, write))
  }

  /// Adds a read.
  package mutating func add(_ ticket: UInt64, _ read: RelayRead) {
    reads.append((ticket, read))
  }

  /// Returns the next batch of writes, gathered while the log worked on the previous one.
  ///
  /// Returns nil while the log still works on that one, or if there are no writes.
  package mutating func nextBatch() -> Batch? {
    guard !isWriting, !writes.isEmpty else { return nil }
    isWriting = true
    let batch = writes.prefix(RelayCommitQueue.maximumBatchWrites)
    Probe.writesTogether.hit(if: batch.count > 1)
    writes.removeFirst(batch.count)
    return Batch(tickets: batch.map(\.ticket), writes: batch.map(\.write))
  }

  /// Records that the log has finished the writes.
  package mutating func finishedWriting() { isWriting = false }

  /// Returns the next read; nil while another read is with the log, or if there is none.
  package mutating func nextRead() -> (ticket: UInt64, read: RelayRead)? {
    guard !isReading, !reads.isEmpty else { return nil }
    isReading = true
    return reads.removeFirst()
  }

  /// Records that the log is answering a question that no session asked.
  ///
  /// Reads wait until it is done.
  package mutating func beginReading() {
    precondition(!isReading, "one question is with the log at a time")
    isReading = true
  }

  /// Records that the log has finished the read.
  package mutating func finishedReading() { isReading = false }
}
