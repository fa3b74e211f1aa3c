import Dispatch
import Foundation
import Glibc
import HearthSync
import Synchronization

/// The content of the progress line over time: it appears late, redraws rarely, and overwrites
/// itself.
///
/// A value without a clock and a terminal, which returns the text to write.
struct ProgressScreen: Sendable {
  /// The duration of a transfer before the line appears.
  static let patienceMilliseconds: UInt64 = 500
  /// The least time between two drawings of the line.
  static let paceMilliseconds: UInt64 = 100

  private var latest: TransferProgress?
  private var beganMilliseconds: UInt64 = 0
  private var drawnMilliseconds: UInt64?
  /// The columns that are covered now.
  private var shownColumns = 0

  /// Records the progress; nil at the end of a transfer.
  ///
  /// - Returns: whether a transfer begins with it.
  mutating func note(_ progress: TransferProgress?, atMilliseconds now: UInt64) -> Bool {
    let begins = latest == nil && progress != nil
    if begins {
      beganMilliseconds = now
      drawnMilliseconds = nil
    }
    latest = progress
    return begins
  }

  /// Returns the text that shows the progress; nil if there is nothing to show, or not yet again.
  mutating func draw(atMilliseconds now: UInt64, columns: Int) -> String? {
    guard let latest, now >= beganMilliseconds + ProgressScreen.patienceMilliseconds,
      now >= (drawnMilliseconds ?? 0) + ProgressScreen.paceMilliseconds
    else { return nil }
    // The last column stays free: some terminals begin a new line there.
    let line = Table.shorten(ProgressScreen.words(latest), to: max(0, columns - 1))
    let width = Table.columns(line)
    let text = "\r" + line + String(repeating: " ", count: max(0, shownColumns - width))
    drawnMilliseconds = now
    shownColumns = max(width, shownColumns)
    return text
  }

  /// Returns the text that erases the line; nil if there is none.
  ///
  /// The next drawing is immediate.
  mutating func erase() -> String? {
    guard shownColumns > 0 else { return nil }
    defer {
      shownColumns = 0
      drawnMilliseconds = nil
    }
    return "\r" + String(repeating: " ", count: shownColumns) + "\r"
  }

  /// The progress of a transfer in words.
  static func words(_ progress: TransferProgress) -> String {
    let way = progress.direction == .receiving ? ("receiving", "from") : ("sending", "to")
    let megabytes = megabytes(progress.bytes)
    // Without a sufficient expected size, no total is shown.
    let bytes =
      progress.expectedBytes >= progress.bytes && progress.expectedBytes > 0
      ? "\(megabytes) of \(self.megabytes(progress.expectedBytes)) MB" : "\(megabytes) MB"
    let files =
      progress.expectedFiles >= progress.files && progress.expectedFiles > 0
      ? "\(progress.files) of \(Words.count(progress.expectedFiles, "file"))"
      : Words.count(progress.files, "file")
    return "\(way.0) \(bytes) (\(files)) \(way.1) \(Style.safe(progress.place))"
  }

  /// Megabytes with one decimal, rounded down.
  private static func megabytes(_ bytes: Int) -> String {
    "\(bytes / 1_000_000).\(bytes % 1_000_000 / 100_000)"
  }
}

/// The one line on a terminal's standard error that shows the progress of a long transfer.
///
/// There is none if standard error is not a terminal or the command prints JSON. All other output
/// erases it first. It has no colours and needs no control code except the carriage return.
enum ProgressLine {
  private static let screen = Mutex(ProgressScreen())

  /// Whether standard error is a terminal.
  static var isShown: Bool { isatty(STDERR_FILENO) == 1 }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

  /// Shows the progress of a transfer once it takes long, and erases the line at its end.
  @Sendable static func tell(_ progress: TransferProgress?) {
    let begins = screen.withLock { screen in
      let begins = screen.note(progress, atMilliseconds: now)
      if progress == nil { put(screen.erase()) } else { draw(&screen) }
      return begins
    }
    guard begins else { return }
    // This applies even if no progress follows.
    let wait = Int(ProgressScreen.patienceMilliseconds)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(wait)) {
      screen.withLock { draw(&$0) }
    }
  }

  /// Writes other text while the line is erased.
  static func withdrawn(_ write: () -> Void) {
    screen.withLock { screen in
      put(screen.erase())
      write()
    }
  }

  private static func draw(_ screen: inout ProgressScreen) {
    put(screen.draw(atMilliseconds: now, columns: StandardStream.width(of: STDERR_FILENO)))
  }

  private static func put(_ text: String?) {
    if let text { StandardStream.put(text, to: STDERR_FILENO) }
  }
}
