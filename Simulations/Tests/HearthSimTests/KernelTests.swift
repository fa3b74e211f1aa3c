import Testing

@testable import HearthSim

@Suite("The kernel of the simulator")
struct KernelTests {
  @Test("Events come in order of time, equal times in order of arrival")
  func heap() {
    var heap = EventHeap<Int>()
    var chance = Chance(1)
    var expected: [(UInt64, Int)] = []
    for number in 0..<500 {
      let time = UInt64(chance.below(40))
      heap.push(number, at: time)
      expected.append((time, number))
    }
    expected.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    for (time, number) in expected {
      let next = heap.pop()
      #expect(next?.time == time)
      #expect(next?.event == number)
    }
    #expect(heap.isEmpty)
  }

  @Test("A step's line is read back as it was written")
  func lines() throws {
    for line in [
      "1d 08:30:00.250 B: complete Dishes", "0d 00:00:00.000 world: cut A>B",
      "12d 23:59:59.999 A: add \"Take out\" points=5 \"\"",
    ] {
      #expect(try Step(line).line == line)
    }
    for line in ["B: complete", "1d 8 B: complete", "1d 24:00 B: x", "xd 01:00 B: y", ""] {
      #expect(throws: Step.Malformed.self) { try Step(line) }
    }
  }

  @Test("A clock shows steps, drift and settings, and never an instant before 1970")
  func clocks() {
    var clock = SimClock()
    #expect(clock.wall(at: 5_000) == 5_000)
    clock.step(by: -10_000, at: 5_000)
    #expect(clock.wall(at: 6_000) == 0)
    clock.set(to: 4_000_000_000_000, at: 10_000)
    #expect(clock.wall(at: 11_000) == 4_000_000_001_000)
    clock.run(partsPerMillion: 500, at: 11_000)
    #expect(clock.wall(at: 11_000 + 1_000_000_000) == 4_000_000_001_000 + 1_000_500_000)
  }
}
