import HearthCRDT
import HearthCrypto
import HearthMembership

/// How often devices look at what a zone holds, and state it.
package enum ComparisonIntervals {
  /// How often a device looks at what a zone holds if nobody asks: once a week.
  ///
  /// Because of what others say, it does not rebuild records or answer more often either.
  package static var comparisonMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// The longest time between statements if there is news and nobody asks: 90 days, because a
  /// statement stays in the control log for ever.
  package static var statementMilliseconds: UInt64 { 90 * 24 * 60 * 60 * 1_000 }

  /// The interval between one device's statements in a group of some people: four weeks for each
  /// person, so that all together make about one statement in four weeks.
  package static func statementInterval(people: Int) -> UInt64 {
    min(statementMilliseconds, 4 * comparisonMilliseconds * UInt64(max(1, people)))
  }

  /// How soon a device looks and makes a statement after an event that may have made devices
  /// differ: a day, in which most of them have received the same.
  package static var riskMilliseconds: UInt64 { 24 * 60 * 60 * 1_000 }

  /// How often a device looks because others ask: once an hour, because a look costs O(zone).
  package static var lookMilliseconds: UInt64 { 60 * 60 * 1_000 }

  /// Whether an interval has passed; a clock that was set back counts as one that advanced.
  static func hasPassed(_ span: UInt64, _ since: UInt64, _ now: UInt64) -> Bool {
    now < since || now - since >= span
  }
}
