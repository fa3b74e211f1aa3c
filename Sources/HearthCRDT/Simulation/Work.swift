/// Work that somebody else's bytes cause, counted so that a simulation can compare it with how many
/// bytes there were.
///
/// Time differs from run to run and these counts do not. They count in simulation builds only;
/// elsewhere ``add(_:)`` is nothing.
package enum Work: Int, CaseIterable, Sendable {
  /// Operations that were read from the body of a segment.
  case operations
  /// Bytes of records that were written into the store or a snapshot.
  case stateBytes
  /// Zones whose records were built anew from their logs.
  case rebuilds

  #if HEARTH_SIMULATION
    // Touched from the one thread that runs a simulation.
    nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)

    /// Counts so much more.
    package func add(_ count: Int) { Work.counts[rawValue] += count }

    /// How much there was since the last reset.
    package var count: Int { Work.counts[rawValue] }

    /// Sets all counts to zero.
    package static func reset() { counts = [Int](repeating: 0, count: allCases.count) }
  #else
    /// Nothing outside of simulations; the count is not computed.
    @inlinable @inline(__always)
    package func add(_ count: @autoclosure () -> Int) {}
  #endif
}
