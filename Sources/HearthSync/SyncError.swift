/// Why the engine refused something, in a form that programs compare and people read.
package struct SyncError: Error, Sendable {
  /// The kind of refusal; programs decide on this alone.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// No zone, group or invitation of that name is known here.
    package static let notFound = Code(rawValue: "notFound")
    /// A value, record or transaction beyond a limit.
    package static let tooLarge = Code(rawValue: "tooLarge")
    /// An operation that does not fit its type or transaction.
    package static let invalidOperation = Code(rawValue: "invalidOperation")
    /// Bytes that are not what they claim to be.
    package static let malformed = Code(rawValue: "malformed")
    /// A signature, hash or key that does not fit.
    package static let notAuthentic = Code(rawValue: "notAuthentic")
    /// An answer whose signer is not shown to have let this device in.
    package static let unproven = Code(rawValue: "unproven")
    /// The person or device may not do this.
    package static let notAllowed = Code(rawValue: "notAllowed")
    /// An invitation whose time is over.
    package static let expired = Code(rawValue: "expired")
    /// An invitation that was used as often as it allows, or closed.
    package static let used = Code(rawValue: "used")
    /// Already there.
    package static let exists = Code(rawValue: "exists")
    /// The snapshot that a zone began from is not what an author wrote.
    package static let snapshotContradicted = Code(rawValue: "snapshotContradicted")
    /// An older version of a public catalogue than one that was seen.
    package static let catalogueOlder = Code(rawValue: "catalogueOlder")
    /// Two versions of a public catalogue with one number.
    package static let catalogueForked = Code(rawValue: "catalogueForked")
    /// Records that are not what a public catalogue's signed version is made of.
    package static let catalogueIncomplete = Code(rawValue: "catalogueIncomplete")
    /// The store holds something that contradicts itself.
    package static let corrupt = Code(rawValue: "corrupt")
  }

  /// The kind of refusal.
  package let code: Code
  /// What happened, where, and what to do.
  package let message: String
  /// The error underneath, if any.
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
