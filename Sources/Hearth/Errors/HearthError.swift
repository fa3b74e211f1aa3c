import HearthCrypto

/// A failure of a node, in a form that programs compare and people read.
public struct HearthError: Error, Sendable {
  /// The kind of failure; programs decide on this alone.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The stable word for the kind.
    public let rawValue: String

    /// Makes a code from its stable word.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The folder contains no node.
    public static let noNode = Code(rawValue: "noNode")
    /// The folder contains a node already.
    public static let exists = Code(rawValue: "exists")
    /// Another process uses the node.
    public static let locked = Code(rawValue: "locked")
    /// The passphrase is wrong, or one is needed.
    public static let passphrase = Code(rawValue: "passphrase")
    /// The person or device may not do this.
    public static let notAllowed = Code(rawValue: "notAllowed")
    /// The requested object does not exist.
    public static let notFound = Code(rawValue: "notFound")
    /// The input is invalid.
    public static let invalid = Code(rawValue: "invalid")
    /// External data does not verify; nothing of this node is damaged.
    public static let untrusted = Code(rawValue: "untrusted")
    /// A transport could not be reached.
    public static let offline = Code(rawValue: "offline")
    /// The node's data is damaged.
    public static let corrupt = Code(rawValue: "corrupt")
    /// A disk or file failed.
    public static let io = Code(rawValue: "io")
    /// The disk is full; nothing was changed.
    public static let full = Code(rawValue: "full")
    /// A value, transaction or query is beyond a limit.
    public static let tooLarge = Code(rawValue: "tooLarge")
    /// A declaration of the application contradicts itself, or what the node already holds.
    public static let schema = Code(rawValue: "schema")
    /// The node, zone or invitation belongs to another application.
    public static let otherApplication = Code(rawValue: "otherApplication")
    /// A record's stored content does not fit the program's type.
    public static let unreadable = Code(rawValue: "unreadable")
    /// A newer version of Hearth wrote the data: update this program.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// An earlier version of Hearth wrote the data, in formats that this version cannot read.
    public static let earlierFormat = Code(rawValue: "earlierFormat")
    /// The invitation has expired.
    public static let expired = Code(rawValue: "expired")
    /// The invitation was closed or has no uses left.
    public static let used = Code(rawValue: "used")
    /// The node was closed.
    public static let closed = Code(rawValue: "closed")
    /// The calling task was cancelled; nothing was changed.
    public static let cancelled = Code(rawValue: "cancelled")
  }

  /// The kind of failure.
  public let code: Code
  /// The error, its place and the remedy, in words.
  public let message: String
  /// The underlying error, if any.
  public let cause: (any Error)?

  /// Makes an error.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}

extension HearthError: Equatable {
  /// Equality by code.
  public static func == (left: HearthError, right: HearthError) -> Bool {
    left.code == right.code
  }
}

extension HearthError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

/// Returns an error's text for people, without the code word in front of it.
package func words(of error: any Error) -> String {
  (error as? CryptoError)?.message ?? "\(error)"
}
