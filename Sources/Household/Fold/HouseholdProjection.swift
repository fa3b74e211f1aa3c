import HearthCRDT
import HearthSync

/// The ledger of points, its daily sums, the due rows of chores, and the history of challenges.
///
/// A changed record refolds the occurrences it belongs to, or the links of the chain that it can
/// affect, and only rows that differ are written. A changed payment setting refolds everything. So
/// does a merge of two people, because rows contain merged people.
package struct HouseholdProjection: Projection {
  package let name = "household"
  package let version = 8
  package let tables = HouseholdTables.all
  package let types = [
    HouseholdSchema.chore, HouseholdSchema.occurrence, HouseholdSchema.setting,
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
    HouseholdSchema.close, HouseholdSchema.personMerge, HouseholdSchema.challengeAttempt,
    HouseholdSchema.challengeUndo,
  ]
  package let typesJudgedByAuthor = [HouseholdSchema.retraction, HouseholdSchema.close]
  /// A chore without rows is folded with all that belongs to it, by the days that are closed.
  package let fillingTypes = ChallengeRows.types + [HouseholdSchema.close, HouseholdSchema.chore]

  package init() {}

  package func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    try update(keys, isJudgedAnew: false, from: source, to: writer)
  }

  package func judgeAnew(
    from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let keys = try typesJudgedByAuthor.flatMap { type in
      try source.ids(of: type).map { RecordKey(type: type, id: $0) }
    }
    if !keys.isEmpty { try update(keys, isJudgedAnew: true, from: source, to: writer) }
  }

  private func update(
    _ keys: [RecordKey], isJudgedAnew: Bool, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws {
    let ofChallenges = keys.filter { ChallengeRows.types.contains($0.type) }
    try ChallengeRows(source: source).update(ofChallenges, to: writer)
    guard ofChallenges.count < keys.count else { return }
    let settings = try HouseholdSettings(source: source)
    let closed = ClosedDays(source, settings: settings)
    let merges = try PersonMerges(source: source)
    var touched = TouchedChores(source: source, settings: settings, merges: merges)
    if keys.contains(where: { $0.type == HouseholdSchema.close }) {
      try touched.touch(days: try closed.refresh(writer))
    }
    for key in keys { try touched.touch(key, isJudgedAnew: isJudgedAnew) }
    for (chore, parts) in touched.sorted() {
      guard let facts = try ChoreFacts(chore, from: source, merges: merges) else { continue }
      let fold = ChoreFold(facts: facts, closed: closed, source: source)
      try ChoreRefold(fold: fold, source: source, writer: writer).run(parts)
      try ChoreRow(facts, from: source, settings: settings)
        .write(of: facts, from: source, to: writer)
    }
  }
}
