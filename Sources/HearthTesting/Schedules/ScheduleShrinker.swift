/// Makes a failing schedule shorter, as long as it fails in the same.
///
/// Source: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
struct ScheduleShrinker {
  /// How many schedules it tries at most.
  let maximumRuns: Int
  let fault: ([ScheduleStep]) async throws -> ScheduleFault?

  /// Returns the shortest schedule that it finds, and its fault.
  func shrink(
    _ steps: [ScheduleStep], _ first: ScheduleFault
  ) async throws -> (steps: [ScheduleStep], fault: ScheduleFault) {
    var best = (steps: steps, fault: first)
    var runs = 0
    var size = max(1, steps.count / 2)
    while true {
      let before = best.steps.count
      var start = 0
      while start < best.steps.count, runs < maximumRuns {
        var shorter = best.steps
        shorter.removeSubrange(start..<min(start + size, shorter.count))
        runs += 1
        if let found = try await fault(shorter), found.place == first.place {
          best = (shorter, found)
        } else {
          start += size
        }
      }
      if runs >= maximumRuns || size == 1 && best.steps.count == before { return best }
      size = max(1, size / 2)
    }
  }
}
