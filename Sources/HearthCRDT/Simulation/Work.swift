/// The work caused by other authors' bytes, counted so that a simulation can compare it with the
/// number of bytes.
///
/// Time differs between runs; these counts do not. Only simulation builds count. In other builds
/// ``add(_:)`` does nothing, and a ``Held`` is empty.
package enum Work: Int, CaseIterable, Sendable {
  /// Operations read from the body of a segment.
  case operations
  /// Bytes of records written into the store or a snapshot.
  case stateBytes
  /// Zones whose records were rebuilt from their logs.
  case rebuilds

  /// Decoded bytes in memory, counted as long as somebody keeps this value or a copy of it.
  ///
  /// The type that holds the decoded content also holds this value.
  package struct Held: Sendable {
    #if HEARTH_SIMULATION
      private let token: Token

      private final class Token: Sendable {
        private let byteCount: Int

        init(_ byteCount: Int) {
          self.byteCount = byteCount
          Work.hold(byteCount)
        }

        deinit { Work.hold(-byteCount) }
      }
    #endif

    /// Begins to count so many bytes.
    package init(_ byteCount: @autoclosure () -> Int) {
      #if HEARTH_SIMULATION
        token = Token(byteCount())
      #endif
    }
  }

  #if HEARTH_SIMULATION
    // Accessed only by the one thread that runs a simulation.
    nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)
    nonisolated(unsafe) private static var heldBytes = 0
    /// The most decoded bytes that were in memory at once since the last reset.
    ///
    /// What somebody kept from before the reset counts too.
    nonisolated(unsafe) package private(set) static var mostHeldBytes = 0

    /// Adds to the count.
    package func add(_ count: Int) { Work.counts[rawValue] += count }

    /// The count since the last reset.
    package var count: Int { Work.counts[rawValue] }

    private static func hold(_ byteCount: Int) {
      heldBytes += byteCount
      mostHeldBytes = max(mostHeldBytes, heldBytes)
    }

    /// Sets all counts to zero.
    package static func reset() {
      counts = [Int](repeating: 0, count: allCases.count)
      mostHeldBytes = heldBytes
    }
  #else
    /// Does nothing outside of simulations; the count is not computed.
    @inlinable @inline(__always)
    package func add(_ count: @autoclosure () -> Int) {}
  #endif
}
