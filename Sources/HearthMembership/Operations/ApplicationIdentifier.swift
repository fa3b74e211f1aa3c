import HearthCRDT

/// The identifier of an application, such as `org.example.shopping`.
///
/// A group belongs to the application that its founding names, for ever: the founding's hash is the
/// group's id.
package struct ApplicationIdentifier: Equatable, Sendable {
  /// At least two labels with dots between them, of lower-case letters, digits and inner hyphens.
  package let name: String

  /// The most bytes of an identifier.
  package static let maximumBytes = 128
  /// The most bytes between two dots.
  package static let maximumLabelBytes = 63

  /// The household program's, which its groups, invitations and databases leave out.
  ///
  /// No domain ends in `.hearth`, so nobody else's reversed domain is this one.
  package static let household = ApplicationIdentifier(checked: "hearth.household")

  /// Makes an identifier; nil if the text is none.
  package init?(_ name: String) {
    let labels = name.utf8.split(separator: 0x2e, omittingEmptySubsequences: false)
    guard name.utf8.count <= ApplicationIdentifier.maximumBytes, labels.count > 1,
      labels.allSatisfy(ApplicationIdentifier.isLabel)
    else { return nil }
    self.init(checked: name)
  }

  private init(checked name: String) {
    self.name = name
  }

  private static func isLabel(_ bytes: Substring.UTF8View) -> Bool {
    func isPlain(_ byte: UInt8) -> Bool {
      (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte)
    }
    guard let first = bytes.first, let last = bytes.last, isPlain(first), isPlain(last) else {
      return false
    }
    return bytes.count <= maximumLabelBytes && bytes.allSatisfy { isPlain($0) || $0 == 0x2d }
  }
}

extension ApplicationIdentifier: ControlCodable {
  /// The last field of what names an application: the household's is no bytes at all.
  package static let codec = ControlCodec<ApplicationIdentifier> { application, writer in
    if application != .household { writer.text(application.name) }
  } read: { reader throws(CodecError) in
    guard reader.remaining > 0 else { return .household }
    let start = reader.offset
    let name = try reader.text("application", atMost: maximumBytes)
    guard let application = ApplicationIdentifier(name), application != .household else {
      throw CodecError(.notCanonical, "application", offset: start)
    }
    return application
  }
}
