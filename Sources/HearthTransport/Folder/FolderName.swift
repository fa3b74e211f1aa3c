/// A name as the file system has it: any bytes but `/` and NUL, not always text.
struct FolderName: Hashable, Comparable, Sendable {
  /// The name's bytes.
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  init(_ text: String) { bytes = Array(text.utf8) }

  init(_ name: UnsafeBufferPointer<UInt8>) { bytes = Array(name) }

  static func < (left: FolderName, right: FolderName) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  /// Passes the name to a system call.
  func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    var terminated = bytes.map { CChar(bitPattern: $0) }
    terminated.append(0)
    return terminated.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else {
        preconditionFailure("a terminated name has at least one byte")
      }
      return body(base)
    }
  }

  /// The name for a person: one line, with control characters and invalid text escaped.
  ///
  /// Anybody who can write into the folder chooses names. No name may move a terminal's cursor or
  /// imitate other words of a message.
  var printable: String {
    var text = ""
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var consumed = 0
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar):
        text += isPlain(scalar) ? String(scalar) : escaped(scalar)
        consumed += UTF8.width(scalar)
      case .emptyInput: return text
      case .error:
        return text + bytes[consumed...].map(escaped).joined()
      }
    }
  }

  private func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator:
      false
    default: scalar != "\\"
    }
  }

  private func escaped(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf8.map(escaped).joined()
  }

  private func escaped(_ byte: UInt8) -> String {
    "\\x" + FolderLayout.hex(UInt64(byte), digits: 2)
  }
}

extension [FolderName] {
  /// The path below the folder, for a person.
  var place: String { isEmpty ? "." : map(\.printable).joined(separator: "/") }
}
