import Hearth

/// Something that must hold on every device.
///
/// ```swift
/// Invariant("nothing is bought a negative number of times") { reader in
///   try reader.count(Item.where(\.quantity < 0)) == 0
/// }
/// ```
public struct Invariant: Sendable {
  /// When an invariant must hold.
  public enum Moment: Sendable {
    /// At the end, when everybody has synced until nothing moves.
    case settled
    /// After each action and each sync, on the device of the person who acted or synced.
    case always
  }

  /// The invariant's name in reports.
  public let name: String
  let moment: Moment
  let holds: @Sendable (ZoneReader) throws -> Bool

  /// Describes an invariant.
  ///
  /// - Parameter holds: whether it holds in one state of the zone; what it throws is a fault, and
  ///   is reported in words.
  public init(
    _ name: String, _ moment: Moment = .settled,
    holds: @escaping @Sendable (ZoneReader) throws -> Bool
  ) {
    self.name = name
    self.moment = moment
    self.holds = holds
  }
}

/// Collects the invariants of an application.
@resultBuilder
public enum InvariantBuilder {
  /// Joins the invariants.
  public static func buildBlock(_ invariants: Invariant...) -> [Invariant] { invariants }
}
