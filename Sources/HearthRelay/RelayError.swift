/// Why the relay's program could not do what was asked, in words for its operator.
///
/// Two errors are equal when their codes are. What goes to clients is a `RelayFault`.
package struct RelayError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, stable across versions.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code as it is logged.
    package let rawValue: String
    package var description: String { rawValue }

    /// The log cannot be opened, read or written.
    package static let inputOutput = Code(rawValue: "relay.input-output")
    /// The disk is full; nothing of the batch was stored.
    package static let diskFull = Code(rawValue: "relay.disk-full")
    /// The log or a file beside it is not what it must be.
    package static let corrupt = Code(rawValue: "relay.corrupt")
    /// The log was written by a newer program.
    package static let newer = Code(rawValue: "relay.newer")
    /// Another process serves or administers the same folder.
    package static let locked = Code(rawValue: "relay.locked")
    /// The database cannot be reached now; nothing was stored.
    package static let unavailable = Code(rawValue: "relay.unavailable")
    /// Whether a commit took place is not known; doing the same again is safe and tells.
    package static let unknownOutcome = Code(rawValue: "relay.unknown-outcome")
    /// The database does not keep the promise of durability that the relay needs.
    package static let notDurable = Code(rawValue: "relay.not-durable")
    /// An option or address that cannot be.
    package static let invalidOption = Code(rawValue: "relay.invalid-option")
    /// The listening address cannot be had.
    package static let cannotListen = Code(rawValue: "relay.cannot-listen")
    /// No mailbox or token of that name.
    package static let notFound = Code(rawValue: "relay.not-found")
    /// A certificate or key that cannot be used.
    package static let badCertificate = Code(rawValue: "relay.bad-certificate")
  }

  /// The kind of error.
  package let code: Code
  /// What is wrong, where, and what to do.
  package let message: String
  /// The error beneath, if there was one.
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
