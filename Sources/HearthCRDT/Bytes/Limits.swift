/// The bounds on everything that is encoded, each with a reason.
package enum Limits {
  /// The longest text or byte string of one field: half a mebibyte, so that it fits a segment.
  package static let maximumValueBytes = 512 * 1024
  /// The longest canonical encoding of one change: it must fit one segment, whose columns can take
  /// half as much again where field numbers are large and values small.
  package static let maximumChangeBytes = 640 * 1024
  /// The most operations of one change.
  package static let maximumOperations = 10_000
  /// The most changes of one segment.
  package static let maximumSegmentChanges = 10_000
  /// The longest body of one segment before compression and sealing.
  package static let maximumSegmentBytes = 1024 * 1024
  /// The most operations and event fields of one segment: more than any one change can hold, and
  /// few enough that a short run-length column cannot ask for much memory.
  package static let maximumSegmentItems = 400_000
  /// The most authors of one zone.
  package static let maximumAuthors = 4_000
  /// The most lives of all devices of one person, so that nobody alone can use up the authors.
  package static let maximumLives = 256
  /// The most lives of a group beyond the rooms of their persons: those that others have seen.
  package static let maximumCitedLives = 2_000
  /// The most places at which further histories end one log of records; after more it ends before
  /// its first change, so that nobody can make others prove one without end.
  package static let maximumForkEnds = 8
  /// The most fields of one event.
  package static let maximumEventFields = 64
  /// The most fields of one record: all there are numbers for, because merging cannot refuse one
  /// field and accept another without depending on which arrived first.
  package static let maximumRecordFields = 65_536
  /// The most records or events of one block of a snapshot.
  package static let maximumBlockRecords = 2_000
  /// The weight at which a block of a snapshot ends, so that it fits in memory whatever it holds.
  package static let fullBlockWeight = 1024 * 1024
  /// The most items that a decoder makes room for before it has read them.
  static let maximumReservation = 1_024
}
