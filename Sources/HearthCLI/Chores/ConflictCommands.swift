import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// `hearth conflicts`: the decisions of merges, and the values they kept.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "List values that were written at the same time; none of them is lost.",
    subcommands: [List.self, Resolve.self], defaultSubcommand: List.self)

  /// `hearth conflicts list`.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List them, with a number each.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      let household = try await HouseholdContext.open(common)
      let conflicts = try await FieldConflict.all(of: household)
      if common.json {
        try Output.json(Document(conflicts: conflicts.map(Document.Conflict.init)))
        return
      }
      guard !conflicts.isEmpty else {
        Output.note("no conflicts: no two people wrote the same thing at the same time")
        return
      }
      for conflict in conflicts {
        Output.print(
          "\(conflict.number). \(conflict.type) \"\(Style.safe(conflict.title))\": "
            + conflict.field)
        for (place, value) in conflict.values.enumerated() {
          let mark = place == 0 ? "shown" : "kept "
          Output.print(
            "   [\(place)] \(mark)  \(Style.safe(value.text))  by \(Style.safe(value.author))")
        }
      }
      Output.note("choose with `hearth conflicts resolve NUMBER VALUE`; VALUE is in the brackets")
    }

    private struct Document: Encodable {
      struct Conflict: Encodable {
        let number: Int
        let type: String
        let record: String
        let title: String
        let field: String
        let values: [String]
        /// The author of each value, in the same order.
        let writtenBy: [String]

        init(_ conflict: FieldConflict) {
          number = conflict.number
          type = conflict.type
          record = conflict.key.id.hex
          title = conflict.title
          field = conflict.field
          values = conflict.values.map(\.text)
          writtenBy = conflict.values.map(\.author)
        }
      }

      let schema = 1
      let conflicts: [Conflict]
    }
  }

  /// `hearth conflicts resolve`.
  struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resolve", abstract: "Keep one of the values and drop the others.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The conflict's number in `hearth conflicts`.") var number: Int
    @Argument(help: "The value's number in the brackets; 0 keeps the shown one.") var value = 0

    private struct Document: Encodable {
      let type, record, title, field, value: String
    }

    func run() async throws {
      let household = try await HouseholdContext.open(common)
      let conflicts = try await FieldConflict.all(of: household)
      guard let conflict = conflicts.first(where: { $0.number == number }) else {
        throw CommandFailure(
          .failed, "there is no conflict \(number)", hint: "see `hearth conflicts`")
      }
      guard conflict.values.indices.contains(value) else {
        throw CommandFailure(
          .failed, "conflict \(number) has the values 0 to \(conflict.values.count - 1)")
      }
      let chosen = conflict.values[value]
      let operation = Operation(conflict.key, .assign(conflict.fieldID, chosen.value))
      try await household.roleGate().check([operation])
      try await household.node.write(to: household.zone.id) { _, _ in ([operation], ()) }
      if common.json {
        return try Output.json(
          Document(
            type: conflict.type, record: conflict.key.id.hex, title: conflict.title,
            field: conflict.field, value: chosen.text))
      }
      Output.note("\(conflict.field) is now \(Style.safe(chosen.text))")
    }
  }
}

/// A field with several concurrent values.
struct FieldConflict: Sendable {
  struct Choice: Sendable {
    let value: Value
    let text: String
    let author: String
  }

  let number: Int
  let key: RecordKey
  let type: String
  let title: String
  let field: String
  let fieldID: FieldID
  /// The shown value first.
  let values: [Choice]

  /// Returns every conflict of a household, in order of type, record and field.
  static func all(of household: HouseholdContext) async throws -> [FieldConflict] {
    let membership = try await household.node.membership(of: household.zone.group)
    return try await household.node.read(household.zone.id) { source in
      try FieldSiblings.all(among: HouseholdSchema.all, in: source).enumerated().map {
        place, siblings in
        FieldConflict(
          number: place + 1, key: siblings.key, type: siblings.schema.name,
          title: title(of: siblings.state, siblings.schema), field: siblings.field.name,
          fieldID: siblings.field.id,
          values: siblings.values.map { version, value in
            let device = version.dot.author.device
            return Choice(
              value: value, text: text(value),
              author: membership.person(of: device)?.name ?? String(device.hex.prefix(8)))
          })
      }
    }
  }

  /// The title of a record; empty if it has no field for one.
  static func title(of state: RecordState, _ schema: RecordSchema) -> String {
    for name in ["title", "name", "key"] {
      if let field = schema.field(named: name), let text = state.shown(field.id)?.text {
        return text
      }
    }
    return ""
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .null: "nothing"
    case .bool(let truth): truth ? "yes" : "no"
    case .int(let number): String(number)
    case .text(let text): text
    case .bytes(let bytes): "\(bytes.count) bytes"
    }
  }
}
