import HearthCrypto

/// Why a node could not do something, in a form that programs compare and people read.
public struct HearthError: Error, Sendable {
  /// The kind of failure; programs decide on this alone.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The stable word for the kind.
    public let rawValue: String

    /// Takes the word as it is.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no node in the folder.
    public static let noNode = Code(rawValue: "noNode")
    /// There is one already.
    public static let exists = Code(rawValue: "exists")
    /// Another process works on the node.
    public static let locked = Code(rawValue: "locked")
    /// The passphrase is wrong, or one is needed.
    public static let passphrase = Code(rawValue: "passphrase")
    /// The person or device may not do this.
    public static let notAllowed = Code(rawValue: "notAllowed")
    /// Something was asked for that is not there.
    public static let notFound = Code(rawValue: "notFound")
    /// Input that makes no sense.
    public static let invalid = Code(rawValue: "invalid")
    /// What came from outside does not hold; nothing of this node is damaged.
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
  /// What happened, where, and what to do.
  public let message: String
  /// The error underneath, if any.
  public let cause: (any Error)?

  /// Makes an error.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}

extension HearthError: Equatable {
  /// Whether two errors are of one kind.
  public static func == (left: HearthError, right: HearthError) -> Bool {
    left.code == right.code
  }
}

extension HearthError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

/// What an error of any layer says to a person, without the word for programs before it.
package func words(of error: any Error) -> String {
  (error as? CryptoError)?.message ?? "\(error)"
}
