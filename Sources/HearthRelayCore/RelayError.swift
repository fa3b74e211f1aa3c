/// An error of the relay's program, in words for its operator.
///
/// Two errors are equal if their codes are. Clients receive a `RelayFault` instead.
package struct RelayError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, stable across versions.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code in log messages.
    package let rawValue: String
    package var description: String { rawValue }

    /// The log cannot be opened, read or written.
    package static let inputOutput = Code(rawValue: "relay.input-output")
    /// The disk is full; nothing of the batch was stored.
    package static let diskFull = Code(rawValue: "relay.disk-full")
    /// The log or a file beside it has invalid content.
    package static let corrupt = Code(rawValue: "relay.corrupt")
    /// A newer program wrote the log.
    package static let newer = Code(rawValue: "relay.newer")
    /// Another process serves or administers the same folder.
    package static let locked = Code(rawValue: "relay.locked")
    /// The database cannot be reached now; nothing was stored.
    package static let unavailable = Code(rawValue: "relay.unavailable")
    /// It is unknown whether a commit took place.
    ///
    /// Repeating the operation is safe and shows the outcome.
    package static let unknownOutcome = Code(rawValue: "relay.unknown-outcome")
    /// The database does not guarantee the durability that the relay needs.
    package static let notDurable = Code(rawValue: "relay.not-durable")
    /// An invalid option or address.
    package static let invalidOption = Code(rawValue: "relay.invalid-option")
    /// The relay cannot listen on the address.
    package static let cannotListen = Code(rawValue: "relay.cannot-listen")
    /// No mailbox or token has that name.
    package static let notFound = Code(rawValue: "relay.not-found")
    /// An unusable certificate or key.
    package static let badCertificate = Code(rawValue: "relay.bad-certificate")
  }

  /// The kind of error.
  package let code: Code
  /// The fault, its place and its remedy.
  package let message: String
  /// The underlying error, if there was one.
  package let cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package static func == (left: RelayError, right: RelayError) -> Bool {
    left.code == right.code
  }

  package var description: String {
    cause.map { "\(message) (\($0))" } ?? message
  }
}
