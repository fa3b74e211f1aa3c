import ArgumentParser
import Foundation

/// Prints the manual page, generated from the declarations that parse the command line.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Print the manual page in roff.",
    discussion: "To read it: hearth manual | man -l -")

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    /// The page in roff.
    let manual: String
  }

  func run() throws {
    let text = try ManualPage(dump: Data(HearthCommand._dumpHelp().utf8)).text
    if options.json { return try Output.json(Document(manual: text)) }
    Output.print(text)
  }
}

/// The manual page hearth(1) in roff with the macros of man(7).
struct ManualPage {
  /// The parts of the argument parser's description of a command that the page shows.
  private struct Tool: Decodable {
    let command: Command
  }

  private struct Command: Decodable {
    let commandName: String
    let superCommands: [String]?
    let abstract: String?
    let discussion: String?
    let subcommands: [Command]?
    let arguments: [Argument]?
    let shouldDisplay: Bool?
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String

      var text: String { (kind == "long" ? "--" : "-") + name }
    }
    let kind: String
    let shouldDisplay: Bool
    let isOptional: Bool
    let isRepeating: Bool
    let names: [Name]?
    let valueName: String?
    let defaultValue: String?
    let abstract: String?
  }

  private let root: Command
  /// The options of every command, which the page describes once.
  private let common: [String] = [
    "--home", "--json", "--passphrase-file", "--household", "--color", "--help", "--version", "-h",
  ]

  /// Reads the argument parser's description of the program.
  init(dump: Data) throws {
    root = try JSONDecoder().decode(Tool.self, from: dump).command
  }

  /// The page.
  var text: String {
    var lines = [
      ".TH HEARTH 1 \"\" \"hearth \(Program.version)\" \"Hearth\"", ".SH NAME",
      "hearth \\- " + ManualPage.inline(root.abstract ?? ""), ".SH SYNOPSIS", ".B hearth",
      "[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]", ".SH DESCRIPTION",
    ]
    lines += ManualPage.paragraphs(root.discussion ?? "")
    lines.append(".SH COMMANDS")
    for command in commands(of: root, path: []) { lines += section(command) }
    lines += optionsSection + ManualPage.surroundings
    return lines.joined(separator: "\n")
  }

  /// The commands that perform an action, with their full names, in order of declaration.
  private func commands(of parent: Command, path: [String]) -> [(name: String, Command)] {
    (parent.subcommands ?? []).flatMap { command -> [(name: String, Command)] in
      guard command.commandName != "help", command.shouldDisplay ?? true else { return [] }
      let path = path + [command.commandName]
      let below = commands(of: command, path: path)
      return below.isEmpty ? [(path.joined(separator: " "), command)] : below
    }
  }

  private func section(_ entry: (name: String, Command)) -> [String] {
    let shown = (entry.1.arguments ?? []).filter { argument in
      argument.shouldDisplay && !(argument.names ?? []).contains { common.contains($0.text) }
    }
    let words = shown.map(ManualPage.synopsis).joined(separator: " ")
    var lines = [
      ".SS \(ManualPage.inline("hearth " + entry.name)) \(words)".trimmingCharacters(
        in: .whitespaces), ManualPage.inline(entry.1.abstract ?? ""),
    ]
    if let discussion = entry.1.discussion { lines += [".PP"] + ManualPage.paragraphs(discussion) }
    lines += shown.flatMap(ManualPage.item)
    return lines
  }

  private var optionsSection: [String] {
    // Every command has them; `status` represents all.
    let command = root.subcommands?.first { $0.commandName == "status" }
    let shown = (command?.arguments ?? []).filter { argument in
      argument.shouldDisplay && (argument.names ?? []).contains { common.contains($0.text) }
    }
    return [".SH OPTIONS", "Every command has these; they may precede its name."]
      + shown.flatMap(ManualPage.item)
  }

  private static func synopsis(_ argument: Argument) -> String {
    let value = "\\fI\(inline(argument.valueName ?? "value"))\\fR"
    let name = (argument.names ?? []).first.map { "\\fB\(inline($0.text))\\fR" }
    var text: String
    switch (argument.kind, name) {
    case ("positional", _): text = value
    case ("flag", let name?): text = name
    case (_, let name?): text = "\(name) \(value)"
    default: text = value
    }
    if argument.isRepeating { text += " ..." }
    return argument.isOptional ? "[\(text)]" : text
  }

  private static func item(_ argument: Argument) -> [String] {
    let value = "\\fI\(inline(argument.valueName ?? "value"))\\fR"
    let names = (argument.names ?? []).map { "\\fB\(inline($0.text))\\fR" }
    let head =
      switch argument.kind {
      case "positional": value
      case "flag": names.joined(separator: ", ")
      default: names.joined(separator: ", ") + " " + value
      }
    var words = inline(argument.abstract ?? "")
    if let value = argument.defaultValue, !value.isEmpty { words += " (default: \(inline(value)))" }
    return [".TP", head, words.isEmpty ? "\\&" : words]
  }

  private static var surroundings: [String] {
    let variables = [
      ("HEARTH_HOME", "The node's folder, if --home does not name one."),
      (
        "HEARTH_PASSPHRASE_FILE",
        "A file that contains the passphrase of the node's key, if --passphrase-file names none."
      ),
      ("XDG_DATA_HOME", "The parent of the node's folder \"hearth\", if nothing else names it."),
      ("NO_COLOR", "Not empty: no colour, unless --color or the setting color says otherwise."),
      ("CLICOLOR_FORCE", "Not empty and not 0: colour even if the output is not a terminal."),
      ("COLUMNS", "The width of tables on a terminal."),
    ]
    var lines = [".SH \"EXIT STATUS\""]
    for (code, meaning) in ExitCodesCommand.codes {
      lines += [".TP", ".B \(code)", inline(meaning)]
    }
    lines += [".PP", "Treat any other code as a failure.", ".SH ENVIRONMENT"]
    for (name, meaning) in variables { lines += [".TP", ".B \(name)", inline(meaning)] }
    lines += [
      ".SH FILES", ".TP", ".I ~/.local/share/hearth",
      "The node: its key, its database, its lock and its rollback guard. Keep it private.",
    ]
    return lines
  }

  /// Text in one line, escaped for roff.
  private static func inline(_ text: String) -> String {
    let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
      .replacing("\n", with: " ")
    return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : plain
  }

  /// Paragraphs; indented lines stay as they are.
  private static func paragraphs(_ text: String) -> [String] {
    var lines: [String] = []
    var isPlain = true
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isExample = line.hasPrefix("  ")
      if isExample == isPlain {
        lines.append(isExample ? ".PP\n.nf\n.RS 2" : ".RE\n.fi\n.PP")
        isPlain = !isExample
      }
      let words = inline(line.trimmingCharacters(in: .whitespaces))
      lines.append(words.isEmpty ? ".PP" : words)
    }
    if !isPlain { lines.append(".RE\n.fi") }
    return lines
  }
}
