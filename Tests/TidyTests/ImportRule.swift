/// The only imports each module may have; `docs/internals/architecture.md` is the same for people.
enum ImportRule {
  /// Folder below `Sources` → what its files may import beyond `Synchronization`.
  static let table: [String: Set<String>] = [
    "CSodium": [],
    "CZstd": [],
    "CQREncode": [],
    "CPostgres": [],
    "CMalloc": [],
    "CProcess": [],
    "HearthCRDT": [],
    "HearthCrypto": ["CSodium", "CZstd", "CProcess", "Glibc"],
    "HearthMembership": ["HearthCRDT", "HearthCrypto"],
    "HearthSync": ["HearthCRDT", "HearthCrypto", "HearthMembership"],
    "HearthRelayProtocol": ["HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync"],
    "HearthStore": [
      "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
      "GRDB", "GRDBSQLite", "Foundation",
    ],
    "HearthTransport": [
      "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
      "Foundation", "Glibc",
    ],
    "HearthSockets": [
      "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthTransport",
      "Foundation", "NIO*",
    ],
    "HearthRelayCore": [
      "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "GRDBSQLite",
    ],
    "HearthRelay": [
      "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthRelayCore",
      "Foundation", "Glibc", "NIO*", "Logging", "CMalloc", "ArgumentParser",
    ],
    "HearthRelayPostgres": [
      "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthRelayCore",
      "Foundation", "Glibc", "CPostgres", "Logging",
    ],
    "Hearth": [
      "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
      "HearthStore", "HearthTransport", "HearthSockets", "CProcess", "Logging", "Foundation",
      "Glibc",
    ],
    "HearthTesting": [
      "Hearth", "HearthCRDT", "HearthMembership", "HearthSync", "Foundation", "Glibc",
    ],
    "Household": ["HearthCRDT", "HearthMembership", "HearthSync"],
    "HearthCLI": [
      "Hearth", "Household", "HearthCRDT", "HearthMembership", "HearthSync", "HearthRelayProtocol",
      "ArgumentParser", "Logging", "Foundation", "Glibc", "Dispatch", "CQREncode",
    ],
    "hearth-cli": ["HearthCLI", "ArgumentParser"],
    "hearth-relay": ["HearthRelay", "HearthRelayPostgres", "ArgumentParser"],
  ]

  /// Modules without a clock, a thread, a file or an operating system.
  static let pureModules: Set<String> = [
    "HearthCRDT", "HearthMembership", "HearthSync", "HearthRelayProtocol", "Household",
  ]

  /// What simulations may import beside each other: the real engine, store, relay log and domain.
  static let simulations: Set<String> = [
    "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthStore",
    "HearthRelayProtocol", "HearthTransport", "HearthSockets", "HearthRelayCore", "Household",
    "GRDB", "GRDBSQLite",
    "Foundation", "Glibc", "ArgumentParser", "MembershipPromises", "PromiseTranslation",
  ]

  /// Modules of `Simulations` that judge the real code, so they may know none of it.
  static let independentSimulations: Set<String> = ["FamilyModel"]

  /// The module that a file of `Simulations/Sources` or `Simulations/Tests` belongs to.
  static func simulationModule(ofPath path: String) -> String? {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 2, parts[0] == "Simulations" else { return nil }
    let isGrouped = parts.count > 3 && ["Sources", "Tests"].contains(parts[1])
    return isGrouped ? parts[2] : parts[1]
  }

  /// Checks one file.
  ///
  /// - Parameter simulationModules: Modules below `Simulations/Sources`, which may see each other.
  static func violations(
    in file: SourceText, simulationModules: Set<String> = []
  ) -> [Violation] {
    let parts = file.path.split(separator: "/").map(String.init)
    guard parts.count > 2 else {
      return [
        Violation(path: file.path, line: 1, message: "source file outside of a module folder")
      ]
    }
    // Below `Simulations` come `Sources` or `Tests`, then the module.
    guard parts[0] != "Simulations" || parts.count > 3 else {
      return [
        Violation(path: file.path, line: 1, message: "source file outside of a module folder")
      ]
    }
    let module = simulationModule(ofPath: file.path) ?? parts[1]
    var allowed: Set<String>
    if parts[0] == "Simulations", independentSimulations.contains(module) {
      allowed = []
    } else if parts[0] == "Simulations" {
      allowed = simulations.union(simulationModules)
      if parts[1] == "Tests" { allowed.formUnion(["Testing", "TestSupport"]) }
    } else if let row = table[module] {
      allowed = row
    } else {
      return [unknownModule(module, path: file.path)]
    }
    if !pureModules.union(independentSimulations).contains(module) {
      allowed.insert("Synchronization")
    }
    return imports(in: file).compactMap { name, line in
      if isAllowed(name, by: allowed) { return nil }
      return Violation(
        path: file.path, line: line,
        message: "\(module) must not import \(name); it may import "
          + "\(allowed.isEmpty ? "nothing" : allowed.sorted().joined(separator: ", "))")
    }
  }

  /// Checks the folders of `Sources`, also those that hold no Swift.
  static func violations(inModuleFolders folders: [String]) -> [Violation] {
    folders.filter { table[$0] == nil }.map { unknownModule($0, path: "Sources/\($0)") }
  }

  /// The modules that a file imports, with their lines.
  static func imports(in file: SourceText) -> [(module: String, line: Int)] {
    file.codeLines.enumerated().flatMap { index, line in
      // One statement a line is the rule of the formatter; be right without it too.
      line.split(separator: ";").compactMap { statement in
        module(importedBy: statement).map { ($0, index + 1) }
      }
    }
  }

  private static let kinds: Set<Substring> = [
    "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
  ]
  private static let accessLevels: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private",
  ]

  private static func module(importedBy statement: Substring) -> String? {
    var words = statement.split(whereSeparator: \.isWhitespace)[...]
    // Attributes (`@testable`, `@_spi(Name)`) and access levels may come first.
    while let word = words.first, word.hasPrefix("@") || accessLevels.contains(word) {
      words.removeFirst()
    }
    guard words.popFirst() == "import" else { return nil }
    if let kind = words.first, kinds.contains(kind) { words.removeFirst() }
    return words.first.map { String($0.prefix { $0 != "." }) }
  }

  private static func isAllowed(_ name: String, by allowed: Set<String>) -> Bool {
    allowed.contains(name)
      || allowed.contains { $0.hasSuffix("*") && name.hasPrefix($0.dropLast()) }
  }

  private static func unknownModule(_ module: String, path: String) -> Violation {
    Violation(
      path: path, line: 1,
      message: "module \(module) is not in the import table of Tests/TidyTests/ImportRule.swift; "
        + "add a row there and in docs/internals/architecture.md")
  }
}
