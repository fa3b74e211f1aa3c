import HearthSync

/// The identity of the application whose records are in the file.
///
/// Two applications may give one number to different types, so one must not open the other's file:
/// it would rename tables and write values that mean something else.
struct ApplicationMark {
  let connection: Connection
  let facts: SQLiteFacts

  static let factName = "application"

  /// Requires that the file belongs to an application, or to none yet.
  ///
  /// - Throws: `otherApplication`, before anything is changed.
  func require(_ application: String?) throws {
    let marked = try facts.value(of: ApplicationMark.factName).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard marked != application else { return }
    guard let application else {
      throw StoreError(
        .otherApplication,
        "this node belongs to the application \(marked ?? ""): open it with that application")
    }
    let types = try connection.statement("SELECT 1 FROM hearth_types LIMIT 1")
    let isNew = try !types.step()
    types.reset()
    guard marked == nil, isNew else {
      throw StoreError(
        .otherApplication,
        "this node belongs to \(marked.map { "the application \($0)" } ?? "another program"), not "
          + "to \(application): use another folder")
    }
    try facts.set(ApplicationMark.factName, to: Array(application.utf8))
  }
}
