import ArgumentParser
import Hearth
import HearthSync

/// The program's constants.
enum Program {
  static let version = HearthVersion.text
}

/// Prints the versions of this program and its cryptography.
struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version", abstract: "Show the version of this program.")

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    let version: String
    let libsodium: String
  }

  func run() throws {
    if options.json {
      return try Output.json(
        Document(version: Program.version, libsodium: Diagnostics.sodiumVersion))
    }
    Output.print("hearth \(Program.version) (libsodium \(Diagnostics.sodiumVersion))")
  }
}

/// Explains the exit codes; `hearth help exit-codes` shows the same.
struct ExitCodesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "exit-codes", abstract: "Explain the exit codes.", discussion: table)

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Item: Encodable {
      let code: Int32
      let meaning: String
    }
    let exitCodes: [Item]
  }

  private static let others: [(code: Int32, meaning: String)] = [
    (130, "ended by SIGINT before an orderly stop"),
    (143, "ended by SIGTERM before an orderly stop"),
  ]

  static var codes: [(code: Int32, meaning: String)] {
    ExitStatus.allCases.map { ($0.rawValue, $0.meaning) } + others
  }

  static var table: String {
    codes.map { code, meaning in
      String(repeating: " ", count: max(0, 3 - "\(code)".count)) + "\(code)  \(meaning)"
    }.joined(separator: "\n") + "\nTreat any other code as a failure."
  }

  func run() throws {
    if options.json {
      return try Output.json(
        Document(exitCodes: ExitCodesCommand.codes.map { Document.Item(code: $0, meaning: $1) }))
    }
    Output.print(ExitCodesCommand.table)
  }
}
