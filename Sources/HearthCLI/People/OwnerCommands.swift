import ArgumentParser
import Foundation
import Glibc
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The owner of the household.
struct OwnerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "owner", abstract: "Show the owner; offer, accept or withdraw the ownership.",
    discussion: """
      Examples:
        hearth owner transfer Cleo   offer Cleo the household
        hearth owner accept          accept it, on Cleo's device
        hearth owner withdraw        withdraw the offer
      """,
    subcommands: [Show.self, Transfer.self, Accept.self, Withdraw.self],
    defaultSubcommand: Show.self)

  /// Shows the owner and open offers.
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show the owner and open offers.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Offer: Encodable {
        let from: String
        let to: String
        let since: String
      }
      let owner: String
      let ownerId: String?
      let offers: [Offer]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let membership = try await context.node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      try await context.node.close()
      func name(_ id: PersonID) -> String { membership.person(id)?.name ?? "an unknown person" }
      if options.json {
        return try Output.json(
          Document(
            owner: membership.owner.map(name) ?? "an unknown person",
            ownerId: membership.owner?.hex,
            offers: membership.offers.map {
              Document.Offer(
                from: name($0.from), to: name($0.to),
                since: MomentText.iso($0.since.milliseconds))
            }))
      }
      Output.print("owner: \(Style.safe(membership.owner.map(name) ?? "an unknown person"))")
      for offer in membership.offers {
        Output.print(
          "offered to \(Style.safe(name(offer.to))) by \(Style.safe(name(offer.from))) on "
            + "\(moment.text(offer.since.milliseconds)), not accepted yet")
      }
    }
  }

  /// Offers the household to somebody.
  struct Transfer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "transfer", abstract: "Offer the household to somebody, who must accept.",
      discussion: """
        You stay the owner until they accept; then you are an admin. An offer does not expire; a
        later one to somebody else replaces it for those who have received that. This needs your
        recovery words, from --words-file or typed when asked. If you have none yet, create them
        with `hearth words show`.
        """)

    @Argument(help: "The person.") var person: String
    @Option(help: "A file that contains your 12 recovery words.") var wordsFile: String?
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let offeredTo: String
      let personId: String
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      let subject = try PeopleNames(membership: gate.membership, renamed: [:]).person(person)
      let own = try gate.requireMember()
      guard own.role == .owner else {
        throw gate.refusal(to: "transfer the ownership", [.owner])
      }
      guard subject.id != own.id else {
        throw CommandFailure(.failed, "you are already the owner")
      }
      guard gate.membership.recovery.recoveryKeys(of: own.id) != nil else {
        throw CommandFailure(
          .notAllowed,
          "transferring the ownership needs recovery words, so that a stolen device cannot do it",
          hint: "run `hearth words show` first")
      }
      let name = Style.safe(subject.name)
      try Confirmation.ask(
        "offer \(Style.safe(context.zone.name)) to \(name), who becomes its owner by accepting?",
        isGiven: yes)
      try await context.node.people.transferOwner(
        of: context.zone.group, to: subject.id, words: try OwnerWords.read(wordsFile))
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(Document(offeredTo: subject.name, personId: subject.id.hex))
      } else {
        Output.print("\(Style.safe(context.zone.name)) is offered to \(name)")
        Output.print("you stay the owner until \(name) accepts, and are then an admin")
        Output.note("next, on \(name)'s device: `hearth sync`, then `hearth owner accept`")
      }
      try SyncText.check(report, isQuiet: true)
    }
  }

  /// Accepts the household.
  struct Accept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "accept", abstract: "Accept the household that was offered to you.")

    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let household: String
      let owner: String
      let was: String
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      let own = try gate.requireMember()
      guard let offer = gate.membership.offers.last(where: { $0.to == own.id }) else {
        throw CommandFailure(
          .failed, "nobody has offered you \(Style.safe(context.zone.name))",
          hint: "`hearth sync` may bring an offer; the owner makes one with `hearth owner transfer`"
        )
      }
      let former = gate.membership.person(offer.from)?.name ?? "the owner"
      try Confirmation.ask(
        "become the owner of \(Style.safe(context.zone.name))?", isGiven: yes)
      try await context.node.people.acceptOwner(of: context.zone.group, offer: offer.id)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(household: context.zone.name, owner: own.name, was: former))
      } else {
        Output.print("you are the owner of \(Style.safe(context.zone.name)) now")
        Output.print("\(Style.safe(former)) is an admin")
        Output.note(Telling.words(report))
        if gate.membership.recovery.isAtRisk(own.id) {
          Output.note(
            "next: `hearth words show`: you have one device and no recovery words, and would lose "
              + "the household with it")
        }
      }
      try SyncText.check(report, isQuiet: true)
    }
  }

  /// Withdraws an offer.
  struct Withdraw: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "withdraw", abstract: "Take back your offer of the household.",
      discussion: """
        The other person can still accept until their device receives this, because the offer is
        signed. This needs your recovery words, as the offer did.
        """)

    @Option(help: "A file that contains your 12 recovery words.") var wordsFile: String?
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let withdrawnFrom: String
      let personId: String
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      let own = try gate.requireMember()
      guard let offer = gate.membership.offers.last(where: { $0.from == own.id }) else {
        throw CommandFailure(
          .failed, "there is no offer of yours to withdraw", hint: "`hearth owner` shows them")
      }
      let heir = gate.membership.person(offer.to)?.name ?? "somebody"
      try await context.node.people.transferOwner(
        of: context.zone.group, to: own.id, words: try OwnerWords.read(wordsFile))
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(Document(withdrawnFrom: heir, personId: offer.to.hex))
      } else {
        Output.print(
          "\(Style.safe(context.zone.name)) is not offered to \(Style.safe(heir)) any more")
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
  }
}

/// The owner's recovery words, which sign changes of ownership.
private enum OwnerWords {
  static func read(_ file: String?) throws -> [UInt8] {
    let text: [UInt8]
    if let file {
      guard let data = FileManager.default.contents(atPath: file) else {
        throw CommandFailure(.failed, "the file \(ShownText.quoted(file)) cannot be read")
      }
      text = Array(data)
    } else {
      if isatty(STDIN_FILENO) == 1 { Output.note("your 12 recovery words:") }
      text = Array((readLine() ?? "").utf8)
    }
    guard !text.isEmpty else {
      throw CommandFailure(
        .notAllowed, "transferring the ownership needs your 12 recovery words",
        hint: "type them when asked, or add --words-file FILE")
    }
    return text
  }
}
