/// The reason why bytes could not be read, and the position.
package struct CodecError: Error, Equatable, Sendable {
  /// The kind of fault.
  package enum Code: String, Sendable {
    /// The bytes end inside an item.
    case truncated
    /// Bytes remain after the last item.
    case trailingBytes
    /// A second encoding of a value that has only one.
    case notCanonical
    /// A length, count or number exceeds its limit.
    case beyondLimit
    /// This format does not have the tag, version or combination.
    case unknown
    /// Text is not valid UTF-8.
    case invalidText
  }

  /// The kind of fault.
  package let code: Code
  /// The item that was being read.
  package let item: String
  /// The byte offset at which reading stopped.
  package let offset: Int

  package init(_ code: Code, _ item: String, offset: Int) {
    self.code = code
    self.item = item
    self.offset = offset
  }
}

extension CodecError: CustomStringConvertible {
  package var description: String { "\(code.rawValue) in \(item) at byte \(offset)" }
}
