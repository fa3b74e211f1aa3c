/// A schedule after which something did not hold.
public struct ScheduleFailure: Error, Sendable, CustomStringConvertible {
  /// The seed of the schedule; nil for one that was given.
  public let seed: UInt64?
  /// What failed, in words.
  public let fault: String
  /// The shortest schedule found in which the same fails.
  public let steps: [ScheduleStep]
  /// How many steps the first schedule had.
  public let originalCount: Int

  /// The fault, and the steps as they are given to ``Schedules/replay(_:)``.
  public var description: String {
    let origin = seed.map { "seed \($0): " } ?? ""
    let length =
      steps.count == originalCount
      ? "\(steps.count) steps" : "\(steps.count) of \(originalCount) steps"
    let lines = steps.map { "  \($0),\n" }.joined()
    return "\(origin)\(fault), after \(length) and when everybody has synced:\n[\n\(lines)]"
  }
}

/// What the schedules of one check did.
public struct ScheduleSummary: Sendable {
  /// How many schedules ran.
  public internal(set) var schedules = 0
  /// How often each action happened, by its name.
  public internal(set) var actions: [String: Int] = [:]
  /// How many steps were no actions: syncs and faults.
  public internal(set) var otherSteps = 0

  mutating func add(_ steps: [ScheduleStep]) {
    schedules += 1
    for step in steps {
      if case .act(_, let action, _) = step {
        actions[action, default: 0] += 1
      } else {
        otherSteps += 1
      }
    }
  }
}
