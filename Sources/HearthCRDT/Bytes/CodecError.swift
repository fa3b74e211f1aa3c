/// Why bytes could not be read, and where.
package struct CodecError: Error, Equatable, Sendable {
  /// The kind of fault.
  package enum Code: String, Sendable {
    /// The bytes end inside an item.
    case truncated
    /// Bytes remain after the last item.
    case trailingBytes
    /// A second spelling of something that has only one.
    case notCanonical
    /// A length, count or number beyond its limit.
    case beyondLimit
    /// A tag, version or combination that this format does not have.
    case unknown
    /// Text that is not UTF-8.
    case invalidText
  }

  /// The kind of fault.
  package let code: Code
  /// What was being read.
  package let item: String
  /// The byte at which reading stopped.
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
