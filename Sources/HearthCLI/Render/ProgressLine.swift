import Dispatch
import Foundation
import Glibc
import HearthSync
import Synchronization

/// What the line of progress shows when: drawn late, seldom, and over itself.
///
/// A value without a clock and a terminal; gives the text to write.
struct ProgressScreen: Sendable {
  /// How long a transfer takes before anything is said of it.
  static let patienceMilliseconds: UInt64 = 500
  /// How long a line stands at least before it is drawn anew.
  static let paceMilliseconds: UInt64 = 100

  private var latest: TransferProgress?
  private var beganMilliseconds: UInt64 = 0
  private var drawnMilliseconds: UInt64?
  /// Columns that are covered now.
  private var shownColumns = 0

  /// Takes note of how far it has got; nil where it is over.
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

  /// What to write now to show what is known; nil where nothing is to be shown, or not yet again.
  mutating func draw(atMilliseconds now: UInt64, columns: Int) -> String? {
    guard let latest, now >= beganMilliseconds + ProgressScreen.patienceMilliseconds,
      now >= (drawnMilliseconds ?? 0) + ProgressScreen.paceMilliseconds
    else { return nil }
    // The last column stays free: some terminals begin a line there.
    let line = Table.shorten(ProgressScreen.words(latest), to: max(0, columns - 1))
    let width = Table.columns(line)
    let text = "\r" + line + String(repeating: " ", count: max(0, shownColumns - width))
    drawnMilliseconds = now
    shownColumns = max(width, shownColumns)
    return text
  }

  /// What to write to take the line away; nil where none stands.
  ///
  /// The next drawing is at once.
  mutating func erase() -> String? {
    guard shownColumns > 0 else { return nil }
    defer {
      shownColumns = 0
      drawnMilliseconds = nil
    }
    return "\r" + String(repeating: " ", count: shownColumns) + "\r"
  }

  /// How far a transfer has got, in words.
  static func words(_ progress: TransferProgress) -> String {
    let way = progress.direction == .receiving ? ("receiving", "from") : ("sending", "to")
    let megabytes = megabytes(progress.bytes)
    // Whoever is told less than comes is not told a sum.
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

/// The one line on a terminal's standard error that says how far a long transfer has got.
///
/// There is none where standard error is no terminal or the command gives JSON. Whatever else is
/// printed takes it away first. It has no colours and needs no control codes but the return to the
/// line's begin.
enum ProgressLine {
  private static let screen = Mutex(ProgressScreen())

  /// Whether there is somebody to see it.
  static var isShown: Bool { isatty(STDERR_FILENO) == 1 }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

  /// Shows how far a transfer has got, once it takes long; takes the line away at its end.
  @Sendable static func tell(_ progress: TransferProgress?) {
    let begins = screen.withLock { screen in
      let begins = screen.note(progress, atMilliseconds: now)
      if progress == nil { put(screen.erase()) } else { draw(&screen) }
      return begins
    }
    guard begins else { return }
    // Also where nothing moves from then on.
    let wait = Int(ProgressScreen.patienceMilliseconds)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(wait)) {
      screen.withLock { draw(&$0) }
    }
  }

  /// Writes something else while the line is away.
  static func withdrawn(_ write: () -> Void) {
    screen.withLock { screen in
      put(screen.erase())
      write()
    }
  }

  private static func draw(_ screen: inout ProgressScreen) {
    put(screen.draw(atMilliseconds: now, columns: Output.width(of: STDERR_FILENO)))
  }

  private static func put(_ text: String?) {
    if let text { Output.put(text, to: STDERR_FILENO) }
  }
}
