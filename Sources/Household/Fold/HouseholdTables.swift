import HearthCRDT
import HearthSync

/// The tables of the projection ``HouseholdProjection``.
enum HouseholdTables {
  /// Every completion and its points.
  static let ledger = "ledger"
  /// The points per person and day.
  static let points = "points"
  /// The number of completions per chore, which numbers the links of a chain, and of its links.
  static let chains = "chains"
  /// The close that applies to each day.
  static let closed = "closed"
  /// The points booked on a later day because the entry's own day was closed.
  static let late = "late"
  /// Each chore's name, and the first day on which it may be open.
  static let chores = "chores"

  /// All tables, with those of challenges.
  static let all = [
    ProjectionTable(
      ledger,
      key: [.init("event", .bytes)],
      columns: [
        .init("chore", .bytes), .init("person", .bytes), .init("day", .int),
        .init("points", .int), .init("status", .text), .init("key", .int),
        .init("title", .text), .init("recorded_by", .bytes), .init("device", .bytes),
        .init("incarnation", .int), .init("sequence", .int), .init("time", .int),
        .init("effect", .int),
      ],
      indexes: [
        ["day", "time"], ["chore", "effect", "key", "time"], ["chore", "effect", "time"],
        ["person", "time"], ["recorded_by", "time"],
      ]),
    ProjectionTable(
      points,
      key: [.init("person", .bytes), .init("day", .int)],
      columns: [.init("points", .int), .init("completions", .int), .init("credited", .int)]),
    ProjectionTable(
      chains,
      key: [.init("chore", .bytes)], columns: [.init("done", .int), .init("links", .int)]),
    ProjectionTable(
      closed,
      key: [.init("period", .text), .init("day", .int)], columns: [.init("close", .bytes)]),
    ProjectionTable(
      late,
      key: [
        .init("period", .text), .init("person", .bytes), .init("day", .int),
        .init("event", .bytes),
      ],
      columns: [.init("amount", .int)], indexes: [["event"]]),
    ProjectionTable(
      chores,
      key: [.init("chore", .bytes)],
      columns: [
        .init("title", .text), .init("archived", .bool), .init("due", .int),
        .init("last_work", .int),
      ],
      indexes: [["title"], ["due"], ["last_work"]]),
    ChallengeRows.table,
  ]
}
