import Foundation
import Hearth
import Synchronization

/// The time of a family, which passes only when a test says so.
///
/// Each look of a node at its clock takes a millisecond. So of two writes the later one has the
/// later time, and which value of a conflict is shown follows from the test alone.
public final class FamilyClock: Sendable {
  private struct Content {
    var milliseconds: UInt64
    var ahead: [String: Int64] = [:]
  }

  private let content: Mutex<Content>

  /// The start of 2026, when a family begins.
  static let start: UInt64 = 1_767_225_600_000

  init() {
    content = Mutex(Content(milliseconds: FamilyClock.start))
  }

  /// The time in milliseconds since 1970.
  public var milliseconds: UInt64 { content.withLock { $0.milliseconds } }

  /// The time.
  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

  /// Lets time pass.
  public func advance(byMilliseconds span: UInt64) {
    content.withLock { $0.milliseconds += span }
  }

  /// Sets the clock of one person wrong: ahead of the others, or behind them if negative.
  public func set(_ name: String, aheadByMilliseconds span: Int64) {
    content.withLock { $0.ahead[name] = span }
  }

  /// The clock of one person's node.
  func clock(of name: String) -> HearthClock {
    HearthClock(milliseconds: { self.look(as: name) })
  }

  private func look(as name: String) -> UInt64 {
    content.withLock { content in
      content.milliseconds += 1
      let shown = Int64(clamping: content.milliseconds).addingReportingOverflow(
        content.ahead[name] ?? 0)
      return shown.overflow ? content.milliseconds : UInt64(clamping: shown.partialValue)
    }
  }

  /// Sets the time, unless it is later already.
  func reach(_ milliseconds: UInt64) {
    content.withLock { $0.milliseconds = max($0.milliseconds, milliseconds) }
  }
}
