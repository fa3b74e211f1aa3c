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
