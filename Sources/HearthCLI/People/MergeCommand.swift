import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

extension MemberCommand {
  /// Merges a former member into a present one.
  struct Merge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Merge a former member into a present one.",
      discussion: """
        A person who lost every device and the recovery words, and was removed and invited again,
        is two people for the household. A merge makes them one: points, turns, chores and badges
        of the former member count for the present one, on every device. No data is rewritten, a
        chore that both did counts once, and no role or device moves from one to the other. Admins
        and the owner can merge former members who ranked below them, and undo that.

        Examples:
          hearth member merge Zoë Zoë            merge the Zoë who was removed into the present one
          hearth member merge 3f2a09bb Zoë       choose one by digits of the id (`hearth audit`)
          hearth member merge --undo 3f2a09bb    undo this merge
        """)

    @Argument(help: "The former member.") var person: String
    @Argument(help: "The present member; left out with --undo.") var into: String?
    @Flag(help: "Undo the merge of this person.") var undo = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let person: String
      let personId: String
      /// Absent if a merge is undone.
      let into: String?
      let intoId: String?
      let isUndone: Bool
      /// The total points of the resulting person.
      let points: Int
    }

    func run() async throws {
      guard (into == nil) == undo else {
        throw CommandFailure(
          .usage, undo ? "--undo takes one person" : "the present member is missing",
          hint: undo
            ? "`hearth member merge --undo PERSON`" : "`hearth member merge PERSON INTO`")
      }
      let context = try await HouseholdContext.open(options)
      // People may have come, gone or been merged on other devices.
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      try gate.requireAdmin(to: "merge people")
      let (person, into) = (person, into)
      let (subject, other) = try await context.write { state, builder in
        let subject = try Merge.subject(person, isUndo: into == nil, in: state, gate)
        guard let into else {
          try state.people.undoMerge(of: subject.id, in: &builder)
          return (subject, PersonChoice?.none)
        }
        let other = try ChoreNames.person(into, in: state, gate, isToWork: true)
        try state.people.merge(subject.id, into: other.id, in: &builder)
        return (subject, other)
      }
      let points = try await context.read { try $0.totals.points(of: subject.id).total }
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(
            person: subject.name, personId: subject.id.hex, into: other?.name,
            intoId: other?.id.hex, isUndone: undo, points: points))
      } else {
        tell(subject, other, points, ShownNames(of: gate.membership, withFormer: true))
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }

    private func tell(
      _ subject: PersonChoice, _ other: PersonChoice?, _ points: Int, _ names: ShownNames
    ) {
      let name = Style.safe(names.name(of: subject.id) ?? subject.name)
      guard let other else {
        return Output.print("\(name) counts as themselves again: \(points) points in all")
      }
      Output.print(
        "\(name) counts as \(Style.safe(names.name(of: other.id) ?? other.name)) now: "
          + "\(points) points in all")
      Output.note(
        "roles and devices stay as they are; to undo it: "
          + "`hearth member merge --undo \(ShortID.text(subject.id))`")
    }

    /// Resolves the first name.
    ///
    /// Of several people, it means the former members who are not merged, or, to undo a merge, the
    /// merged ones.
    ///
    /// - Throws: a failure that explains why a present member cannot be merged.
    private static func subject(
      _ text: String, isUndo: Bool, in state: HouseholdState, _ gate: RoleGate
    ) throws -> PersonChoice {
      let membership = gate.membership
      let everybody = (membership.people + membership.formerPeople).map(PersonChoice.init)
      let former = Set(membership.formerPeople.map(\.id))
      func isMeant(_ choice: PersonChoice) -> Bool {
        let isMerged = state.people.merges.one(choice.id) != choice.id
        return isUndo ? isMerged : former.contains(choice.id) && !isMerged
      }
      switch PersonChoice.find(text, among: everybody, isPresent: isMeant) {
      case .one(let choice):
        if !isUndo, let present = membership.people.first(where: { $0.id == choice.id }) {
          throw try refusal(of: present, in: membership, gate)
        }
        if let former = membership.formerPeople.first(where: { $0.id == choice.id }) {
          try gate.requireAbove(former, to: "merge \(Style.safe(former.name)) into somebody")
        }
        return choice
      case .several(let found):
        let isOne = Set(found.map { state.people.merges.one($0.id) }).count == 1
        if isUndo, !found.contains(where: isMeant) { throw nobody(text, [], isUndo) }
        // If all of them are one person already, the state reports it.
        if isOne, let merged = found.first(where: { state.people.merges.one($0.id) != $0.id }) {
          return merged
        }
        throw PersonChoice.several(text, found)
      case .none(let nearest): throw nobody(text, nearest, isUndo)
      }
    }

    private static func nobody(
      _ text: String, _ nearest: [PersonChoice], _ isUndo: Bool
    ) -> CommandFailure {
      CommandFailure(
        .failed,
        "there is no person \(ShownText.quoted(text)) who "
          + (isUndo ? "counts as somebody else" : "used to belong to this household"),
        hint: nearest.isEmpty
          ? "`hearth audit` lists who left or was removed, and who was merged into whom"
          : "did you mean " + RoleGate.either(nearest.map { ShownText.quoted($0.name) }) + "?")
    }

    /// The reason why a present member cannot be merged, with the remedy.
    private static func refusal(
      of present: Member, in membership: Membership, _ gate: RoleGate
    ) throws -> CommandFailure {
      let name = Style.safe(present.name)
      try gate.requireAbove(present, to: "merge \(name) into somebody")
      let devices = membership.devices.count { $0.person == present.id }
      return CommandFailure(
        .failed,
        "\(name) (\(ShortID.text(present.id))) belongs to \(Style.safe(gate.household)), with "
          + "\(Words.count(devices, "device")); only a former member can count as somebody else",
        hint: "if this person is not a separate one any more: "
          + "`hearth member remove \(ShellText.word(present.name))`, then merge")
    }
  }
}
