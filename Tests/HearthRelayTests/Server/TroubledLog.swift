import HearthCRDT
import HearthSync
import Synchronization

@testable import HearthRelay
@testable import HearthRelayCore

/// A log in memory whose transactions fail while they are told to.
final class TroubledLog: RelayLog {
  private let log = MemoryRelayLog()
  private let failure = Mutex<RelayError?>(nil)

  /// Lets every transaction fail from now on; none any more if nil.
  func fail(with error: RelayError?) { failure.withLock { $0 = error } }

  func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten] {
    if let error = failure.withLock({ $0 }) { throw error }
    return try log.write(batch)
  }

  func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer { try log.read(question) }
}
