import Foundation
import HearthRelayCore
import Logging

/// Writes each log event as one line of JSON to standard error.
///
/// The log contains events of the relay and numbers. It contains no payloads, keys, names of
/// mailboxes or addresses of clients, at any level.
package struct JSONLogHandler: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var logLevel: Logger.Level = .info
  private let label: String

  package init(label: String) { self.label = label }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var fields = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
    fields["time"] = Date().formatted(.iso8601)
    fields["level"] = "\(event.level)"
    fields["message"] = "\(event.message)"
    fields["logger"] = label
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var line = try? encoder.encode(fields) else { return }
    line.append(UInt8(ascii: "\n"))
    FileHandle.standardError.write(line)
  }
}
