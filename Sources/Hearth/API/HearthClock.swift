/// Tells the time to a node.
///
/// ```swift
/// let clock = HearthClock(milliseconds: { 1_767_225_600_000 })
/// let node = try await HearthNode.open(at: directory, app, as: .new(person: "Anna"), clock: clock)
/// ```
public struct HearthClock: Sendable {
  let read: @Sendable () -> UInt64

  /// Makes a clock.
  ///
  /// - Parameter read: returns the milliseconds since 1970; it is called from several threads.
  public init(milliseconds read: @escaping @Sendable () -> UInt64) {
    self.read = read
  }

  /// The clock of the system.
  public static let system = HearthClock(milliseconds: { Node.wallClock() })

  /// The milliseconds since 1970.
  public func milliseconds() -> UInt64 { read() }
}
