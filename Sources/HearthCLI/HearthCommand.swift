import ArgumentParser
import Foundation
import Glibc
import Hearth

/// The `hearth` command.
package struct HearthCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "hearth", abstract: "Share one household between devices, without a server.",
    discussion: """
      Examples:
        hearth init --person Anna
        hearth household create Home
        hearth transport add folder ~/Shared/Home
        hearth invite
        hearth add "Wash the dishes" --every day --points 3
        hearth add Buy milk
        hearth done dishes milk

      `hearth help exit-codes` explains the exit codes.
      """,
    version: "hearth \(Program.version)", groupedSubcommands: commandGroups)

  package init() {}

  /// Runs the command line of this process, and ends it with the documented exit code.
  package static func run() async {
    signal(SIGPIPE, SIG_IGN)
    let arguments = leadingOptionsLast(Array(CommandLine.arguments.dropFirst()))
    do {
      try OwnProcess.hideMemory()
      try refuseUnreadable(rawArguments())
      try refuseUnknownCommand(arguments)
      try refuseDashed(arguments)
      var command = try HearthCommand.parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      ProgressLine.tell(nil)
      try StandardStream.requireWritten()
    } catch {
      ProgressLine.tell(nil)
      ExitReport(
        error, of: HearthCommand.self,
        isJSON: arguments.prefix { $0 != "--" }.contains("--json")
      ).finish()
    }
  }

  /// The bytes of this process's arguments, without the program's name.
  private static func rawArguments() -> [[UInt8]] {
    (0..<Int(CommandLine.argc)).dropFirst().compactMap { place in
      CommandLine.unsafeArgv[place].map { word in
        Array(UnsafeBufferPointer(start: word, count: strlen(word))).map(UInt8.init(bitPattern:))
      }
    }
  }

  /// Refuses arguments that are not UTF-8: a text would be stored differently than it was typed.
  static func refuseUnreadable(_ arguments: [[UInt8]]) throws {
    for (place, bytes) in arguments.enumerated()
    where String(validating: bytes, as: UTF8.self) == nil {
      throw CommandFailure(
        .usage,
        "argument \(place + 1) is not UTF-8 text: "
          + ShownText.quoted(String(decoding: bytes, as: UTF8.self)),
        hint: "type it again in a terminal that uses UTF-8; a path with such bytes cannot be used")
    }
  }

  /// Refuses a value that begins with one dash, which the parser takes for a group of options.
  ///
  /// The only option of one letter is `-h`, so `- wash` would print help and do nothing.
  static func refuseDashed(_ arguments: [String]) throws {
    let own = arguments.prefix { $0 != "--" }
    for (place, word) in own.enumerated() {
      guard word.hasPrefix("-"), !word.hasPrefix("--"), word != "-", word != "-h" else { continue }
      // A negative number is the value of an option, which has its own range error.
      guard Int(word) == nil else { continue }
      let before = place > 0 ? own[place - 1] : ""
      let isValue = before.hasPrefix("--") && !before.contains("=")
      let typed = ShellText.word(Style.safe(word))
      throw CommandFailure(
        .usage, "\(ShownText.quoted(word)) begins with a dash and is no option",
        hint: isValue
          ? "write an option's value with an equals sign (\(before)=\(typed)), and any other "
            + "word after two dashes (-- \(typed))"
          : "write this word after the options and two dashes: -- \(typed)")
    }
  }

  /// Suggests a command if the first word is not one.
  private static func refuseUnknownCommand(_ arguments: [String]) throws {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
    if arguments.first == "help" { return try refuseUnknownHelp(arguments.dropFirst()) }
    guard let word = arguments.first, !word.hasPrefix("-"), !names.contains(word) else { return }
    let nearest = names.min {
      NameFolding.edits(word, $0) < NameFolding.edits(word, $1)
    }
    let hint =
      nearest.flatMap {
        NameFolding.edits(word, $0) <= 3 ? "did you mean `hearth \($0)`?" : nil
      }
    throw CommandFailure(
      .usage, "there is no command \"\(Style.safe(word))\"",
      hint: hint ?? "`hearth --help` lists the commands")
  }

  /// Refuses help about an unknown command, for which the parser would show the whole list.
  private static func refuseUnknownHelp(_ words: ArraySlice<String>) throws {
    var command: any ParsableCommand.Type = HearthCommand.self
    for word in words where !word.hasPrefix("-") && word != "help" {
      let below = command.configuration.subcommands
      guard let next = below.first(where: { $0.configuration.commandName == word }) else {
        throw CommandFailure(
          .usage, "there is no command \(ShownText.quoted(words.joined(separator: " ")))",
          hint: "`hearth --help` lists the commands")
      }
      command = next
    }
  }

  /// Whether words lead to a command that takes options, and not to a form of help.
  private static func doesSomething(_ words: [String]) -> Bool {
    let own = words.prefix { $0 != "--" }
    guard let first = own.first, first != "help", first != "--version",
      !own.contains("-h"), !own.contains("--help")
    else { return words.first == "--" }
    var command: any ParsableCommand.Type = HearthCommand.self
    for word in own {
      let below = command.configuration.subcommands
      guard let next = below.first(where: { $0.configuration.commandName == word }) else { break }
      command = next
    }
    return command.configuration.subcommands.isEmpty
      || command.configuration.defaultSubcommand != nil
  }

  /// Moves options in front of the command's name behind it, where the parser expects them.
  ///
  /// `hearth --home DIR list` and `hearth list --home DIR` are the same.
  static func leadingOptionsLast(_ arguments: [String]) -> [String] {
    let valued = ["--home", "--household", "--passphrase-file", "--color"]
    var place = 0
    var moved: [String] = []
    while place < arguments.count {
      let argument = arguments[place]
      if valued.contains(argument), place + 1 < arguments.count {
        moved += [argument, arguments[place + 1]]
        place += 2
      } else if argument == "--json" || valued.contains(where: { argument.hasPrefix($0 + "=") }) {
        moved.append(argument)
        place += 1
      } else {
        break
      }
    }
    var rest = Array(arguments[place...])
    if rest.first == "--version", (moved + rest).contains("--json") {
      return ["version", "--json"]
    }
    guard doesSomething(rest) else { return rest }
    rest.insert(contentsOf: moved, at: rest.firstIndex(of: "--") ?? rest.count)
    return rest
  }
}
