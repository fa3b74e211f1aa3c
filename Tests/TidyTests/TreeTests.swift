import Foundation
import Testing

/// The rules applied to the files of this package.
@Suite("The tree keeps its rules")
struct TreeTests {
  private func expectNone(_ violations: [Violation]) {
    for violation in violations { Issue.record("\(violation)") }
  }

  private func scripts() -> [String] {
    PackageTree.files(below: "Scripts") + ["Makefile", ".ci/run", "Package.swift"]
  }

  @Test("the package root is the one of this package")
  func root() throws {
    let manifest = try PackageTree.text(of: "Package.swift")
    #expect(manifest.contains("name: \"hearth\""))
    let found = try PackageTree.swiftFiles().map(\.path)
    #expect(found.contains("Tests/TidyTests/TreeTests.swift"))
  }

  @Test("every import is in the table of modules")
  func imports() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      at: PackageTree.root.appending(path: "Sources"), includingPropertiesForKeys: [])
    let names = folders.map(\.lastPathComponent).filter { !$0.hasPrefix(".") }.sorted()
    expectNone(ImportRule.violations(inModuleFolders: names))
    let simulations = Set(
      PackageTree.files(below: "Simulations").compactMap(ImportRule.simulationModule))
    let files = try PackageTree.swiftFiles(below: ["Sources", "Simulations"])
    expectNone(
      files.flatMap { ImportRule.violations(in: $0, simulationModules: simulations) })
  }

  @Test("calls to the clock, chance, output, traps, crypto and SQL stay in their homes")
  func bannedCalls() throws {
    expectNone(try PackageTree.swiftFiles().flatMap(BannedCallRule.violations(in:)))
  }

  @Test("no file is marked as unfinished")
  func markers() throws {
    let extensions = [".swift", ".c", ".h", ".modulemap", ".sh", ".py"]
    let sources = PackageTree.sourceFolders.flatMap { PackageTree.files(below: $0) }
      .filter { path in extensions.contains { path.hasSuffix($0) } }
    for path in sources + scripts() {
      expectNone(MarkerRule.violations(path: path, text: try PackageTree.text(of: path)))
    }
  }

  @Test("no variable of the environment holds a secret")
  func secretVariables() throws {
    let sources = PackageTree.files(below: "Sources").filter { $0.hasSuffix(".swift") }
    for path in sources + scripts() {
      expectNone(SecretVariableRule.violations(path: path, text: try PackageTree.text(of: path)))
    }
  }

  @Test("files, lines and functions stay short")
  func sizes() throws {
    let manifest = SourceText(
      path: "Package.swift", text: try PackageTree.text(of: "Package.swift"))
    expectNone(try (PackageTree.swiftFiles() + [manifest]).flatMap(SizeRule.violations(in:)))
  }

  @Test("folders and files need each other one way only, and no type grows or spreads without end")
  func structure() throws {
    let outlines = try PackageTree.swiftFiles(below: ["Sources"]).map(StructureRule.Outline.init)
    expectNone(StructureRule.circleViolations(in: outlines))
    expectNone(StructureRule.sizeViolations(in: outlines))
    expectNone(StructureRule.foreignViolations(in: outlines))
  }

  @Test("every relative link of a document leads somewhere")
  func links() throws {
    for path in PackageTree.files() where path.hasSuffix(".md") {
      expectNone(
        DocumentRule.linkViolations(path: path, markdown: try PackageTree.text(of: path)) {
          FileManager.default.fileExists(atPath: PackageTree.root.appending(path: $0).path)
        })
    }
  }

  @Test("the README stays readable in one sitting")
  func readme() throws {
    expectNone(
      DocumentRule.readmeViolations(
        path: "README.md", markdown: try PackageTree.text(of: "README.md")))
  }

  @Test("every decision has a number, a title and the four headings")
  func decisions() throws {
    let paths = PackageTree.files(below: "docs/decisions")
    #expect(!paths.isEmpty)
    for path in paths {
      expectNone(
        DocumentRule.decisionViolations(path: path, markdown: try PackageTree.text(of: path)))
    }
    expectNone(DocumentRule.decisionNumberViolations(paths: paths))
  }

  @Test("no build product and no lock file is checked in")
  func trackedFiles() throws {
    guard let tracked = try PackageTree.trackedFiles() else {
      print("tidy: not a git checkout, so there are no tracked files to look at")
      return
    }
    #expect(tracked.contains("Package.swift"))
    expectNone(TrackedFileRule.violations(tracked: tracked))
  }
}
