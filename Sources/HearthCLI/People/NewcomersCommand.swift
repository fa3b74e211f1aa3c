import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

extension HouseholdCommand {
  /// Shows or sets which history newcomers may read.
  struct Newcomers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "newcomers", abstract: "Show or set what newcomers may read.",
      discussion: """
        Rules:
          everything    the whole history
          from-joining  the present state, and all changes from the invitation on

        People who need approval read from the approval on. An owner or admin sets the rule; it
        applies to later invitations. Older links without approval contain the old keys, so
        from-joining closes them. The rule everything opens no history that was closed before.

        Examples:
          hearth household newcomers
          hearth household newcomers from-joining
        """)

    @Argument(help: "everything or from-joining; by default the present rule is shown.")
    var rule: String?
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let household: String
      let newcomers: String
      let was: String?
      let closedInvitations: [String]?
    }

    func run() async throws {
      let rule = try rule.map(NewcomerWords.rule)
      let context = try await HouseholdContext.open(options)
      guard let rule else { return try await show(context) }
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      try gate.requireAdmin(to: "set what newcomers may read")
      let before = gate.membership.newcomers
      let closed = try await context.node.people.setNewcomers(rule, of: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(
            household: context.zone.name, newcomers: NewcomerWords.word(rule),
            was: NewcomerWords.word(before), closedInvitations: closed.map(\.hex)))
      } else if rule == before {
        Output.print("\(NewcomerWords.words(rule)), as before")
      } else {
        Output.print("\(NewcomerWords.words(rule)) now")
        if !closed.isEmpty {
          let links = closed.count == 1 ? "its link contains" : "their links contain"
          Output.print(
            "closed \(Words.count(closed.count, "open invitation")), as \(links) old keys: "
              + "`hearth invite`")
        }
        if rule == .full {
          Output.note("newcomers still cannot read changes from the time of the other rule")
        }
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }

    private func show(_ context: HouseholdContext) async throws {
      let rule = try await context.node.membership(of: context.zone.group).newcomers
      try await context.node.close()
      if options.json {
        return try Output.json(
          Document(
            household: context.zone.name, newcomers: NewcomerWords.word(rule), was: nil,
            closedInvitations: nil))
      }
      Output.print(NewcomerWords.words(rule))
    }
  }
}
