/// An error of the household rules: a stable code, a message, and the underlying error.
///
/// Two errors are equal when their codes are equal; messages may be reworded at any time.
package struct HouseholdError: Error, Equatable, CustomStringConvertible {
  /// A stable identifier of the kind of error, safe to store and to compare.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The stable spelling.
    package let rawValue: String

    package init(_ rawValue: String) { self.rawValue = rawValue }

    /// The stable spelling.
    package var description: String { rawValue }

    /// A civil date, time, month or week is outside the supported range.
    package static let civilOutOfRange = Code("civil-out-of-range")
    /// The text of a civil date, time, month or week is not in the one accepted form.
    package static let civilText = Code("civil-text")
    /// A field of a recurrence rule is outside its allowed range.
    package static let ruleOutOfRange = Code("rule-out-of-range")
    /// Two fields of a recurrence rule contradict each other, although each alone is valid.
    package static let ruleContradiction = Code("rule-contradiction")
    /// The stored text of a recurrence rule is malformed or not in canonical form.
    package static let ruleText = Code("rule-text")
    /// The stored text of a recurrence rule was written by a newer version.
    package static let ruleVersion = Code("rule-version")
    /// Calendar text (RFC 5545) is malformed.
    package static let calendarText = Code("calendar-text")
    /// Calendar text (RFC 5545) is valid but outside the supported subset.
    package static let calendarUnsupported = Code("calendar-unsupported")
    /// A chore's title is blank or too long.
    package static let badTitle = Code("bad-title")
    /// A chore's note is too long.
    package static let badNote = Code("bad-note")
    /// A person's name is blank or too long.
    package static let badName = Code("bad-name")
    /// An e-mail address is too long or has no @.
    package static let badEmail = Code("bad-email")
    /// Points lie outside 0...100000.
    package static let badPoints = Code("bad-points")
    /// There are too many tags, or one is blank or too long.
    package static let badTags = Code("bad-tags")
    /// A rotation names nobody, somebody twice, or too many people.
    package static let badAssignment = Code("bad-assignment")
    /// The day something was done lies in the future or too far back.
    package static let badDay = Code("bad-day")
    /// The reason of a skip is too long.
    package static let badReason = Code("bad-reason")
    /// A setting does not exist or cannot have this value.
    package static let badSetting = Code("bad-setting")
    /// This program did not issue the cursor of a history page.
    package static let badCursor = Code("bad-cursor")
    /// No chore has this id.
    package static let noSuchChore = Code("no-such-chore")
    /// No ledger entry has this id.
    package static let noSuchEntry = Code("no-such-entry")
    /// The chore does not have this occurrence, or no occurrence is open.
    package static let noSuchOccurrence = Code("no-such-occurrence")
    /// The chore is archived.
    package static let choreArchived = Code("chore-archived")
    /// The occurrence is done already.
    package static let alreadyDone = Code("already-done")
    /// The entry is undone already.
    package static let alreadyUndone = Code("already-undone")
    /// Only the doer, the recorder or an administrator may undo an entry.
    package static let notYours = Code("not-yours")
    /// An earlier occurrence is still to come.
    package static let tooEarly = Code("too-early")
    /// The chore was done that day and is not due again until later.
    package static let doneThatDay = Code("done-that-day")
    /// The week or month is closed: only an administrator may undo in it.
    package static let periodClosed = Code("period-closed")
    /// A rating lies outside 1...5.
    package static let badRating = Code("bad-rating")
    /// No challenge was chosen for the day.
    package static let noChallenge = Code("no-challenge")
    /// The day's challenge is skipped already.
    package static let alreadySkipped = Code("already-skipped")
    /// The two people are merged already, or one of them is merged into a third.
    package static let badMerge = Code("bad-merge")
    /// The week or month cannot be closed: it is not over, is closed, or does not exist.
    package static let badPeriod = Code("bad-period")
  }

  /// The kind of error.
  package let code: Code
  /// The error, its place and the remedy, in words.
  package let message: String
  /// The error that led to this one, if any.
  package let cause: (any Error)?

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// The message, then the code in brackets, then the cause.
  package var description: String {
    let own = "\(message) [\(code)]"
    guard let cause else { return own }
    return "\(own); because: \(cause)"
  }

  /// Equality by code.
  package static func == (left: HouseholdError, right: HouseholdError) -> Bool {
    left.code == right.code
  }
}
