import Foundation

/// A call that may stand only in its home, with the reason and what to write instead.
struct BannedCall: Sendable {
  var name: String
  var pattern: String
  var reason: String
  var instead: String
  /// Path prefixes where the call belongs.
  var homes: [String] = []
  /// Whether tests must do without it too; otherwise only `Sources` and `Simulations` must.
  var bansInTests = false
}

/// The table of banned calls (after TigerBeetle's tidy test) and the check of one file.
enum BannedCallRule {
  // The shells around the pure engine: the only places with a clock and a thread.
  private static let shells = [
    "Sources/Hearth/", "Sources/HearthTransport/", "Sources/HearthSockets/",
    "Sources/HearthRelay/", "Sources/HearthRelayPostgres/", "Sources/HearthCLI/",
  ]

  static let table: [BannedCall] = [
    BannedCall(
      name: "Date()", pattern: #"\bDate\s*\(\s*\)|\bDate\.now\b"#,
      reason: "a clock inside makes a run unrepeatable",
      instead: "take `now` as a parameter",
      homes: shells + ["Simulations/Sources/hearth-sim/", "Simulations/Sources/hearth-hostile/"]),
    BannedCall(
      name: "Clock.now", pattern: #"\b(Continuous|Suspending)Clock(\s*\(\s*\))?\.now\b"#,
      reason: "a clock inside makes a run unrepeatable",
      instead: "take `now` as a parameter", homes: shells),
    BannedCall(
      name: "Task.sleep", pattern: #"\bTask(\s*<[^>]*>)?\.sleep\b"#,
      reason: "waiting hides a missing event, and slows and flakes tests",
      instead: "return a timer effect, or wait for the event itself",
      homes: shells, bansInTests: true),
    BannedCall(
      name: "SystemRandomNumberGenerator", pattern: #"\bSystemRandomNumberGenerator\b"#,
      reason: "a run must be repeatable from its seed",
      instead: "take a generator as a parameter; secrets come from HearthCrypto",
      bansInTests: true),
    BannedCall(
      name: "UUID()", pattern: #"\bUUID\s*\(\s*\)"#,
      reason: "ids must be repeatable in simulation",
      instead: "take an id source as a parameter"),
    BannedCall(
      name: ".random(in:", pattern: #"\.random\s*\(\s*in\b"#,
      reason: "draws from the system, or by a method that may change between Swift versions",
      instead: "draw from the injected generator by our own bounded method"),
    BannedCall(
      name: "print(", pattern: #"(?<![.\w])(debugPrint|print)\s*\("#,
      reason: "output belongs to the person at the command line",
      instead: "return the text, or log it",
      homes: ["Sources/HearthCLI/", "Sources/hearth-relay/", "Simulations/"]),
    BannedCall(
      name: "fatalError(", pattern: #"\bfatalError\s*\("#,
      reason: "a trap without the state says nothing",
      instead: "throw a typed error, or use a precondition that prints the state"),
    BannedCall(
      name: "try!", pattern: #"\btry!"#, reason: "outside input must never trap",
      instead: "throw or handle the error"),
    BannedCall(
      name: "as!", pattern: #"\bas!"#, reason: "outside input must never trap",
      instead: "use as? and throw a typed error"),
    BannedCall(
      name: "NSLog", pattern: #"\bNSLog\b"#, reason: "goes past the logger and its level",
      instead: "use the Logger passed in"),
    BannedCall(
      name: "libsodium", pattern: #"\b(sodium|crypto|randombytes)_[a-z0-9]\w*"#,
      reason: "one module alone handles secrets", instead: "call HearthCrypto",
      homes: ["Sources/HearthCrypto/"]),
    BannedCall(
      name: "SQLite", pattern: #"\bsqlite3_[a-z0-9]\w*"#,
      reason: "one place a database speaks SQL", instead: "go through the ports Store and RelayLog",
      homes: ["Sources/HearthStore/", "Sources/HearthRelayCore/SQLite/", "Simulations/"]),
    BannedCall(
      name: "libpq", pattern: #"\bPQ[a-z]\w*\s*\("#,
      reason: "one place a database speaks SQL", instead: "go through the port RelayLog",
      homes: ["Sources/HearthRelayPostgres/"]),
  ]

  /// Single files that break a rule for a good reason: rule name, path, why.
  static let exceptions: [(call: String, path: String, why: String)] = []

  static func violations(in file: SourceText) -> [Violation] {
    let isTest = file.path.hasPrefix("Tests/")
    guard isTest || file.path.hasPrefix("Sources/") || file.path.hasPrefix("Simulations/") else {
      return []
    }
    return table.flatMap { call -> [Violation] in
      let isAtHome = call.homes.contains { file.path.hasPrefix($0) }
      let isExcepted = exceptions.contains { $0.call == call.name && $0.path == file.path }
      if isAtHome || isExcepted || (isTest && !call.bansInTests) { return [] }
      return matches(of: call, in: file)
    }
  }

  private static func matches(of call: BannedCall, in file: SourceText) -> [Violation] {
    guard let expression = try? NSRegularExpression(pattern: call.pattern) else {
      return [Violation(path: file.path, line: 1, message: "bad pattern for \(call.name)")]
    }
    let code = file.code
    let whole = NSRange(code.startIndex..., in: code)
    return expression.matches(in: code, range: whole).map { match in
      let start = Range(match.range, in: code)?.lowerBound ?? code.startIndex
      return Violation(
        path: file.path,
        line: file.line(atByte: code.utf8.distance(from: code.startIndex, to: start)),
        message: "\(call.name): \(call.reason); \(call.instead)")
    }
  }
}
