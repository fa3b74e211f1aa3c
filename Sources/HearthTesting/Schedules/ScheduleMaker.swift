/// Makes schedules from seeds.
struct ScheduleMaker {
  let names: [String]
  let actions: [Action]
  let maximumSteps: Int
  let withFaults: Bool

  /// Returns the schedule of a seed.
  func steps(seed: UInt64) -> [ScheduleStep] {
    var chance = SeededGenerator(seed: seed)
    let least = max(1, maximumSteps / 3)
    let count = least + chance.below(maximumSteps - least + 1)
    return (0..<count).map { _ in step(&chance) }
  }

  private func step(_ chance: inout SeededGenerator) -> ScheduleStep {
    switch chance.below(100) {
    case ..<56: act(&chance)
    case ..<80: .sync(person(&chance))
    default: withFaults ? fault(&chance) : act(&chance)
    }
  }

  private func act(_ chance: inout SeededGenerator) -> ScheduleStep {
    let name = person(&chance)
    var place = chance.below(actions.reduce(0) { $0 + $1.weight })
    let action = actions.first { action in
      place -= action.weight
      return place < 0
    }
    // Small seeds are easier to read, and there are enough of them.
    return .act(name, action?.name ?? "", seed: chance.next() >> 44)
  }

  private func fault(_ chance: inout SeededGenerator) -> ScheduleStep {
    switch chance.below(20) {
    case ..<5: .partition(parts(&chance))
    case ..<9: .heal
    case ..<11: .crash(person(&chance))
    case ..<14: .crashInSync(person(&chance), afterCalls: 1 + chance.below(12))
    case ..<15: .advance(milliseconds: UInt64(1 + chance.below(48)) * 3_600_000)
    case ..<17: .lose(everyNth: chance.below(4) + 2)
    case ..<19: .delay(upToSyncs: chance.below(3))
    default: .repeatRemoved(everyNth: chance.below(3) + 2)
    }
  }

  private func person(_ chance: inout SeededGenerator) -> String {
    chance.pick(names) ?? ""
  }

  /// Two parts, of which one may be empty and is left out then.
  private func parts(_ chance: inout SeededGenerator) -> [[String]] {
    var parts: [[String]] = [[], []]
    for name in names { parts[chance.below(2)].append(name) }
    return parts.filter { !$0.isEmpty }
  }
}
