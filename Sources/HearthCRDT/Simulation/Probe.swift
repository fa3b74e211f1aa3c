/// A place in the code, or a situation, that simulations must come to: what never happens in a
/// run is not tested by it.
///
/// Counts in simulation builds only; elsewhere ``hit()`` is nothing.
package enum Probe: String, CaseIterable, Sendable {
  // The engine
  case causeMissing = "engine.cause-missing"
  case gapInLog = "engine.gap-in-log"
  case authorUnknown = "engine.author-unknown"
  case segmentRefused = "engine.segment-refused"
  case forkSeen = "engine.fork-seen"
  case pendingApplied = "engine.pending-applied"
  case newLife = "engine.new-life"
  case reissued = "engine.reissued"
  case segmentsMerged = "engine.segments-merged"
  case supersededDropped = "engine.superseded-dropped"
  case partOfSegmentKnown = "engine.part-of-segment-known"
  case ownHeadCaughtUp = "engine.own-head-caught-up"
  case clockHeldBack = "engine.clock-held-back"
  case ownClockStepsBack = "engine.own-clock-steps-back"
  case foreignOwnSegment = "engine.foreign-own-segment"
  // Values
  case siblingMade = "crdt.sibling-made"
  case siblingCovered = "crdt.sibling-covered"
  case recordRevived = "crdt.record-revived"
  case recordDeleted = "crdt.record-deleted"
  case elementAddWins = "crdt.element-add-wins"

  #if HEARTH_SIMULATION
    // Touched from the one thread that runs a simulation.
    nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)
    private static let places = Dictionary(
      uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })

    /// Counts one more.
    package func hit() { Probe.counts[Probe.places[self] ?? 0] += 1 }

    /// How often each was hit since the last reset, in order.
    package static func read() -> [(probe: Probe, count: Int)] {
      zip(allCases, counts).map { ($0, $1) }
    }

    /// Sets all counts to zero.
    package static func reset() { counts = [Int](repeating: 0, count: allCases.count) }
  #else
    /// Nothing outside of simulations.
    @inlinable @inline(__always)
    package func hit() {}
  #endif
}
