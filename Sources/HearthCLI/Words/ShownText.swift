import Foundation

/// Text from people and files, made safe to show on a terminal.
enum ShownText {
  /// The safe text in quotation marks, cut after 80 characters.
  static func quoted(_ text: String) -> String {
    let cut = text.count > 80 ? text.prefix(80) + "…" : text[...]
    return "\"" + Style.safe(String(cut)) + "\""
  }

  /// The text in composed form, as names and titles are stored.
  static func normal(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}

/// Text that is to be typed again in a shell.
enum ShellText {
  /// The text as one word of a POSIX shell: in single quotes where it needs them.
  static func word(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "/._-+:@%,=".utf8.contains(byte)
      }
    }
    return isPlain && !text.isEmpty ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }
}
