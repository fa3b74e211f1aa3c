import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// `hearth badges`.
struct BadgesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "badges", abstract: "Show a person's badges, and the progress to the others.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The person; by default you.") var person: String?

  private struct Document: Encodable {
    struct Item: Encodable {
      let key, name, description, icon, color, measure: String
      let required, progress: Int
      let earnedOn: String?
    }
    let person: String
    let streak: Int
    let badges: [Item]
  }

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let (name, gate) = (person, try await household.roleGate())
    let document = try await household.read { state in
      let person = try name.map { try ChoreNames.person($0, in: state, gate).id } ?? me
      return Document(
        person: try ChoreNames.names(in: state)[person]
          ?? gate.membership.person(person)?.name ?? person.hex,
        streak: try state.achievements.streak(of: person),
        badges: try state.achievements.badges(of: person).map { view in
          Document.Item(
            key: view.badge.key, name: view.badge.name, description: view.badge.description,
            icon: view.badge.icon, color: view.badge.color, measure: view.badge.measure.rawValue,
            required: view.badge.required, progress: view.progress,
            earnedOn: view.earnedOn?.iso)
        })
    }
    if common.json { return try Output.json(document) }
    Output.print(
      "\(Style.safe(document.person)): \(document.badges.count { $0.earnedOn != nil }) of "
        + "\(document.badges.count) badges, \(Words.count(document.streak, "day")) in a row")
    let rows = document.badges.map {
      [$0.name, $0.earnedOn ?? "\($0.progress) of \($0.required)", $0.description]
    }
    Output.print(Table(headers: ["BADGE", "EARNED", "FOR"], rows: rows).text)
  }
}
