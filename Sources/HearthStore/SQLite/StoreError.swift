import HearthSync

/// A failure of the store, in a form that programs compare and people read.
package struct StoreError: Error, Sendable {
  /// The kind of failure; programs decide on this alone.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The folder contains no node.
    package static let notFound = Code(rawValue: "notFound")
    /// Another process uses the node.
    package static let locked = Code(rawValue: "locked")
    /// The disk is full.
    package static let full = Code(rawValue: "full")
    /// The folder or file is not writable.
    package static let readOnly = Code(rawValue: "readOnly")
    /// The disk failed.
    package static let io = Code(rawValue: "io")
    /// The file is damaged or not a database.
    package static let corrupt = Code(rawValue: "corrupt")
    /// A newer version wrote the file.
    package static let newerFormat = Code(rawValue: "newerFormat")
    /// An earlier version wrote the file, in formats that this version cannot read.
    package static let earlierFormat = Code(rawValue: "earlierFormat")
    /// A declaration contradicts an earlier one.
    package static let schema = Code(rawValue: "schema")
    /// A query is beyond a limit.
    package static let tooLarge = Code(rawValue: "tooLarge")
    /// Another application's data is in the file.
    package static let otherApplication = Code(rawValue: "otherApplication")
    /// A program's own SQL is wrong, or does what it may not do.
    package static let refused = Code(rawValue: "refused")
    /// A statement that should have worked failed.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// The error, its place and the remedy, in words.
  package let message: String
  /// The underlying error, if any.
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
