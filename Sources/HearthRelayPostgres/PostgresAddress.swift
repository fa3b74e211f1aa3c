import CPostgres
import Foundation
import HearthRelayCore

/// The address of a PostgreSQL database and its credentials, from a `postgres://` URL.
///
/// The URL may omit everything that libpq finds elsewhere: a service file
/// (`postgres:///?service=NAME`), a password file, `PGPASSWORD` and the related variables. The
/// description of this value never contains a password.
package struct PostgresAddress: Sendable, CustomStringConvertible {
  /// The parameters for libpq, in order; later ones win.
  let parameters: [(keyword: String, value: String)]
  /// The texts that must not be shown.
  private let secrets: [String]
  package let description: String

  /// Keywords of libpq whose values are never shown.
  private static let secretKeywords: Set<String> = ["password", "sslpassword", "passfile"]
  private static let shownKeywords = ["user", "host", "hostaddr", "port", "dbname", "service"]

  /// Whether a text looks like such a URL.
  package static func isAddress(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Reads a URL as libpq does.
  ///
  /// - Throws: `invalidOption`, in words without any part of the URL.
  package init(_ text: String) throws(RelayError) {
    let fault = RelayError(
      .invalidOption,
      "the database is a URL such as postgres://USER@HOST:5432/NAME or postgres:///?service=NAME")
    guard PostgresAddress.isAddress(text), text.utf8.count <= 4_096 else { throw fault }
    var words: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(text, &words)
    // libpq's message repeats the URL with its password, so it is not passed on.
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

  /// The parameters that the URL may override.
  private static let defaults: [(keyword: String, value: String)] = [
    // A host that does not answer must not delay the next one of a list.
    ("connect_timeout", "3"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
    ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
    ("fallback_application_name", "hearth-relay"),
  ]

  /// The parameters that the URL may not override.
  private static let rules: [(keyword: String, value: String)] = [
    ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"),
  ]

  /// Removes secrets from a text of any origin, and limits its length.
  func redacted(_ text: String) -> String {
    var text = text
    for secret in secrets { text = text.replacingOccurrences(of: secret, with: "***") }
    let line = text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    return String(line.prefix(400))
  }
}
