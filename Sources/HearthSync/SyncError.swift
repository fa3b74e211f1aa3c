/// A refusal of the engine, as a code for programs and a message for people.
package struct SyncError: Error, Sendable {
  /// The kind of refusal; programs decide by this alone.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// No zone, group or invitation of that name is known on this node.
    package static let notFound = Code(rawValue: "notFound")
    /// A value, record or transaction is beyond a limit.
    package static let tooLarge = Code(rawValue: "tooLarge")
    /// An operation does not fit its type or transaction.
    package static let invalidOperation = Code(rawValue: "invalidOperation")
    /// Bytes are not what they claim to be.
    package static let malformed = Code(rawValue: "malformed")
    /// A signature, hash or key does not fit.
    package static let notAuthentic = Code(rawValue: "notAuthentic")
    /// The log does not prove that an answer's signer admitted this device.
    package static let unproven = Code(rawValue: "unproven")
    /// The group belongs to another application.
    package static let otherApplication = Code(rawValue: "otherApplication")
    /// The person or device may not do this.
    package static let notAllowed = Code(rawValue: "notAllowed")
    /// The invitation has expired.
    package static let expired = Code(rawValue: "expired")
    /// The invitation was closed or has no uses left.
    package static let used = Code(rawValue: "used")
    /// The item exists already.
    package static let exists = Code(rawValue: "exists")
    /// A zone's base snapshot contradicts what an author wrote.
    package static let snapshotContradicted = Code(rawValue: "snapshotContradicted")
    /// A public catalogue's version is older than one that was seen.
    package static let catalogueOlder = Code(rawValue: "catalogueOlder")
    /// Two versions of a public catalogue have the same number.
    package static let catalogueForked = Code(rawValue: "catalogueForked")
    /// The records do not match a public catalogue's signed version.
    package static let catalogueIncomplete = Code(rawValue: "catalogueIncomplete")
    /// The store contains contradictory data.
    package static let corrupt = Code(rawValue: "corrupt")
  }

  /// The kind of refusal.
  package let code: Code
  /// What happened, where, and what to do.
  package let message: String
  /// The underlying error, if any.
  package let cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}

extension SyncError: Equatable {
  package static func == (left: SyncError, right: SyncError) -> Bool {
    left.code == right.code
  }
}

extension SyncError: CustomStringConvertible {
  package var description: String { message }
}
