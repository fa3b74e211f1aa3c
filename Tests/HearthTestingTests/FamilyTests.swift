import Foundation
import Hearth
import HearthTesting
import Testing

@Suite("A family in one test")
struct FamilyTests {
  /// The names of the tasks that each person sees.
  private func names(_ family: Family) async throws -> [[String]] {
    var names: [[String]] = []
    for name in family.names {
      let zone = try await family[name].zone()
      names.append(try await zone.fetch(Chore.all.order(\.name)).map(\.name))
    }
    return names
  }

  @Test("Everybody sees what anybody wrote, once the family has settled")
  func settles() async throws {
    let family = try await Family(chores, ["anna", "ben", "cleo"])
    for name in family.names { try await family[name].zone().insert(Chore(name: name)) }
    #expect(try await names(family) == [["anna"], ["ben"], ["cleo"]])
    try await family.settle()
    #expect(try await names(family) == Array(repeating: ["anna", "ben", "cleo"], count: 3))
    try await family.add("dora", as: .reader, invitedBy: "anna")
    #expect(try await names(family).last == ["anna", "ben", "cleo"])
  }

  @Test("A part reaches nobody outside, and passes on what others wrote afterwards")
  func partition() async throws {
    let family = try await Family(chores, ["anna", "ben", "cleo"])
    try family.partition([["anna"], ["ben", "cleo"]])
    let task = try await family["ben"].zone().insert(Chore(name: "Dishes"))
    try await family.settle()
    #expect(try await names(family) == [[], ["Dishes"], ["Dishes"]])
    // Ben's change reaches Anna by Cleo's device alone.
    try family.partition([["ben"], ["anna", "cleo"]])
    try await family.settle()
    #expect(try await names(family).first == ["Dishes"])
    try await family["anna"].zone().update(task.id) { $0.name = "Windows" }
    try await family["ben"].zone().update(task.id) { $0.name = "Floor" }
    family.heal()
    try await family.settle()
    #expect(try await names(family) == Array(repeating: ["Floor"], count: 3))
    #expect(try await familyError { try family.partition([["anna"], ["ben"]]) } != nil)
  }

  @Test("Of two values the later write is shown, whoever made it")
  func order() async throws {
    for writers in [["anna", "ben"], ["ben", "anna"]] {
      let family = try await Family(chores, ["anna", "ben"])
      let task = try await family["anna"].zone().insert(Chore())
      try await family.settle()
      for name in writers { try await family[name].zone().update(task.id) { $0.name = name } }
      try await family.settle()
      #expect(try await names(family) == Array(repeating: [writers[1]], count: 2))
    }
  }

  @Test("A node that crashes has what was written, and its former zones are closed")
  func crash() async throws {
    let family = try await Family(chores, ["anna", "ben"])
    let former = try await family["ben"].zone()
    try await former.insert(Chore(name: "Dishes"))
    try await family.crash("ben")
    try await expectDenied(.closed) { try await former.insert(Chore()) }
    #expect(try await names(family) == [[], ["Dishes"]])
    try await family.settle()
    #expect(try await names(family) == [["Dishes"], ["Dishes"]])
  }

  @Test("A node may end after each call of a sync")
  func crashInSync() async throws {
    let family = try await Family(chores, ["anna", "ben"])
    for count in 1...12 {
      try await family["anna"].zone().insert(Chore(name: "a"))
      try await family["ben"].zone().insert(Chore(name: "b"))
      try await family["anna"].sync()
      let former = family["ben"].node
      try await family.crash("ben", inSyncAfterCalls: count)
      #expect(family["ben"].node !== former)
    }
    try await family.settle()
    #expect(try await names(family).map(\.count) == [24, 24])
  }

  @Test("What is lost, late or repeated arrives in the end")
  func deliveries() async throws {
    let family = try await Family(chores, ["anna", "ben", "cleo"], seed: 3)
    let task = try await family["anna"].zone().insert(Chore(name: "Dishes"))
    try await family.settle()
    family.deliveries.lose(everyNth: 3)
    family.deliveries.delay(upToSyncs: 2)
    family.deliveries.repeatRemoved(everyNth: 2)
    for _ in 0..<10 {
      for name in family.names {
        try await family[name].zone().update(task.id) { $0.points += 1 }
        try await family[name].sync()
      }
    }
    try await family.settle()
    for name in family.names {
      #expect(try await family[name].zone().get(task.id)?.points == 30)
    }
  }

  @Test("A family in which nothing arrives does not settle, and says so")
  func unsettled() async throws {
    let family = try await Family(chores, ["anna", "ben"])
    try await family["anna"].zone().insert(Chore(name: "Dishes"))
    family.deliveries.lose(everyNth: 1)
    let lost = try await familyError { try await family.settle(maximumRounds: 5) }
    #expect(lost?.message.contains("something is on its way to ben") == true)
    family.deliveries.repair()
    family.deliveries.fail(everyNth: 1)
    #expect(try await family["ben"].sync().problems.count == 1)
    let failed = try await familyError { try await family.settle(maximumRounds: 5) }
    #expect(failed?.message.contains("anna has a problem: the folder fails") == true)
    family.deliveries.repair()
    try await family.settle()
    #expect(try await names(family) == [["Dishes"], ["Dishes"]])
  }

  @Test("A call that must be denied fails the test if it is not")
  func denied() async throws {
    let family = try await Family(chores, ["anna", "ben"], roles: ["ben": .child])
    let task = try await family["anna"].zone().insert(Chore(name: "Dishes"))
    try await family.settle()
    let bens = try await family["ben"].zone()
    try await expectDenied { try await bens.update(task.id) { $0.name = "Nothing" } }
    let succeeded = try await familyError {
      try await expectDenied { try await bens.update(task.id) { $0.isDone = true } }
    }
    #expect(succeeded?.message.contains("the call succeeded") == true)
    let other = try await familyError {
      try await expectDenied { try await bens.update(Key<Chore>()) { $0.isDone = true } }
    }
    #expect(other?.message.contains("but got: ") == true)
  }

  @Test("Time passes only when the test says so, and a wrong clock is one person's alone")
  func clock() async throws {
    let family = try await Family(chores, ["anna", "ben"])
    let before = family.clock.milliseconds
    #expect(family.clock.milliseconds == before)
    family.clock.advance(byMilliseconds: 86_400_000)
    #expect(family.clock.date.timeIntervalSince1970 == Double(before + 86_400_000) / 1_000)
    let task = try await family["anna"].zone().insert(Chore())
    try await family.settle()
    // Ben writes later, by a clock that is an hour behind.
    family.clock.set("ben", aheadByMilliseconds: -3_600_000)
    family.clock.advance(byMilliseconds: 60_000)
    try await family["anna"].zone().update(task.id) { $0.name = "anna" }
    family.clock.advance(byMilliseconds: 60_000)
    try await family["ben"].zone().update(task.id) { $0.name = "ben" }
    try await family.settle()
    #expect(try await names(family) == [["anna"], ["anna"]])
  }

  @Test("A node follows the clock that it is given")
  func nodeClock() async throws {
    let family = try await Family(chores, ["anna"])
    let link = try await family["anna"].zone().invite(expires: .hours(1))
    family.clock.advance(byMilliseconds: 2 * 3_600_000)
    let ben = try await family.add("ben", invitedBy: "anna")
    try await expectDenied(.notFound) { _ = try await ben.node.join(link) }
  }

  @Test("Two versions of an application work together")
  func versions() async throws {
    let family = try await Family(chores, ["anna", "ben"])
    try await family.update(
      "anna", to: AppSchema("org.example.chores", [Chore.self, Payment.self]))
    try await family["anna"].zone().insert(Payment(amount: 5))
    try await family.settle()
    try await family.update(
      "ben", to: AppSchema("org.example.chores", [Chore.self, Payment.self]))
    #expect(try await family["ben"].zone().fetch(Payment.all).map(\.amount) == [5])
  }

  @Test("A family that cannot be made says why")
  func mistakes() async throws {
    for names in [[], ["anna", "anna"], ["a/b"]] {
      #expect(try await familyError { _ = try await Family(chores, names) } != nil)
    }
    #expect(
      try await familyError { _ = try await Family(chores, ["anna"], roles: ["ben": .child]) }
        != nil)
  }
}
