import Foundation
import Glibc
import Synchronization

/// The output of commands: data to standard output, everything else to standard error.
///
/// A failed write to standard output is remembered, and ends the command as a failure: data that a
/// user believes to be saved must exist. A reader that closed the pipe (`hearth list | head`) wants
/// no more, which is no failure.
enum Output {
  /// The system's error number of the first failed write to standard output; 0 if none failed.
  private static let fault = Mutex<Int32>(0)

  /// Fails if a write to standard output failed.
  ///
  /// - Throws: `CommandFailure` with the system's reason.
  static func requireWritten() throws {
    let number = fault.withLock { $0 }
    guard number != 0 else { return }
    let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    throw CommandFailure(
      .failed, "standard output could not be written: \(reason)",
      hint: "what was printed is not whole; what the command did on this node holds")
  }

  /// Prints a line of data.
  ///
  /// Text of others is made visible where it is put into words; any other text is made visible
  /// here. The only control characters in the output are line ends, tabs and this program's own
  /// emphasis.
  static func print(_ text: String) {
    write(VisibleText.guarded(text) + "\n", to: STDOUT_FILENO)
  }

  /// Prints a remark, which is not data: the result, or the next step.
  static func note(_ text: String) {
    write(VisibleText.guarded(text) + "\n", to: STDERR_FILENO)
  }

  /// Prints data of another format unchanged to files and programs; a terminal shows it like other
  /// text.
  static func data(_ text: String) {
    let isShown = isatty(STDOUT_FILENO) == 1
    write(
      isShown ? VisibleText.guarded(text.replacing("\r\n", with: "\n")) : text, to: STDOUT_FILENO)
  }

  /// Prints one JSON document; `schema` is added to its top level.
  ///
  /// Keys are sorted, so equal values give equal bytes. The value must encode as an object. Hidden
  /// characters are escaped; see ``VisibleText``.
  static func json(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(Document(content: value)), as: UTF8.self)
    write(VisibleText.escapingJSON(text) + "\n", to: STDOUT_FILENO)
  }

  /// Prints one JSON document in one line, for long-running commands; it contains its own `schema`.
  static func jsonLine(_ value: some Encodable, to descriptor: Int32 = STDOUT_FILENO) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    write(VisibleText.escapingJSON(text) + "\n", to: descriptor)
  }

  /// Columns of the terminal on standard output; 0 without a terminal.
  static var width: Int { width(of: STDOUT_FILENO) }

  /// Columns of the terminal behind a descriptor; 0 without a terminal.
  static func width(of descriptor: Int32) -> Int {
    var size = winsize()
    let isTerminal = isatty(descriptor) == 1
    let isKnown = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    return width(
      isTerminal: isTerminal, columns: ProcessInfo.processInfo.environment["COLUMNS"],
      reported: isKnown ? Int(size.ws_col) : 0)
  }

  /// The width to fill: unlimited without a terminal, else `COLUMNS`, else the terminal's width,
  /// else 80.
  static func width(isTerminal: Bool, columns: String?, reported: Int) -> Int {
    guard isTerminal else { return 0 }
    if let columns = columns.flatMap({ Int($0) }), columns > 0 { return columns }
    return reported > 0 ? reported : 80
  }

  private static func write(_ text: String, to descriptor: Int32) {
    ProgressLine.withdrawn { put(text, to: descriptor) }
  }

  /// Writes the text as it is, without regard to the progress line.
  static func put(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress?.advanced(by: offset), bytes.count - offset)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else {
        let number = errno
        if descriptor == STDOUT_FILENO, number != EPIPE {
          fault.withLock { if $0 == 0 { $0 = number } }
        }
        return
      }
      offset += count
    }
  }

  /// A value with the version of the document format beside its own keys.
  private struct Document<Content: Encodable>: Encodable {
    let content: Content

    private enum Key: String, CodingKey {
      case schema
    }

    func encode(to encoder: any Encoder) throws {
      try content.encode(to: encoder)
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: .schema)
    }
  }
}
