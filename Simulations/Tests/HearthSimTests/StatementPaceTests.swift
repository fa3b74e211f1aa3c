import Testing

@testable import HearthSim

@Suite("How often devices may say what a zone holds")
struct StatementPaceTests {
  private let start: UInt64 = 1_800_000_000_000
  private let weeks: UInt64 = 7 * 24 * 60 * 60 * 1_000

  private func most(_ arrivals: [UInt64], weeks count: UInt64) -> Int {
    StatementPace(
      arrivals: arrivals.map { start + $0 * weeks }, from: start, to: start + count * weeks
    ).most
  }

  @Test("The more people there are, the fewer statements each device makes, down to one in 90 days")
  func people() {
    #expect(most([0], weeks: 27) == 6 + 1)
    #expect(most([0, 0], weeks: 27) == 3 + 1)
    #expect(most([0, 0, 0], weeks: 27) == 2 + 1)
    // Ninety days are more than twelve weeks, and less than thirteen.
    #expect(most([0, 0, 0, 0], weeks: 12) == 1)
    #expect(most([0, 0, 0, 0], weeks: 13) == 1 + 1)
    #expect(most([UInt64](repeating: 0, count: 20), weeks: 130) == 10 + 1)
  }

  @Test("Who comes later makes the others' pace slower from then on")
  func arrivals() {
    #expect(most([0, 8], weeks: 8) == 2 + 1)
    #expect(most([8, 0], weeks: 24) == (2 + 1) + (2 + 1))
    // By a clock that is wrong somebody came before the beginning, or will come.
    let pace = StatementPace(
      arrivals: [0, .max], from: start, to: start + 8 * weeks)
    #expect(pace.most == 2 + 1)
  }
}
