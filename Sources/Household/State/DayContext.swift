import HearthCRDT
import HearthSync

/// What the parts of a household's state read from: the records, and the ledger as of a day.
///
/// The parts share one, so that settings, merged people and closed days are read once.
final class DayContext {
  let source: any ProjectionSource
  let today: CivilDate
  let settings: HouseholdSettings
  let merges: PersonMerges
  /// The closed weeks and months.
  let closed: ClosedDays
  /// The ledger as of today.
  let view: LedgerView

  init(source: any ProjectionSource, settings: HouseholdSettings, today: CivilDate) throws {
    self.source = source
    self.today = today
    self.settings = settings
    merges = try PersonMerges(source: source)
    closed = ClosedDays(source, settings: settings)
    view = LedgerView(
      source, closed: closed, merges: merges,
      lastDay: Mutant.countsDaysToCome.isActive ? .last : today)
  }

  /// The last day of work that counts: today.
  ///
  /// Work with a later date counts when that day comes, equally for every reader of the same day.
  var lastCountedDay: CivilDate { view.lastDay }

  /// Returns what is stored of a chore; nil if no chore has this id.
  func facts(of chore: RecordID) throws -> ChoreFacts? {
    try ChoreFacts(chore, from: source, merges: merges)
  }

  /// Returns what is stored of a chore.
  ///
  /// - Throws: `noSuchChore`.
  func existingFacts(of chore: RecordID) throws -> ChoreFacts {
    guard let facts = try facts(of: chore) else { throw noSuchChore(chore) }
    return facts
  }

  /// The error for an id that no chore has.
  func noSuchChore(_ id: RecordID) -> HouseholdError {
    HouseholdError(
      .noSuchChore, "there is no chore \(id.hex) in this household; list the chores to see ids")
  }
}
