/// A device's wall clock: what it shows at a virtual time.
struct SimClock {
  /// Milliseconds ahead of (or behind) the world at ``since``.
  private(set) var offset: Int64 = 0
  /// Parts per million by which it runs fast.
  private(set) var drift: Int64 = 0
  private var since: UInt64 = 0

  /// The wall clock at a virtual time, never before 1970.
  func wall(at time: UInt64) -> UInt64 {
    let elapsed = Int64(clamping: time &- since)
    let shown = Int64(clamping: time) + offset + elapsed / 1_000_000 * drift
    return UInt64(max(0, shown))
  }

  /// Moves the clock by a step.
  mutating func step(by milliseconds: Int64, at time: UInt64) {
    rebase(at: time)
    offset += milliseconds
  }

  /// Sets the clock to an instant.
  mutating func set(to wall: UInt64, at time: UInt64) {
    since = time
    offset = Int64(clamping: wall) - Int64(clamping: time)
  }

  /// Lets the clock run fast or slow from now on.
  mutating func run(partsPerMillion drift: Int64, at time: UInt64) {
    rebase(at: time)
    self.drift = drift
  }

  private mutating func rebase(at time: UInt64) {
    offset = Int64(clamping: wall(at: time)) - Int64(clamping: time)
    since = time
  }
}
