import Testing

/// Each rule against small texts that break it and small texts that do not: a rule that cannot
/// fail proves nothing.
@Suite("Each rule can fail")
struct RuleTests {
  private func source(_ text: String, path: String = "Sources/HearthCRDT/A.swift") -> SourceText {
    SourceText(path: path, text: text)
  }

  // MARK: Telling code from text

  @Test("comments and strings are blanked, interpolated code is kept, lines stay in place")
  func blanking() {
    let text = ###"""
      let a = "x // \(print("q")) z" // print(1)
      /* print(2) /* nested */ print(3) */ let b = ##"raw "# \(no) \##(yes)"##
      let c = #/ " /# ; let d = 1
      """###
    let file = source(text)
    #expect(file.codeBytes.count == text.utf8.count)
    #expect(file.code.count { $0 == "\n" } == 2)
    #expect(file.code.contains("print("))
    #expect(!file.code.contains("q"))
    #expect(!file.code.contains("1)") && !file.code.contains("2)") && !file.code.contains("3)"))
    #expect(file.code.contains("let b =") && file.code.contains("yes"))
    #expect(!file.code.contains("raw") && !file.code.contains("no"))
    #expect(file.code.contains("let d = 1"))
  }

  @Test("a multi-line string hides its quotes and its code")
  func multilineString() {
    let file = source("let a = \"\"\"\n  \"quoted\" print(1)\n  \"\"\"\nlet b = 2\n")
    #expect(!file.code.contains("print") && file.code.contains("let b = 2"))
    #expect(file.lineCount == 4)
  }

  // MARK: Imports

  @Test(
    "an import outside of the table is found, however it is written",
    arguments: [
      "import Foundation", "@testable import Foundation", "public import struct Foundation.Date",
      "@preconcurrency internal import Foundation", "import Glibc", "import Dispatch",
      "import Synchronization", "import HearthSync", "let a = 1; import Foundation",
    ])
  func badImport(text: String) {
    #expect(ImportRule.violations(in: source(text)).count == 1)
  }

  @Test("a comment or a string that speaks of an import is none")
  func noImport() {
    #expect(ImportRule.violations(in: source("// import Foundation\nlet a = \"import B\"")) == [])
  }

  @Test(
    "the shells keep their distance from the layers below",
    arguments: [
      ("HearthCLI", "HearthStore"), ("HearthCLI", "HearthTransport"),
      ("HearthCLI", "HearthCrypto"), ("HearthStore", "HearthTransport"),
      ("HearthTransport", "GRDB"), ("HearthSync", "HearthStore"), ("Household", "Hearth"),
      ("HearthCrypto", "HearthCRDT"), ("HearthMembership", "HearthSync"), ("hearth-cli", "Hearth"),
      ("HearthRelay", "HearthStore"), ("HearthTransport", "NIOCore"),
      ("HearthRelayCore", "NIOCore"), ("HearthRelayCore", "Foundation"),
    ])
  func layering(module: String, imported: String) {
    let file = source("import \(imported)", path: "Sources/\(module)/A.swift")
    #expect(ImportRule.violations(in: file).count == 1)
  }

  @Test(
    "what the table allows is allowed",
    arguments: [
      ("HearthCrypto", "CSodium"), ("HearthRelay", "NIOPosix"), ("HearthStore", "GRDBSQLite"),
      ("HearthTransport", "Synchronization"), ("hearth-cli", "HearthCLI"),
    ])
  func goodImport(module: String, imported: String) {
    let file = source("import \(imported)", path: "Sources/\(module)/A.swift")
    #expect(ImportRule.violations(in: file) == [])
  }

  @Test("a module folder without a row is found, with or without Swift in it")
  func unknownModule() {
    #expect(ImportRule.violations(in: source("", path: "Sources/New/A.swift")).count == 1)
    #expect(ImportRule.violations(in: source("", path: "Sources/A.swift")).count == 1)
    #expect(ImportRule.violations(inModuleFolders: ["HearthSync", "CNew"]).count == 1)
  }

  @Test("simulations see each other and the engine, not the command line")
  func simulationImports() {
    let text = "import Simulator\nimport HearthSync\nimport HearthCLI\nimport Testing"
    let lines = ["Sources/Work", "Tests/WorkTests", "Work"].map { folder in
      ImportRule.violations(
        in: source(text, path: "Simulations/\(folder)/A.swift"),
        simulationModules: ["Simulator", "Work"]
      ).map(\.line)
    }
    #expect(lines == [[3, 4], [3], [1]])
  }

  @Test("a simulation's tests may import the testing library, its sources may not")
  func simulationTestImports() {
    let text = "import Testing\nimport Simulator"
    func lines(_ path: String) -> [Int] {
      let file = source(text, path: path)
      return ImportRule.violations(in: file, simulationModules: ["Simulator"]).map(\.line)
    }
    #expect(lines("Simulations/Tests/WorkTests/A.swift") == [])
    #expect(lines("Simulations/Sources/Work/A.swift") == [1])
    #expect(ImportRule.simulationModule(ofPath: "Simulations/Sources/Work/B/A.swift") == "Work")
    #expect(ImportRule.simulationModule(ofPath: "Simulations/Work/A.swift") == "Work")
    #expect(ImportRule.simulationModule(ofPath: "Sources/Work/A.swift") == nil)
  }

  @Test("the model that judges the household may import nothing at all")
  func independentModel() {
    let text = "import Household\nimport HearthCRDT\nimport Foundation\nimport Synchronization"
    let file = source(text, path: "Simulations/Sources/FamilyModel/A.swift")
    #expect(
      ImportRule.violations(in: file, simulationModules: ["FamilyModel"]).map(\.line)
        == [1, 2, 3, 4])
  }

  @Test("no pure module has a row that lets the operating system in")
  func pureRows() {
    for module in ImportRule.pureModules {
      let row = ImportRule.table[module] ?? ["no row"]
      #expect(row.isSubset(of: ["HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync"]))
    }
  }

  // MARK: Banned calls

  @Test(
    "each banned call is found in code",
    arguments: [
      ("Date()", "let a = Date()"), ("Date()", "let a = Date.now"),
      ("Clock.now", "ContinuousClock.now"), ("Clock.now", "ContinuousClock().now"),
      ("Task.sleep", "try await Task.sleep(for: .seconds(1))"),
      ("SystemRandomNumberGenerator", "var g = SystemRandomNumberGenerator()"),
      ("UUID()", "UUID()"), (".random(in:", "Int.random(in: 0..<3)"),
      ("print(", "print(a)"), ("fatalError(", "fatalError(\"no\")"), ("try!", "try! f()"),
      ("as!", "a as! B"), ("NSLog", "NSLog(a)"), ("libsodium", "sodium_init()"),
      ("libsodium", "crypto_sign(a)"), ("SQLite", "sqlite3_step(a)"),
      ("libpq", "PQfinish(a)"),
    ])
  func bannedCall(name: String, text: String) {
    let found = BannedCallRule.violations(in: source("\n\(text)\n"))
    #expect(found.count == 1)
    #expect(found.first?.line == 2)
    #expect(found.first?.message.hasPrefix("\(name): ") == true)
    #expect(BannedCallRule.violations(in: source("// \(text)\nlet a = 1")) == [])
  }

  @Test("the texts above cover every banned call of the table")
  func everyCallIsCovered() {
    #expect(
      Set(BannedCallRule.table.map(\.name)) == [
        "Date()", "Clock.now", "Task.sleep", "SystemRandomNumberGenerator", "UUID()",
        ".random(in:", "print(", "fatalError(", "try!", "as!", "NSLog", "libsodium", "SQLite",
        "libpq",
      ])
  }

  @Test("a call is allowed at home, and tests may do some of what sources may not")
  func homes() {
    let home = source("sodium_init()", path: "Sources/HearthCrypto/A.swift")
    #expect(BannedCallRule.violations(in: home) == [])
    let neighbour = source("sodium_init()", path: "Sources/HearthCryptoExtra/A.swift")
    #expect(BannedCallRule.violations(in: neighbour).count == 1)
    let test = source("UUID()\nTask.sleep(for: a)", path: "Tests/HearthSyncTests/A.swift")
    #expect(BannedCallRule.violations(in: test).map(\.line) == [2])
  }

  @Test("names that only resemble a banned call are left alone")
  func resemblingNames() {
    let text =
      "blueprint(a); table.print(b); Date(timeIntervalSince1970: 0); let cryptoBox = try? c"
    #expect(BannedCallRule.violations(in: source(text)) == [])
  }

  // MARK: Markers

  @Test("each marker of unfinished work is found, in comments too")
  func markers() {
    for marker in MarkerRule.markers + [MarkerRule.wordInAnyCase, "Place" + "holder"] {
      let found = MarkerRule.violations(path: "a", text: "let a = 1\n// \(marker): later")
      #expect(found.map(\.line) == [2])
    }
    #expect(MarkerRule.violations(path: "a", text: "HA" + "CKATHON xx" + "x to" + "do") == [])
  }

  // MARK: Secrets

  @Test("a variable that holds a secret is found, one that names a file is not")
  func secretVariables() {
    func found(_ text: String) -> [Int] {
      SecretVariableRule.violations(path: "a", text: text).map(\.line)
    }
    let own = "HEARTH_" + "PASSPHRASE"
    #expect(found("let a = 1\nlet b = environment[\"\(own)\"]") == [2])
    #expect(found("\(own)=words hearth list") == [1])
    #expect(found("getenv(\"RELAY_" + "TOKEN\")") == [1])
    #expect(found("\(own)_FILE HEARTH_HOME HEARTH_KEYS environment[\"HOME\"]") == [])
  }

  // MARK: Sizes

  @Test("a file may have the limit of lines and not one more")
  func fileLength() {
    let limit = SizeRule.maximumLinesPerFile
    let longest = source(String(repeating: "a\n", count: limit))
    #expect(SizeRule.fileViolations(in: longest) == [])
    #expect(SizeRule.fileViolations(in: source(longest.text + "a")).count == 1)
  }

  @Test("a line may have the limit of columns and not one more")
  func lineLength() {
    let limit = SizeRule.maximumColumns
    #expect(SizeRule.lineViolations(in: source(String(repeating: "é", count: limit))) == [])
    let tooLong = source("a\n" + String(repeating: "é", count: limit + 1))
    #expect(SizeRule.lineViolations(in: tooLong).map(\.line) == [2])
  }

  @Test("a long line is allowed for a literal in a golden file, nowhere else")
  func goldenLines() {
    let vector = "  key: \"\(String(repeating: "ab", count: 60))\","
    let golden = "Tests/ATests/Golden/V.swift"
    #expect(SizeRule.lineViolations(in: source(vector, path: golden)) == [])
    #expect(SizeRule.lineViolations(in: source(vector)).count == 1)
    let code = "if \(String(repeating: "a", count: 110)) { f() }"
    #expect(SizeRule.lineViolations(in: source(code, path: golden)).count == 1)
  }

  @Test("a function may have the limit of lines and not one more")
  func functionLength() {
    func body(_ lines: Int) -> SourceText {
      source("struct A {\n  func f(a: () -> Int = { 1 }) {\n\(filler(lines - 2))  }\n}\n")
    }
    let limit = SizeRule.maximumLinesPerFunction
    #expect(SizeRule.functionViolations(in: body(limit)) == [])
    #expect(SizeRule.functionViolations(in: body(limit + 1)).map(\.line) == [2])
  }

  @Test("initialisers and subscripts count, calls and requirements do not")
  func functionKinds() {
    let kinds = ["init?() {\n", "deinit {\n", "subscript(a: Int) -> Int {\n", "init<T>(a: T) {\n"]
    for kind in kinds {
      let file = source(kind + filler(100) + "}")
      #expect(SizeRule.functionViolations(in: file).count == 1)
    }
    let requirement = "protocol A {\n  func f() throws -> Int\n  init()\n  var a: Int { get }\n}\n"
    let call = "let a = A.init(b: 1)\nlet c = {\n\(filler(100))}\n"
    #expect(SizeRule.functions(in: source(requirement + call)) == [])
  }

  private func filler(_ lines: Int) -> String { String(repeating: "    a()\n", count: lines) }

  // MARK: Documents

  @Test("a relative link must lead somewhere; other links and code are left alone")
  func links() {
    let markdown = """
      [good](../a.md#part) [web](https://example.org) [here](#x) `[code](b.md)`
      [bad](b.md "title") ![image](c.png)
      ```
      [fenced](d.md)
      ```
      [out](../../../e.md)
      [named]: f.md
      """
    let found = DocumentRule.linkViolations(path: "docs/x/y.md", markdown: markdown) {
      $0 == "docs/a.md"
    }
    #expect(found.map(\.line) == [2, 2, 6, 7])
  }

  @Test("a README of the limit is too long")
  func readme() {
    let lines = DocumentRule.readmeLineLimit
    func check(_ count: Int) -> [Violation] {
      DocumentRule.readmeViolations(path: "a", markdown: String(repeating: "a\n", count: count))
    }
    #expect(check(lines - 1) == [])
    #expect(check(lines).count == 1)
  }

  @Test("a decision needs its name, its title and its headings in order")
  func decisions() {
    let good = "# 0001 Use it\n\n## Status\n\n## Context\n\n## Decision\n\n## Consequences\n"
    func check(_ name: String, _ text: String) -> Int {
      DocumentRule.decisionViolations(path: "docs/decisions/\(name)", markdown: text).count
    }
    #expect(check("0001-use-it.md", good) == 0)
    #expect(check("0002-use-it.md", good) == 1)
    #expect(check("0001-Use it.md", good) == 1)
    #expect(check("0001-use-it.md", good.replacing("## Context\n", with: "")) == 1)
    #expect(check("1-use-it.md", "text") == 3)
    let twice = DocumentRule.decisionNumberViolations(paths: ["d/0001-a.md", "d/0001-b.md"])
    #expect(twice.map(\.path) == ["d/0001-b.md"])
  }

  // MARK: Structure

  private func outline(_ path: String, _ text: String) -> StructureRule.Outline {
    StructureRule.Outline(source(text, path: "Sources/Toy/\(path)"))
  }

  @Test("folders and files that need each other are found, also by way of a third")
  func circles() {
    let bottom = outline("Low/A.swift", "struct A {}\n")
    let middle = outline("Middle/B.swift", "package final class B {\n  let a: A\n}\n")
    let top = outline("Top/C.swift", "enum C {\n  case b(B)\n}\n")
    #expect(StructureRule.circleViolations(in: [bottom, middle, top]).isEmpty)
    let back = outline("Low/D.swift", "extension A {\n  func d(_ c: C) {}\n}\n")
    let found = StructureRule.circleViolations(in: [bottom, middle, top, back])
    #expect(found.count == 1 && found.first?.message.contains("Low, Middle, Top") == true)
    let first = outline("Low/E.swift", "struct E {\n  let f: F\n}\n")
    let second = outline("Low/F.swift", "struct F {}\nextension E {\n  func g() {}\n}\n")
    let files = StructureRule.circleViolations(in: [first, second])
    #expect(files.count == 1 && files.first?.message.contains("Low/E.swift, Low/F.swift") == true)
    let comment = outline("Low/D.swift", "// Used by C.\nlet words = \"C\"\n")
    #expect(StructureRule.circleViolations(in: [bottom, middle, top, comment]).isEmpty)
  }

  @Test("functions of a type count over all its extensions, initializers too")
  func largeTypes() {
    func file(_ path: String, _ opening: String, _ functions: Int) -> StructureRule.Outline {
      let lines = (0..<functions).map { $0 == 0 ? "  init() {}" : "  func f\($0)() {}" }
      return outline(path, ([opening + " {"] + lines + ["}", ""]).joined(separator: "\n"))
    }
    let half = file("A.swift", "struct A: Sendable", 20)
    #expect(StructureRule.sizeViolations(in: [half, file("B.swift", "extension A", 19)]).isEmpty)
    let found = StructureRule.sizeViolations(in: [half, file("B.swift", "extension A", 20)])
    #expect(found.map(\.path) == ["Sources/Toy/A.swift"])
    // What another module defines is not this package's to split.
    #expect(StructureRule.sizeViolations(in: [file("B.swift", "extension String", 50)]).isEmpty)
  }

  @Test("a type that another module extends is found, nested or not")
  func foreignTypes() {
    func file(_ module: String, _ text: String) -> StructureRule.Outline {
      StructureRule.Outline(source(text, path: "Sources/\(module)/A.swift"))
    }
    let home = file("Low", "struct A {}\n\nextension A {}\n")
    let other = file("High", "struct B {}\n\nextension String {}\n")
    #expect(StructureRule.foreignViolations(in: [home, other]).isEmpty)
    for opening in ["extension A {}", "extension A.Part: Sendable {}"] {
      let found = StructureRule.foreignViolations(in: [home, file("High", opening + "\n")])
      #expect(found.map(\.path) == ["Sources/High/A.swift"], "\(opening)")
    }
  }

  // MARK: Tracked files

  @Test("build products and lock files are found wherever they are")
  func trackedFiles() {
    let tracked = [
      "Package.swift", "Package.resolved", "Benchmarks/Package.resolved", ".build/a",
      "b/.build-x/c",
      "Sources/Build/a.swift", ".swiftpm/a",
    ]
    #expect(TrackedFileRule.violations(tracked: tracked).count == 5)
  }
}
