/// A mistake in the use of a family, or something that a family did not reach.
public struct FamilyError: Error, Sendable, CustomStringConvertible {
  /// What is wrong, in words.
  public let message: String

  /// Makes an error.
  public init(_ message: String) {
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
