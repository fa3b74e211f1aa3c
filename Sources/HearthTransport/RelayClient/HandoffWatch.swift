import HearthCRDT
import HearthSync

/// When a manager's device checks whether a mailbox still has its rekey handoffs, and how many it
/// has laid again.
///
/// Both are bounded, because a relay may say of every handoff that it is missing. The bound holds
/// for one log of the mailbox; a repair by a person begins it anew.
package struct HandoffWatch: Hashable, Sendable {
  /// The time from one check to the next: a day.
  package static let intervalMilliseconds: UInt64 = 24 * 60 * 60 * 1_000
  /// The most handoffs to lay again for one log: three complete losses.
  package static let maximumRepeats = 36

  /// The generation of the mailbox's log.
  package let log: Identifier
  private var checkedAt: UInt64
  private var repeats = 0
  /// Whether the last check found more handoffs missing than this device may still lay again.
  package private(set) var isGivenUp = false

  /// Begins to watch a log whose handoffs need no check now.
  ///
  /// - Parameter now: milliseconds since 1970; 0 to make the first check due at once.
  package init(log: Identifier, at now: UInt64) {
    self.log = log
    checkedAt = now
  }

  /// Whether to check now; also if the clock was set back.
  package func isDue(at now: UInt64) -> Bool {
    now < checkedAt || now - checkedAt >= HandoffWatch.intervalMilliseconds
  }

  /// Counts missing handoffs before they are laid again, so that a failure counts too.
  ///
  /// - Returns: how many of them may be laid again.
  package mutating func charge(_ missing: Int) -> Int {
    let count = min(missing, HandoffWatch.maximumRepeats - repeats)
    repeats += count
    isGivenUp = count < missing
    return count
  }

  /// Records that a check was completed.
  package mutating func complete(at now: UInt64) { checkedAt = now }

  /// The stored form.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.identifier(log)
    writer.fixed64(checkedAt)
    writer.varint(repeats)
    writer.byte(isGivenUp ? 1 : 0)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    log = try reader.identifier("log")
    checkedAt = try reader.fixed64("time of the check")
    repeats = try reader.varint("repeats", atMost: HandoffWatch.maximumRepeats)
    isGivenUp = try reader.flag("given up")
    try reader.finish()
  }

  /// The problem that a relay does not keep handoffs, however often they are laid again.
  static func problem(at place: String) -> TransportProblem {
    TransportProblem(
      place: place,
      fault: "it does not keep the handoffs to devices that were away: this device stored "
        + "\(maximumRepeats) of them again, and some are still missing",
      remedy: "if the relay does not admit a device that was away, sync that device over a folder "
        + "or another relay; `hearth transport repair` stores the handoffs once more",
      hidesData: false)
  }
}
