/// A hybrid logical time: 48 bits of milliseconds since 1970 and a 16-bit counter.
///
/// Source: Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots" (2014).
public struct HybridTime: Hashable, Comparable, Sendable {
  /// Milliseconds in the upper 48 bits, counter in the lower 16.
  public let rawValue: UInt64

  /// Takes the packed form unchanged; every bit pattern is a valid time.
  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Packs milliseconds (clamped to 48 bits) and a counter.
  @inlinable
  public init(milliseconds: UInt64, counter: UInt16 = 0) {
    self.rawValue = min(milliseconds, HybridTime.maximumMilliseconds) << 16 | UInt64(counter)
  }

  /// Milliseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public var milliseconds: UInt64 { rawValue >> 16 }

  /// The counter that orders times within one millisecond.
  @inlinable
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The greatest supported number of milliseconds, in the year 10889.
  public static let maximumMilliseconds: UInt64 = 1 << 48 - 1

  /// The order of milliseconds, then of counter.
  @inlinable
  public static func < (left: HybridTime, right: HybridTime) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The clock of one node: never behind what it saw, and never far ahead because of other nodes.
///
/// The clock is a pure value: the caller passes the wall clock. Causality decides every merge, and
/// this clock only breaks ties. Its one duty beyond order is resistance to poisoning: neither a
/// remote time nor this node's own earlier mistake moves it more than ``maximumLeadMilliseconds``
/// beyond the wall clock. (A clock once set to 2099 would otherwise win every tie until then.)
package struct HybridClock: Equatable, Sendable {
  /// The greatest time issued or accepted, except for times from a wrong wall clock.
  package private(set) var latest: HybridTime
  /// The last time issued, before it the greater ones that were out of bounds then, and those known
  /// to be this node's own; in ascending order.
  private var own: [HybridTime] = []
  /// The greatest time that was out of bounds when the wall clock was set back.
  private var setAside = HybridTime(rawValue: 0)

  /// The most by which a received time may push this clock beyond the local wall clock: five
  /// minutes.
  package static let maximumLeadMilliseconds: UInt64 = 5 * 60 * 1000

  /// The own times that are kept: each set-back of the wall clock leaves one at most.
  private static let maximumOwnTimes = 64

  /// Starts from the last time this node is known to have used.
  package init(latest: HybridTime = HybridTime(rawValue: 0)) {
    self.latest = latest
  }

  /// Issues the time of a new local change: at least the wall clock, and beyond all accepted times.
  ///
  /// If the wall clock was set back so far that accepted times are out of bounds, the clock
  /// continues after this node's own last time within bounds, else at the wall clock.
  /// The accepted times apply again once they are within bounds.
  ///
  /// - Parameter nowMilliseconds: the wall clock, milliseconds since 1970.
  package mutating func tick(nowMilliseconds: UInt64) -> HybridTime {
    let now = HybridTime(milliseconds: nowMilliseconds)
    stepBack(nowMilliseconds: nowMilliseconds)
    let last = own.last { !isBeyondLead($0, nowMilliseconds: nowMilliseconds) }
    if let last, !Mutant.forgetsOwnTime.isActive { latest = max(latest, last) }
    if now > latest || Mutant.clockGoesBack.isActive {
      latest = now
    } else {
      Probe.clockCounts.hit()
      // Only a wall clock at the end of the 48 bits can raise the clock to its last value, where it
      // stays. Issuing one time twice is harmless; restarting at 0 would not be.
      latest = HybridTime(rawValue: max(latest.rawValue, latest.rawValue &+ 1))
    }
    own.removeAll { $0 <= latest }
    own.insert(latest, at: 0)
    return latest
  }

  /// Accepts the time of a received change.
  ///
  /// A time beyond the bound leaves the clock unchanged. The caller then reports the device to the
  /// user.
  ///
  /// - Returns: the milliseconds by which the time exceeded the bound; 0 if it was within the
  ///   bound.
  package mutating func receive(_ time: HybridTime, nowMilliseconds: UInt64) -> UInt64 {
    if isBeyondLead(time, nowMilliseconds: nowMilliseconds) {
      Probe.clockHeldBack.hit()
      return time.milliseconds - HybridClock.bound(nowMilliseconds)
    }
    if Mutant.ignoresOthersClocks.isActive { return 0 }
    stepBack(nowMilliseconds: nowMilliseconds)
    latest = max(latest, time)
    return 0
  }

  /// Accepts the time of a change that this node itself wrote, in this or an earlier incarnation.
  ///
  /// A time that is out of bounds, because the wall clock was set back since, applies again once it
  /// is within bounds.
  package mutating func resume(after time: HybridTime, nowMilliseconds: UInt64) {
    _ = receive(time, nowMilliseconds: nowMilliseconds)
    guard !own.contains(time) else { return }
    own.insert(time, at: own.partitionPoint { $0 >= time })
    if own.count > HybridClock.maximumOwnTimes { own.removeFirst() }
  }

  /// Sets aside a time that is out of bounds, and restores one that is within bounds again.
  private mutating func stepBack(nowMilliseconds: UInt64) {
    if isBeyondLead(latest, nowMilliseconds: nowMilliseconds) {
      Probe.ownClockStepsBack.hit()
      setAside = max(setAside, latest)
      latest = HybridTime(rawValue: 0)
    } else if !isBeyondLead(setAside, nowMilliseconds: nowMilliseconds) {
      latest = max(latest, setAside)
      setAside = HybridTime(rawValue: 0)
    }
  }

  private func isBeyondLead(_ time: HybridTime, nowMilliseconds: UInt64) -> Bool {
    time.milliseconds > HybridClock.bound(nowMilliseconds)
  }

  /// The greatest acceptable milliseconds at this wall clock; any wall clock value is allowed.
  private static func bound(_ nowMilliseconds: UInt64) -> UInt64 {
    if Mutant.trustsRemoteClock.isActive { return .max }
    let (sum, overflow) = nowMilliseconds.addingReportingOverflow(maximumLeadMilliseconds)
    return overflow ? .max : sum
  }
}
