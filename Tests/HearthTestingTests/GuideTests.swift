import Foundation
import Hearth
import HearthTesting
import Testing

struct Errand: Record {
  var id = Key<Errand>()
  var name = ""
  var isDone = false

  static let schema = Schema<Errand>("errand", 1) {
    Field(1, \.name, .indexed)
    Field(2, \.isDone)
  }
}

let errands = AppSchema("org.example.errands", [Errand.self]) {
  Rule(Errand.self, .child, may: .change(\.isDone))
}

@Suite("The guide to tests of an application")
struct GuideTests {
  @Test("The guide's family does what the guide says")
  func family() async throws {
    let family = try await Family(errands, ["anna", "ben", "cleo"], roles: ["cleo": .child])
    let annas = try await family["anna"].zone()
    let bread = try await annas.insert(Errand(name: "Bread"))
    try await family.settle()
    try family.partition([["anna"], ["ben", "cleo"]])
    try await family["anna"].zone().update(bread.id) { $0.name = "Rye bread" }
    try await family["cleo"].zone().update(bread.id) { $0.isDone = true }
    family.heal()
    try await family.settle()
    let bens = try await family["ben"].zone().get(bread.id)
    #expect(bens?.name == "Rye bread" && bens?.isDone == true)
    try await expectDenied {
      try await family["cleo"].zone().update(bread.id) { $0.name = "Cake" }
    }
    family.deliveries.lose(everyNth: 3)
    family.deliveries.delay(upToSyncs: 2)
    try await family.crash("ben")
    family.clock.set("cleo", aheadByMilliseconds: 86_400_000)
    family.clock.advance(byMilliseconds: 60_000)
    try await family.settle()
    #expect(try await family["ben"].zone().get(bread.id)?.name == bens?.name)
  }

  @Test("The guide's schedules find two people who add one name")
  func schedules() async throws {
    let schedules = Schedules(errands, ["anna", "ben"]) {
      Action("add", weight: 3) { turn in
        let name = turn.pick("Bread", "Milk")
        try await turn.zone.write { tx in
          guard try tx.first(Errand.where(\.name == name)) == nil else { return }
          try tx.insert(Errand(name: name))
        }
      }
    } invariants: {
      Invariant("names are unique") { reader in
        let names = try reader.fetch(Errand.all).map(\.name)
        return Set(names).count == names.count
      }
    }
    do {
      try await schedules.check(seeds: 0..<20)
      Issue.record("nothing was found")
    } catch let failure as ScheduleFailure {
      #expect(failure.steps.count == 2)
      print(failure)
    }
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    let own = URL(fileURLWithPath: #filePath)
    let root = (0..<3).reduce(own) { url, _ in url.deletingLastPathComponent() }
    let guide = root.appendingPathComponent("docs/guides/testing-an-application.md")
    func lines(_ text: some StringProtocol) -> String {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty && !$0.hasPrefix("#expect") && !$0.hasPrefix("Issue.record") }
        .joined(separator: "\n")
    }
    let source = lines(try String(contentsOf: own, encoding: .utf8))
    let blocks = try String(contentsOf: guide, encoding: .utf8)
      .components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(blocks.count == 7)
    for block in blocks { #expect(source.contains(lines(block)), "\(block)") }
  }
}
