import Foundation

/// Text from people and files, made safe for a terminal.
enum ShownText {
  /// The safe text in quotation marks, cut after 80 characters.
  static func quoted(_ text: String) -> String {
    let cut = text.count > 80 ? text.prefix(80) + "…" : text[...]
    return "\"" + Style.safe(String(cut)) + "\""
  }

  /// The text in composed form, in which names and titles are stored.
  static func normal(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
