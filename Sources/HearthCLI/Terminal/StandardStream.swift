import Foundation
import Glibc
import Synchronization

/// Standard output and standard error: raw writes, and the width of the terminal behind them.
///
/// A failed write to standard output is remembered, and ends the command as a failure: data that a
/// user believes to be saved must exist. A reader that closed the pipe (`hearth list | head`) wants
/// no more, which is no failure.
enum StandardStream {
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
      hint: "the output is incomplete, but the command's changes on this node are stored")
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
}
