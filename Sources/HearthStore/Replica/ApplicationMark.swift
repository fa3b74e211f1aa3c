import HearthMembership
import HearthSync

/// The application whose records are in the file.
///
/// Two applications may give one number to different types, so one must not open the other's file:
/// it would rename tables and write values that mean something else. A file without a mark is the
/// household's.
struct ApplicationMark {
  let connection: Connection
  let facts: SQLiteFacts

  private static let fact = Fact(
    "application", encode: { Array($0.utf8) }, decode: { String(decoding: $0, as: UTF8.self) })

  /// Requires that the file belongs to an application, or is new.
  ///
  /// - Throws: `otherApplication`, before anything is changed.
  func require(_ application: ApplicationIdentifier) throws {
    let owner = try facts.value(of: ApplicationMark.fact)
    if try owner == nil && isNew() {
      guard application != .household else { return }
      return try facts.set(ApplicationMark.fact, to: application.name)
    }
    let name = owner ?? ApplicationIdentifier.household.name
    guard name != application.name else { return }
    throw StoreError(
      .otherApplication,
      "this node belongs to the application \(name), not to \(application.name): open it with that "
        + "application, or use another folder")
  }

  /// Whether nothing was ever kept in the file.
  private func isNew() throws -> Bool {
    let kept = try connection.statement(
      "SELECT 1 FROM hearth_types UNION ALL SELECT 1 FROM hearth_facts LIMIT 1")
    defer { kept.reset() }
    return try !kept.step()
  }
}
