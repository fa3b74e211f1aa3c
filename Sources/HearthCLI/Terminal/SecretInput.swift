import Foundation
import Glibc
import Hearth

/// Secret words from a terminal or a pipe.
enum SecretInput {
  /// The longest line of words that is read; twelve words are far shorter.
  static let maximumBytes = 1024

  static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Reads one line, without its end; on a terminal it prompts and does not echo.
  ///
  /// - Parameters:
  ///   - isAlwaysAsked: whether a program at the other end of a pipe needs the prompt.
  ///   - limit: the most bytes of the line.
  /// - Throws: `CommandFailure` at the end of the input or beyond the limit.
  static func line(
    asking question: String, isAlwaysAsked: Bool = true, maximumBytes limit: Int = maximumBytes
  ) throws -> [UInt8] {
    if isAlwaysAsked || isTerminal { Output.note(question) }
    let shown = silence()
    defer { restore(shown) }
    var bytes: [UInt8] = []
    while true {
      guard let byte = readByte() else {
        guard !bytes.isEmpty else {
          throw CommandFailure(.usage, "nothing was typed or piped in", hint: question)
        }
        return bytes
      }
      if byte == UInt8(ascii: "\n") { return bytes }
      bytes.append(byte)
      guard bytes.count <= limit else {
        throw CommandFailure(.usage, "the input is longer than \(limit) bytes")
      }
    }
  }

  /// Reads recovery words: a line of a terminal, or all piped input.
  static func words(asking question: String) throws -> PersonWords {
    var bytes = try line(asking: question, isAlwaysAsked: false)
    if !isTerminal {
      // The words may span several lines.
      bytes.append(UInt8(ascii: "\n"))
      while bytes.count <= maximumBytes, let byte = readByte() { bytes.append(byte) }
    }
    return try PersonWords(consuming: &bytes)
  }

  private static func readByte() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = Glibc.read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      return count == 1 ? byte : nil
    }
  }

  /// Turns the terminal's echo off.
  ///
  /// - Returns: the previous terminal state; nil if there is none.
  private static func silence() -> termios? {
    var present = termios()
    guard isTerminal, tcgetattr(STDIN_FILENO, &present) == 0 else { return nil }
    var silent = present
    silent.c_lflag &= ~tcflag_t(ECHO)
    silent.c_lflag |= tcflag_t(ECHONL)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    return present
  }

  private static func restore(_ terminal: termios?) {
    guard var terminal else { return }
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal)
  }
}
