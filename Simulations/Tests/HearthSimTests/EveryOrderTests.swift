import Testing

@testable import HearthSim

@Suite("Every order of a few changes", .serialized)
struct EveryOrderTests {
  @Test("All orders of a few things, each once")
  func permutations() {
    #expect(Array(Permutations(of: [])) == [[]])
    #expect(Array(Permutations(of: [4])) == [[4]])
    #expect(
      Array(Permutations(of: [2, 1, 0])) == [
        [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
      ])
    #expect(Set(Permutations(of: Array(0..<6))).count == 720)
  }

  @Test("Cases have names of their own, at most six changes, and something to expect")
  func cases() {
    #expect(Set(OrderCase.all.map(\.name)).count == OrderCase.all.count)
    for story in OrderCase.all {
      #expect((2...OrderCase.maximumChanges).contains(story.changes.count), "\(story.name)")
      #expect(!story.expects.isEmpty, "\(story.name)")
    }
  }

  @Test("A case holds, and its orders are counted")
  func holds() throws {
    let outcomes = try Simulator.everyOrder(only: "delete-vs-edit")
    #expect(outcomes.map(\.failure) == [nil])
    // Dan gets three in every order, each writer what it lacks.
    #expect(try #require(outcomes.first).orders > 6)
    #expect(throws: (any Error).self) { try Simulator.everyOrder(only: "no such case") }
  }

  @Test("A case that expects something else fails with the order in words")
  func fails() throws {
    let story = OrderCase(
      name: "wrong", purpose: "The later value does not show.",
      changes: ["0d 09:00 Ada: tally k0 label a", "0d 09:01 Ben: tally k0 label b"],
      expects: ["tally k0 label=a|b"])
    var run = try OrderRun(story, in: OrderFamily())
    let failure = #expect(throws: OrderFailure.self) { try run.run() }
    #expect(
      failure?.description
        == "Dan, given 1 2, shows label=b|a where the case expects tally k0 label=a|b")
  }

  @Test("Seven changes are refused: they have too many orders")
  func tooMany() throws {
    let story = OrderCase(
      name: "long", purpose: "Too long.",
      changes: (1...7).map { "0d 09:0\($0) Ada: tally k0 add 1" }, expects: ["tally k0 total=7"])
    var run = try OrderRun(story, in: OrderFamily())
    #expect(throws: OrderFailure.self) { try run.run() }
  }

  @Test("What no case has is named")
  func coverage() {
    #expect(OrderCoverage().missing?.contains("keepHistory") == true)
  }
}
