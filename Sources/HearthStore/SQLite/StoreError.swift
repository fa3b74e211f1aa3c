import HearthSync

/// Why the store could not do something, in a form that programs compare and people read.
package struct StoreError: Error, Sendable {
  /// The kind of failure; programs decide on this alone.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no node in the folder.
    package static let notFound = Code(rawValue: "notFound")
    /// Another process works on the node.
    package static let locked = Code(rawValue: "locked")
    /// The disk is full.
    package static let full = Code(rawValue: "full")
    /// The folder or file may not be written.
    package static let readOnly = Code(rawValue: "readOnly")
    /// The disk failed.
    package static let io = Code(rawValue: "io")
    /// The file is damaged or no database.
    package static let corrupt = Code(rawValue: "corrupt")
    /// The file was written by a newer version.
    package static let newerFormat = Code(rawValue: "newerFormat")
    /// A declaration that contradicts an earlier one.
    package static let schema = Code(rawValue: "schema")
    /// A statement that should have worked did not.
    package static let failed = Code(rawValue: "failed")
  }

  /// The kind of failure.
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

extension StoreError: Equatable {
  package static func == (left: StoreError, right: StoreError) -> Bool {
    left.code == right.code
  }
}

extension StoreError: StoredDamage {
  package var isDamage: Bool { code == .corrupt }
}

extension StoreError: CustomStringConvertible {
  package var description: String { message }
}
