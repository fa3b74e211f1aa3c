import Hearth

/// Something that people do in an application.
///
/// ```swift
/// Action("add") { turn in
///   let name = turn.pick("Milk", "Bread")
///   try await turn.zone.insert(Item(name: name))
/// }
/// ```
public struct Action: Sendable {
  /// The action's name in schedules.
  public let name: String
  let weight: Int
  let allowed: [HearthError.Code]
  let perform: @Sendable (Turn) async throws -> Void

  /// Describes an action.
  ///
  /// - Parameters:
  ///   - weight: how often it happens in comparison with the others.
  ///   - allowed: codes of errors that are no fault, such as `notAllowed` for a child.
  ///   - perform: acts for one person. All chance must come from the turn. What it throws is a
  ///     fault.
  public init(
    _ name: String, weight: Int = 1, allowing allowed: HearthError.Code...,
    perform: @escaping @Sendable (Turn) async throws -> Void
  ) {
    self.name = name
    self.weight = max(1, weight)
    self.allowed = allowed
    self.perform = perform
  }
}

/// Collects the actions of an application.
@resultBuilder
public enum ActionBuilder {
  /// Joins the actions.
  public static func buildBlock(_ actions: Action...) -> [Action] { actions }
}
