import FamilyModel
import HearthCRDT
import HearthSync
import Household
import Testing

@Suite("The real household and the model agree")
struct AgreementTests {
  private func expectAgreement(_ pair: Pair, _ comment: String = "") throws {
    for device in 0..<3 {
      let differences = try pair.differences(device)
      #expect(
        differences.isEmpty, "\(comment) device \(device)\n\(differences.joined(separator: "\n"))")
    }
  }

  @Test("first completion")
  func simple() throws {
    let pair = try Pair()
    let chore = try pair.add(ChoreDraft(title: "Dishes", points: 5))
    try expectAgreement(pair)
    try pair.done(chore, by: 1, on: 1)
    try pair.done(chore, by: 0, on: 0)
    try expectAgreement(pair)
    try pair.meet()
    try expectAgreement(pair)
    print(pair.changes.flatMap(\.operations))
    print(try pair.differences(0))
  }
}
