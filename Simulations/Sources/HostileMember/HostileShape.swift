import HearthCRDT

/// What a hostile member writes, in numbers that a search for costs changes one by one.
///
/// Every combination of numbers is a shape: what no file can hold is cut.
package struct HostileShape: Sendable {
  /// What is written, in kinds of which each has a cost of its own.
  package enum Kind: String, CaseIterable, Sendable {
    case set, history, gap, fields, titles, schedules, texts, toggles, lives, completions, skips
    case moves, settings, control, citations, edits
  }

  package let kind: Kind
  /// How many operations.
  package let number: Int
  /// How many of them in one change.
  package let perChange: Int
  /// How many in one file.
  package let perFile: Int
  /// How many bytes, files, records or authors, by kind.
  package let size: Int
  /// Which of several forms of the kind.
  package let variant: Int

  /// The most operations of a shape, so that one is made in seconds.
  private static let maximumNumber = 350_000
  /// The most bytes of texts of a shape.
  static let maximumTextBytes = 8_000_000
  /// The fields of an event and the event itself count as items of a file.
  private static let itemsPerEvent = 8

  package init(kind: Kind, number: Int, perChange: Int, perFile: Int, size: Int, variant: Int) {
    self.kind = kind
    self.number = max(1, min(number, HostileShape.maximumNumber))
    self.perChange = max(1, min(perChange, Limits.maximumOperations))
    self.perFile = max(
      1, min(perFile, Limits.maximumSegmentItems, self.perChange * Limits.maximumSegmentChanges))
    self.size = max(1, size)
    self.variant = max(0, variant)
  }

  /// How much one change and one file hold.
  var measure: HostileMember.Measure {
    HostileMember.Measure(perChange: perChange, perFile: perFile)
  }

  /// The same for events, of which fewer fit.
  var eventMeasure: HostileMember.Measure {
    let most = Limits.maximumSegmentItems / HostileShape.itemsPerEvent
    return HostileMember.Measure(perChange: min(perChange, most), perFile: min(perFile, most))
  }

  /// One of several forms.
  func pick<Form>(_ forms: [Form]) -> Form { forms[variant % forms.count] }
}
