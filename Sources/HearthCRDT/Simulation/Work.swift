/// The work caused by other authors' bytes, counted so that a simulation can compare it with the
/// number of bytes.
///
/// Time differs between runs; these counts do not. Only simulation builds count. In other builds
/// ``add(_:)`` does nothing.
package enum Work: Int, CaseIterable, Sendable {
  /// Operations read from the body of a segment.
  case operations
  /// Bytes of records written into the store or a snapshot.
  case stateBytes
  /// Zones whose records were rebuilt from their logs.
  case rebuilds

  #if HEARTH_SIMULATION
    // Accessed only by the one thread that runs a simulation.
    nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)

    /// Adds to the count.
    package func add(_ count: Int) { Work.counts[rawValue] += count }

    /// The count since the last reset.
    package var count: Int { Work.counts[rawValue] }

    /// Sets all counts to zero.
    package static func reset() { counts = [Int](repeating: 0, count: allCases.count) }
  #else
    /// Does nothing outside of simulations; the count is not computed.
    @inlinable @inline(__always)
    package func add(_ count: @autoclosure () -> Int) {}
  #endif
}
