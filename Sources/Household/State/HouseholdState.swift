import HearthSync

/// The household as seen on a day: what is stored, what follows from it, and how it is changed.
///
/// It is a value over one state of the zone; create a new one after each transaction. Each part
/// reads what it is about, and appends the operations that change it to a builder.
package struct HouseholdState {
  package let today: CivilDate
  package let settings: HouseholdSettings
  /// The settings as texts, which a user sets.
  package let storedSettings: StoredSettings
  /// The people, and who counts as whom.
  package let people: PeopleDirectory
  /// The chores and their fields.
  package let chores: ChoreList
  /// What is due.
  package let occurrences: OccurrenceList
  /// The occurrences that were moved or assigned on their own.
  package let overrides: OccurrenceOverrides
  /// The skipped occurrences.
  package let skips: SkipLog
  /// Recording and undoing of completions.
  package let completions: CompletionLog
  /// The completions with their points.
  package let ledger: PointsLedger
  /// The check of the ledger.
  package let audit: LedgerAudit
  /// The weeks and months.
  package let periods: PeriodCalendar
  /// The points by person and period.
  package let totals: PointTotals
  /// The streaks and badges.
  package let achievements: Achievements
  /// The actions of changes, in words.
  package let activity: ActivityFeed

  /// Opens the state of a household.
  ///
  /// - Parameters:
  ///   - settings: the household's settings, if the caller has read them from the same source.
  ///   - today: the civil date in the household's time zone, with its day start applied.
  package init(
    source: any ProjectionSource, settings: HouseholdSettings? = nil, today: CivilDate
  ) throws {
    let settings = try settings ?? HouseholdSettings(source: source)
    let context = try DayContext(source: source, settings: settings, today: today)
    self.today = today
    self.settings = settings
    storedSettings = StoredSettings(context: context)
    people = PeopleDirectory(context: context)
    occurrences = OccurrenceList(context: context, people: people)
    chores = ChoreList(context: context, people: people, occurrences: occurrences)
    overrides = OccurrenceOverrides(context: context, occurrences: occurrences)
    skips = SkipLog(context: context, occurrences: occurrences)
    ledger = PointsLedger(context: context)
    completions = CompletionLog(context: context, occurrences: occurrences, ledger: ledger)
    audit = LedgerAudit(context: context, ledger: ledger)
    periods = PeriodCalendar(context: context)
    totals = PointTotals(context: context, people: people, ledger: ledger, periods: periods)
    achievements = Achievements(context: context)
    activity = ActivityFeed(context: context)
  }
}
