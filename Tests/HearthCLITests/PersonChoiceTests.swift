import HearthCRDT
import HearthSync
import Testing

@testable import Hearth
@testable import HearthCLI

@Suite("Who is meant by a name or an id")
struct PersonChoiceTests {
  private func person(_ high: UInt64, _ name: String) -> PersonChoice {
    PersonChoice(id: Identifier(high: high << 32, low: 1), name: name)
  }

  private func found(
    _ text: String, _ everybody: [PersonChoice], gone: [PersonChoice] = []
  ) -> String {
    switch PersonChoice.find(text, among: everybody + gone, isPresent: { !gone.contains($0) }) {
    case .one(let one): "\(one.name) \(one.id.hex.prefix(8))"
    case .several(let several): "\(several.count)"
    case .none(let nearest): "none, \(nearest.map(\.name).joined(separator: " "))"
    }
  }

  @Test("Four digits of an id tell people of one name apart, three do not")
  func digits() {
    let everybody = [person(0x1234_5678, "Eve"), person(0x1234_9999, "Eve"), person(5, "Ada")]
    #expect(found("Eve", everybody) == "2")
    #expect(found("12345", everybody) == "Eve 12345678")
    #expect(found("1234", everybody) == "2")
    #expect(found("0000", everybody) == "Ada 00000005")
    #expect(found("123", everybody) == "none, ")
  }

  @Test("A name that reads like digits is a name")
  func hexadecimalName() {
    let everybody = [person(0xadda_0000, "Ben"), person(7, "Adda")]
    #expect(found("adda", everybody) == "Adda 00000007")
    #expect(found("adda0", everybody) == "Ben adda0000")
  }

  @Test("Who has gone gives way to who is there, and is never suggested")
  func gone() {
    let (dan, dana) = (person(1, "Dan"), person(2, "Dana"))
    #expect(found("da", [dana], gone: [dan]) == "Dana 00000002")
    // The whole name is the one who has gone, and not somebody whose name begins so.
    #expect(found("Dan", [dana], gone: [dan]) == "Dan 00000001")
    #expect(found("Dan", [person(3, "Dan"), dana], gone: [dan]) == "Dan 00000003")
    #expect(found("Dxn", [], gone: [dan]) == "none, ")
    #expect(found("Dxn", [dan]) == "none, Dan")
  }

  @Test("The ids are shown where a name is doubled, and only there")
  func shown() {
    let everybody = [person(1, "Eve"), person(2, "eve"), person(3, "Ada")]
    let names = ShownNames(everybody)
    #expect(names.name(of: everybody[0].id) == "Eve (00000001)")
    #expect(names.name(of: everybody[2].id) == "Ada")
    let failure = PersonChoice.several("Eve", Array(everybody.prefix(2)))
    #expect(failure.message == "\"Eve\" fits 2 people:\n  00000001  Eve\n  00000002  eve")
    #expect(failure.hint?.contains("the id in its place") == true)
  }

  @Test("Chores that somebody leaves behind are named, the first five of them")
  func left() throws {
    #expect(ChoreNames.words(onChores: [], leftBy: "Dan") == nil)
    let one = try #require(ChoreNames.words(onChores: ["Bins"], leftBy: "Dan"))
    #expect(one.hasPrefix("1 chore is still Dan's: \"Bins\"; reassign them with `hearth assign"))
    let many = try #require(
      ChoreNames.words(onChores: (1...7).map { "T\($0)" }, leftBy: nil))
    #expect(many.hasPrefix("7 chores are still yours: \"T1\", "))
    #expect(many.contains("\"T5\" and 2 more; the others"))
  }

  @Test("Who is out hears of recovery words, and of another device only where there is one")
  func remedies() throws {
    func ending(_ kind: Ending.Kind) -> Ending {
      Ending(kind: kind, personName: "Ada", milliseconds: 0, reason: nil)
    }
    for kind in [Ending.Kind.revoked, .recovered] {
      let alone = EndingText.remedy(ending(kind), hasOthers: false)
      #expect(alone.hasPrefix(EndingText.recovering + ", or ask an owner or admin"))
      #expect(alone.contains("`hearth recover`"))
      #expect(!alone.contains("device add"))
      let others = EndingText.remedy(ending(kind), hasOthers: true)
      #expect(others.contains("hearth device add") && others.contains("hearth recover"))
    }
    #expect(EndingText.remedy(ending(.left), hasOthers: true).hasPrefix("to come back, ask"))
  }
}
