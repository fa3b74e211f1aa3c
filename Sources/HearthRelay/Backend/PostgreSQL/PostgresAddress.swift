import CPostgres
import Foundation

/// Where a PostgreSQL database is and how to get in, from a `postgres://` URL.
///
/// The URL may leave everything out that libpq finds elsewhere: a service file
/// (`postgres:///?service=NAME`), a password file, `PGPASSWORD` and its companions. Its description
/// never holds a password.
package struct PostgresAddress: Sendable, CustomStringConvertible {
  /// What goes to libpq, in order; later ones win.
  let parameters: [(keyword: String, value: String)]
  /// What must not be shown.
  private let secrets: [String]
  package let description: String

  /// Keywords of libpq whose values are shown to nobody.
  private static let secretKeywords: Set<String> = ["password", "sslpassword", "passfile"]
  private static let shownKeywords = ["user", "host", "hostaddr", "port", "dbname", "service"]

  /// Whether a text looks like such a URL.
  package static func isAddress(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Reads a URL as libpq does.
  /// - Throws: `invalidOption`, in words without any part of the URL.
  package init(_ text: String) throws(RelayError) {
    let fault = RelayError(
      .invalidOption,
      "the database is a URL such as postgres://USER@HOST:5432/NAME or postgres:///?service=NAME")
    guard PostgresAddress.isAddress(text), text.utf8.count <= 4_096 else { throw fault }
    var words: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(text, &words)
    // The words repeat the URL, password and all, so they are not passed on.
    PQfreemem(words)
    guard let options else { throw fault }
    defer { PQconninfoFree(options) }
    var given: [(keyword: String, value: String)] = []
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val {
        given.append((String(cString: keyword), String(cString: value)))
      }
      option += 1
    }
    secrets = given.filter { PostgresAddress.secretKeywords.contains($0.keyword) }.map(\.value)
      .filter { !$0.isEmpty }
    let shown = given.filter { PostgresAddress.shownKeywords.contains($0.keyword) }
    description =
      "the database ("
      + (shown.isEmpty
        ? "as the environment says"
        : shown.map { "\($0.keyword) \($0.value)" }.joined(separator: ", ")) + ")"
    parameters = PostgresAddress.defaults + given + PostgresAddress.rules
  }

  /// What the URL may override.
  private static let defaults: [(keyword: String, value: String)] = [
    // A host that does not answer must not keep the next one of a list waiting.
    ("connect_timeout", "3"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
    ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
    ("fallback_application_name", "hearth-relay"),
  ]

  /// What it may not.
  private static let rules: [(keyword: String, value: String)] = [
    ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"),
  ]

  /// Takes secrets out of a text, whoever wrote it, and bounds it.
  func redacted(_ text: String) -> String {
    var text = text
    for secret in secrets { text = text.replacingOccurrences(of: secret, with: "***") }
    let line = text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    return String(line.prefix(400))
  }
}

/// Takes the password of a URL out of the list of arguments that other users of the machine see.
package enum ArgumentVeil {
  /// Overwrites, in the memory that the system shows as this process's command line, the part of
  /// every `postgres://` argument that may hold a password.
  ///
  /// Between the start of the process and this call it can be read: password files and service
  /// files have no such moment.
  package static func draw() {
    guard let line = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
      let name = line.lastIndex(of: ")")
    else { return }
    // After the name come the fields from the third on; the 48th and 49th bound the arguments.
    let fields = line[line.index(after: name)...].split(separator: " ")
    guard fields.count > 46, let start = UInt(fields[45]), let end = UInt(fields[46]),
      start > 0, end > start, end - start < 1 << 22,
      let base = UnsafeMutablePointer<UInt8>(bitPattern: start)
    else { return }
    let bytes = UnsafeMutableBufferPointer(start: base, count: Int(end - start))
    for range in hiddenRanges(in: Array(bytes)) {
      for place in range { bytes[place] = UInt8(ascii: "*") }
    }
  }

  /// Which bytes of a command line may belong to a password: between the user's colon and the last
  /// at sign of a URL's authority, and everything after its question mark.
  static func hiddenRanges(in line: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var place = 0
    for argument in line.split(separator: 0, omittingEmptySubsequences: false) {
      defer { place += argument.count + 1 }
      let text = Array(argument)
      guard let scheme = text.firstRange(of: Array("://".utf8)),
        text[..<scheme.lowerBound].reversed().starts(with: "sergtsop".utf8)
          || text[..<scheme.lowerBound].reversed().starts(with: "lqsergtsop".utf8)
      else { continue }
      let rest = scheme.upperBound..<text.count
      let query = text[rest].firstIndex(of: UInt8(ascii: "?"))
      // A password may hold a slash, wrongly: what stands before the last at sign counts.
      let authority = rest.lowerBound..<(query ?? text.count)
      if let at = text[authority].lastIndex(of: UInt8(ascii: "@")),
        let colon = text[authority.lowerBound..<at].firstIndex(of: UInt8(ascii: ":"))
      {
        found.append(place + colon + 1..<place + at)
      }
      if let query { found.append(place + query + 1..<place + text.count) }
    }
    return found
  }
}
