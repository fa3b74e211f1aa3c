import ArgumentParser
import Foundation
import Household
import Testing

@testable import HearthCLI

@Suite("What is printed")
struct RenderTests {
  private func table(_ rows: [[String]], width: Int, right: Set<Int> = []) -> String {
    var table = Table(headers: ["CHORE", "POINTS"], rows: rows, rightAligned: right)
    table.width = width
    return table.text
  }

  @Test("Columns are aligned, numbers to the right, and no line ends with spaces")
  func alignment() {
    let text = table([["Dishes", "3"], ["Windows of the hall", "120"]], width: 0, right: [1])
    #expect(
      text == """
        CHORE                POINTS
        Dishes                    3
        Windows of the hall     120
        """)
    #expect(table([["Dishes", ""]], width: 0).split(separator: "\n").last == "Dishes")
  }

  @Test("Only the widest column gives way on a narrow terminal, down to eight columns")
  func narrow() {
    let long = String(repeating: "x", count: 50)
    let lines = table([[long, "3"]], width: 30).split(separator: "\n")
    #expect(lines.allSatisfy { Table.columns(String($0)) <= 30 })
    #expect(lines.last?.contains("…") ?? false)
    #expect(table([[long, "3"]], width: 0).contains(long))
    let least = table([[long, "3"]], width: 3).split(separator: "\n").last
    #expect(least == "xxxxxxx…  3")
  }

  @Test("Wide characters take two columns")
  func wide() {
    #expect(Table.columns("掃除") == 4)
    #expect(Table.columns("🧹") == 2)
    #expect(Table.columns("ä") == 1)
    #expect(Table.columns("a\u{308}") == 1)
  }

  @Test("A row with fewer cells than headers is filled up")
  func shortRow() {
    #expect(table([["Dishes"]], width: 0).hasSuffix("\nDishes"))
  }

  @Test("Control characters and changes of direction of others are made visible")
  func safe() {
    #expect(Style.safe("a\u{1B}[31mb\nc") == "a⟨U+001B⟩[31mb⟨U+000A⟩c")
    #expect(Style.safe("Küche 🧹 plain") == "Küche 🧹 plain")
    #expect(table([["a\nb", "1"]], width: 0).split(separator: "\n").count == 2)
  }

  @Test("Colour follows the flag, then the setting, then the environment, then the terminal")
  func colour() {
    func decide(
      _ flag: ColorChoice? = nil, _ setting: ColorChoice = .auto, _ terminal: Bool = true,
      _ environment: [String: String] = [:]
    ) -> Bool {
      Style.decide(flag: flag, setting: setting, environment: environment, isTerminal: terminal)
    }
    #expect(decide())
    #expect(!decide(nil, .auto, false))
    #expect(!decide(nil, .auto, true, ["TERM": "dumb"]))
    #expect(!decide(nil, .auto, true, ["NO_COLOR": "1"]))
    #expect(decide(nil, .auto, true, ["NO_COLOR": ""]))
    #expect(decide(nil, .auto, false, ["CLICOLOR_FORCE": "1"]))
    #expect(!decide(nil, .auto, false, ["CLICOLOR_FORCE": "0"]))
    #expect(!decide(nil, .auto, false, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"]))
    #expect(decide(.always, .never, false, ["NO_COLOR": "1"]))
    #expect(!decide(.never, .always, true))
    #expect(decide(nil, .always, false, ["NO_COLOR": "1"]))
    #expect(!decide(.auto, .always, false))
  }

  @Test("The width is that of COLUMNS or of the terminal, and none where there is none")
  func width() {
    #expect(StandardStream.width(isTerminal: false, columns: "120", reported: 0) == 0)
    #expect(StandardStream.width(isTerminal: true, columns: "120", reported: 90) == 120)
    #expect(StandardStream.width(isTerminal: true, columns: nil, reported: 90) == 90)
    for columns in ["0", "-5", "wide", ""] {
      #expect(StandardStream.width(isTerminal: true, columns: columns, reported: 0) == 80)
    }
  }

  @Test("A cell of comma-separated values is quoted where needed, and never a formula")
  func cells() {
    #expect(ExportCommand.cell("plain") == "plain")
    #expect(ExportCommand.cell("a,\"b\"") == "\"a,\"\"b\"\"\"")
    #expect(ExportCommand.cell("=1+1") == "'=1+1")
  }

  @Test("The manual names every command, and no line of it begins by accident with a control")
  func manual() throws {
    let page = try ManualPage(dump: Data(HearthCommand._dumpHelp().utf8)).text
    for command in HearthCommand.configuration.subcommands {
      let name = try #require(command.configuration.commandName)
      #expect(page.contains("hearth \(name.replacing("-", with: "\\-"))"), "\(name)")
    }
    let macros = ["TH", "SH", "SS", "TP", "PP", "B", "I", "nf", "fi", "RS", "RE"]
    for line in page.split(separator: "\n") where line.hasPrefix(".") {
      let word = line.dropFirst().prefix { $0 != " " }
      #expect(macros.contains(String(word)), "\(line)")
    }
  }
}

@Suite("What is said of errors")
struct ExitReportTests {
  private func content(_ error: any Error) -> ExitReport.Document.Content {
    ExitReport(error, of: HearthCommand.self, isJSON: true).document.error
  }

  @Test("Every exit code has its own word and meaning, and the documents' table names it")
  func codes() {
    #expect(Set(ExitStatus.allCases.map(\.word)).count == ExitStatus.allCases.count)
    for status in ExitStatus.allCases {
      #expect(ExitCodesCommand.table.contains("\(status.rawValue)  \(status.meaning)"))
    }
  }

  @Test("A failure, a bare exit code, wrong usage and an error of the rules are all documents")
  func documents() throws {
    let failure = content(CommandFailure(.locked, "busy", hint: "wait"))
    #expect(failure.code == "locked" && failure.exit == 6 && failure.hint == "wait")
    #expect(content(ExitCode(2)).code == "partial")
    #expect(content(ExitCode(99)).exit == 1)
    let rule = content(HouseholdError(.badSetting, "no"))
    #expect(rule.code == "usage" && rule.reason == "bad-setting" && rule.message == "no")
    #expect(throws: (any Error).self) {
      do {
        _ = try HearthCommand.parseAsRoot(["done"])
      } catch {
        #expect(content(error).code == "usage")
        #expect(content(error).exit == 64)
        #expect(content(error).message.contains("chore"))
        throw error
      }
    }
  }

  @Test("Options before the command's name move behind it, values with them")
  func leadingOptions() {
    #expect(
      HearthCommand.leadingOptionsLast(["--home", "h", "--json", "--color=never", "list", "--all"])
        == ["list", "--all", "--home", "h", "--json", "--color=never"])
    #expect(
      HearthCommand.leadingOptionsLast(["--home", "h", "add", "--", "--json"])
        == ["add", "--home", "h", "--", "--json"])
    #expect(HearthCommand.leadingOptionsLast(["--home"]) == ["--home"])
  }
}

@Suite("Settings of three scopes")
struct SettingTests {
  @Test("The narrowest scope that is set holds, and a value that is none is passed over")
  func overlay() {
    func source(_ stored: [SettingScope: [String: String]]) -> String {
      let (value, scope) = SettingValues(stored: stored).effective(.listOrder)
      return "\(value) \(scope?.rawValue ?? "default")"
    }
    #expect(source([:]) == "title default")
    #expect(source([.household: ["list-order": "due"]]) == "due household")
    #expect(
      source([.household: ["list-order": "due"], .person: ["list-order": "points"]])
        == "points person")
    #expect(
      source([.device: ["list-order": "title"], .person: ["list-order": "points"]])
        == "title device")
    #expect(
      source([.device: ["list-order": "colour"], .person: ["list-order": "points"]])
        == "points person")
  }

  @Test("What decides totals exists for the household alone")
  func totals() throws {
    for name in HouseholdSettings.keys {
      let key = try SettingKey.named(name)
      #expect(key.scopes == [.household])
      #expect(throws: CommandFailure.self) { try key.scope(.device) }
    }
  }

  @Test("Keys are unique, their defaults are values of theirs, and scopes go from narrow to wide")
  func keys() throws {
    #expect(Set(SettingKey.all.map(\.name)).count == SettingKey.all.count)
    for key in SettingKey.ofDisplay {
      #expect(key.defaultValue.isEmpty || key.isValid(key.defaultValue), "\(key.name)")
      #expect(key.scopes == SettingScope.allCases.filter(key.scopes.contains), "\(key.name)")
      #expect(key.scopes.contains(key.usualScope), "\(key.name)")
      #expect(!key.isValid("\u{1B}[31m"), "\(key.name)")
    }
    #expect(throws: CommandFailure.self) { try SettingKey.named("colour") }
  }

  @Test("A page's size is taken at its limits and refused beyond them")
  func pageSize() {
    for text in ["1", "200"] { #expect(SettingKey.pageSize.isValid(text)) }
    for text in ["0", "201", "-1", "+5", "05", "", "ten"] {
      #expect(!SettingKey.pageSize.isValid(text))
    }
  }
}
