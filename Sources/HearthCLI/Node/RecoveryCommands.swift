import ArgumentParser
import Foundation
import Glibc
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// A person's recovery words.
struct WordsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "words",
    abstract: "Twelve recovery words that restore everything when devices are lost.",
    discussion: """
      Examples:
        hearth words show     creates them and shows them once: write them down
        hearth words check    are the words on my sheet the right ones?
        hearth words rotate   replaces them; needs the old ones
        hearth recover --transport PLACE   on a new device, from the words alone; PLACE is the
                                           shared folder or the relay's address
      """,
    subcommands: [Show.self, Check.self, Rotate.self])

  /// Creates and shows the words.
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Create your recovery words and show them, once.",
      discussion: """
        No device keeps the words, so they are shown only now. You type two of them before they
        come into force; if the command ends earlier, nothing has changed.
        """)

    @OptionGroup var printing: WordsPrinting
    @OptionGroup var options: CommonOptions

    func run() async throws {
      try printing.requireScreen(isJSON: options.json)
      let node = try await options.open()
      guard try await node.recovery.state() == .none else {
        throw CommandFailure(
          .failed, "you have recovery words, but no device keeps them: they cannot be shown again",
          hint: "`hearth words check` tests whether your sheet is right; `hearth words rotate` "
            + "creates new ones")
      }
      let shared = await node.dataZones().filter { $0.database == .shared }
      guard !shared.isEmpty else {
        throw CommandFailure(
          .failed, "there is nothing to recover yet", hint: "create or join a household first")
      }
      let words = try PersonWords.drawn()
      try printing.print(words, isJSON: options.json)
      try WordsPrinting.confirm(words, otherwise: "no words are in force: try again")
      let report = try await node.recovery.activate(words)
      try await WordsPrinting.finish(
        node, report,
        report.hasReachedAll
          ? "your recovery words are in force"
          : "your recovery words are created; they take effect when `hearth sync` has worked here")
    }
  }

  /// Checks whether words are correct.
  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Check whether the words you type are your recovery words.",
      discussion: """
        Reads the twelve words from standard input; a terminal does not show them. Also checks
        whether the data in the shared folders and at the relays can restore everything, and \
        ends with 2 if not.
        """)

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Capsule: Encodable {
        let transport: String
        /// The fault of the words' recovery bundle at the transport; absent if there is none.
        let fault: String?
      }
      let right: Bool
      /// The recovery bundle at each folder and relay that could be reached.
      let capsules: [Capsule]
      /// The zones that no transport carries, so that words cannot restore them.
      let notBroughtBack: [String]
    }

    func run() async throws {
      let node = try await options.open()
      let words = try SecretInput.words(asking: "your twelve recovery words, in one line:")
      let verdict = try await node.recovery.check(words)
      let capsules = verdict == .right ? try await node.recovery.examineBundles(with: words) : []
      let lacking = try await StrandedText.items(on: node)
      let hasWay = try await !node.transports.list().isEmpty
      let warnings =
        hasWay
        ? try await StrandedText.beyondWords(on: node)
        : [
          "the words cannot restore anything yet: there is no transport; \(StrandedText.howToAdd)"
        ]
      try await node.close()
      switch verdict {
      case .right:
        if options.json {
          try Output.json(
            Document(
              right: true,
              capsules: capsules.map {
                Document.Capsule(transport: $0.place, fault: $0.fault)
              },
              notBroughtBack: lacking.map {
                $0.zone.database == .shared ? $0.zone.name : $0.zone.database.name
              }))
        } else {
          Output.print("right: these are your recovery words")
          for (place, fault) in capsules {
            guard let fault else { continue }
            Output.note("hearth: warning: \(Style.safe(place)): \(Style.safe(fault))")
          }
          for warning in warnings { Output.note("hearth: warning: \(warning)") }
        }
        guard hasWay, lacking.isEmpty, capsules.allSatisfy({ $0.fault == nil }) else {
          throw ExitCode(ExitStatus.partial.rawValue)
        }
      case .other:
        throw CommandFailure(
          .notAllowed, "these are recovery words, but not your present ones",
          hint: "look for the latest sheet; `hearth words rotate` needs it too")
      case .none:
        throw CommandFailure(
          .failed, "you have no recovery words yet", hint: "`hearth words show` makes them")
      }
    }
  }

  /// Replaces the words.
  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "Replace your recovery words; the old ones stop working.",
      discussion: """
        Reads the old words from standard input. The new ones come into force when you have typed
        two of them; until then the old ones work. Do this if somebody may have seen the sheet, and
        after you lost a device that had created or used the words.
        """)

    @OptionGroup var printing: WordsPrinting
    @OptionGroup var options: CommonOptions

    func run() async throws {
      try printing.requireScreen(isJSON: options.json)
      let node = try await options.open()
      try await Telling.first(node)
      guard try await node.recovery.state() == .set else {
        throw CommandFailure(
          .failed, "you have no recovery words yet", hint: "`hearth words show` makes them")
      }
      var typed = try SecretInput.line(asking: "your present recovery words, in one line:")
      let old = try PersonWords(consuming: &typed)
      guard try await node.recovery.check(old) == .right else {
        throw CommandFailure(
          .notAllowed, "these are not your present recovery words", hint: "use the latest sheet"
        )
      }
      let words = try PersonWords.drawn()
      try printing.print(words, isJSON: options.json)
      try WordsPrinting.confirm(words, otherwise: "the old words stay in force")
      let report = try await node.recovery.rotate(old, to: words)
      try await WordsPrinting.finish(
        node, report,
        report.hasReachedAll
          ? "the new recovery words are in force: destroy the old sheet"
          : "the new recovery words are not published yet: KEEP BOTH SHEETS until "
            + "`hearth sync` has worked on this device; until then the old ones may be the only "
            + "ones that work")
    }
  }
}

/// Shows words once, and only to a person.
struct WordsPrinting: ParsableArguments {
  @Flag(help: "Print the words even if the output is not a terminal.")
  var force = false

  private struct Document: Encodable {
    let words: [String]
  }

  /// Requires a terminal: words must not reach a file or a log by accident.
  func requireScreen(isJSON: Bool) throws {
    guard force || (isatty(STDOUT_FILENO) == 1 && !isJSON) else {
      throw CommandFailure(
        .usage, "recovery words are shown on a terminal only",
        hint: "--force prints them anyway: mind where the output is kept")
    }
  }

  func print(_ words: PersonWords, isJSON: Bool) throws {
    let texts = words.texts()
    if isJSON { return try Output.json(Document(words: texts)) }
    Output.note("write these twelve words on paper; they are shown only once:")
    for row in 0..<4 {
      let cells = stride(from: row, to: texts.count, by: 4).map { place in
        let number = place < 9 ? " \(place + 1)" : "\(place + 1)"
        let isLast = place + 4 >= texts.count
        let gap = String(repeating: " ", count: isLast ? 0 : max(0, 10 - texts[place].count))
        return "  \(number). \(texts[place])\(gap)"
      }
      Output.print(cells.joined())
    }
    Output.note("anybody who has them and can reach your shared folder can read everything in it")
  }

  /// Asks for two of the words.
  static func confirm(_ words: PersonWords, otherwise consequence: String) throws {
    let places = PersonWords.placesToAsk()
    for place in [places.first, places.second] {
      guard var typed = try? SecretInput.line(asking: "from your paper, word \(place):") else {
        throw CommandFailure(.failed, "the words were not confirmed; \(consequence)")
      }
      guard words.isWord(consuming: &typed, at: place) else {
        throw CommandFailure(
          .failed, "that is not word \(place); \(consequence)",
          hint: "throw this paper away: the next words will be different")
      }
    }
  }

  /// Reports the result, and whether it has reached the transports.
  static func finish(_ node: Node, _ report: SyncReport, _ words: String) async throws {
    let (transports, differ) = try await transportsBack(to: node)
    let lacking = try await StrandedText.beyondWords(on: node)
    try await node.close()
    Output.note(words)
    for line in recoverCommands(transports, differ: differ) { Output.note(line) }
    for line in lacking { Output.note("hearth: warning: \(line)") }
    try SyncText.check(report, isQuiet: true)
  }
}

extension WordsPrinting {
  /// The full command for a new device: a relay's address ends in a part that nobody can guess.
  ///
  /// - Parameter differ: whether each transport restores only a part, so that all must be named.
  static func recoverCommands(_ transports: [TransportSetting], differ: Bool = false) -> [String] {
    guard !transports.isEmpty else {
      return [
        "they need a transport to work: `hearth transport add relay ADDRESS`, or "
          + "`add folder PATH`"
      ]
    }
    let hasRelay = transports.contains { $0.kind == .relay }
    let options = transports.map { "--transport \(ShellText.word(Style.safe($0.path)))" }
    let commands = differ ? [options.joined(separator: " ")] : options
    let isOneOf = transports.count > 1 ? ", with one of these:" : ":"
    let number = differ ? ", with all of these:" : isOneOf
    return ["on a new device" + number] + commands.map { "  hearth recover \($0)" }
      + (hasRelay
        ? ["write the relay's whole address beside the words: nothing else contains it"] : [])
  }

  /// Returns the transports from which words restore everything, or all transports, and whether
  /// these are needed together.
  ///
  /// A person who recovers must reach every transport that is named. One that restores everything
  /// is enough.
  static func transportsBack(
    to node: Node
  ) async throws -> (transports: [TransportSetting], differ: Bool) {
    let groups = Set(try await node.transports.exchangedGroups())
    let transports = try await node.transports.list()
    var whole: [TransportSetting] = []
    var carried: Set<Set<GroupID>> = []
    for setting in transports {
      let way = try await node.transports.groups(over: setting)
      let own = groups.filter { way.contains($0) }
      carried.insert(own)
      if own == groups { whole.append(setting) }
    }
    return whole.isEmpty ? (transports, carried.count > 1) : (whole, false)
  }
}

/// Restores a person's device on a new machine.
struct RecoverCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover", abstract: "Restore everything on a new device, from your words.",
    discussion: """
      Needs the twelve recovery words and a shared folder of yours, or the whole address of your
      relay. Reads the words from standard input; a terminal does not show them. The home must be
      empty. If the recovery fails, it leaves nothing behind.

      Examples:
        hearth recover --transport ~/Shared/Home
        hearth recover --transport hearth-relay://192.0.2.7:7440/0k3f...
        hearth recover --transport ~/Shared/Home --revoke-others < words.txt
      """)

  @Option(help: "A shared folder or a relay's address; repeatable.")
  var transport: [String]

  @Flag(help: "Revoke every other device of yours: they read and write nothing more.")
  var revokeOthers = false

  @Option(help: "This device's name; by default the machine's.")
  var device: String?

  @Flag(help: "Ask for a passphrase that protects the new key, before the words.")
  var askPassphrase = false

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Household: Encodable {
      struct Person: Encodable {
        let name: String
        let points: Int
      }
      let name, id: String
      let role: String?
      let people: [Person]
      let chores: Int
      let revokedDevices: [String]
    }
    struct Refusal: Encodable {
      let name, reason: String
    }
    let person, personId, device, deviceId: String
    let households: [Household]
    let refused: [Refusal]
    let privateDatabase: Bool
  }

  func run() async throws {
    try options.refuseHousehold()
    let home = try options.homePath
    let deviceName = try Name.checked(
      device ?? ProcessInfo.processInfo.hostName, what: "the device's name")
    let passphrase = try options.passphraseOfNewKey(isAsked: askPassphrase)
    let words: PersonWords
    do {
      words = try SecretInput.words(asking: "your twelve recovery words, in one line:")
    } catch let error as HearthError {
      throw CommandFailure(.usage, error.message, hint: "nothing was changed: try again")
    }
    let (node, recovered) = try await Node.recover(
      at: home, words: words, folders: transport, deviceName: deviceName,
      revokingOthers: revokeOthers, passphrase: passphrase, schema: CommandSchema.node)
    var households: [Document.Household] = []
    for household in recovered.households {
      households.append(try await summary(of: household, on: node))
    }
    let document = Document(
      person: await node.profile.personName, personId: await node.person.hex, device: deviceName,
      deviceId: await node.device.hex, households: households,
      refused: recovered.refused.map { Document.Refusal(name: $0.name, reason: $0.reason) },
      privateDatabase: recovered.hasPrivateDatabase)
    let report = await node.lastReport
    try await node.close()
    if options.json { try Output.json(document) } else { show(document) }
    try SyncText.check(report, isQuiet: true)
  }

  private func summary(
    of household: (zone: ZoneID, name: String, revokedDevices: [String]), on node: Node
  ) async throws -> Document.Household {
    let context = try await HouseholdContext.of(household.zone, node: node)
    let membership = try await node.membership(of: context.zone.group)
    let (chores, people) = try await context.read { state in
      let people = try membership.people.sorted { ($0.name, $0.id) < ($1.name, $1.id) }.map {
        Document.Household.Person(name: $0.name, points: try state.totals.points(of: $0.id).total)
      }
      return (try state.chores.all(includingArchived: false).count, people)
    }
    return Document.Household(
      name: context.zone.name, id: household.zone.hex,
      role: membership.role(of: await node.device)?.name, people: people, chores: chores,
      revokedDevices: household.revokedDevices)
  }

  private func show(_ document: Document) {
    Output.print("\(Style.safe(document.person)) is back, on \(document.device)")
    for household in document.households {
      let role = household.role ?? "nobody"
      Output.print("household: \(Style.bold(Style.safe(household.name))), you are \(role)")
      let people = household.people.map { "\(Style.safe($0.name)) (\($0.points) points)" }
      Output.print("  people:  \(people.joined(separator: ", "))")
      Output.print("  chores:  \(household.chores)")
      if !household.revokedDevices.isEmpty {
        let names = household.revokedDevices.map(Style.safe).joined(separator: ", ")
        Output.print("  revoked: \(names)")
      }
    }
    if document.privateDatabase {
      Output.print("private:   your own settings, which nobody else reads")
    }
    for refusal in document.refused {
      let name = Style.safe(refusal.name)
      Output.note("hearth: warning: \(name) was not restored: \(Style.safe(refusal.reason))")
    }
    Output.note(
      revokeOthers
        ? "next: `hearth words rotate`, as a lost device may know where your recovery bundle is"
        : "next: `hearth device list`; if a device was lost or stolen: `hearth device revoke`")
  }
}
