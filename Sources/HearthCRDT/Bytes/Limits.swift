/// The bounds on everything that is encoded, each with a reason.
package enum Limits {
  /// The longest text or byte string of one field: half a mebibyte, so that it fits a segment.
  package static let maximumValueBytes = 512 * 1024
  /// The longest canonical encoding of one change.
  ///
  /// It must fit one segment, whose columns can take half as much again if field numbers are large
  /// and values small.
  package static let maximumChangeBytes = 640 * 1024
  /// The most operations of one change.
  package static let maximumOperations = 10_000
  /// The most changes of one segment.
  package static let maximumSegmentChanges = 10_000
  /// The longest body of one segment before compression and sealing.
  package static let maximumSegmentBytes = 1024 * 1024
  /// The most operations and event fields of one segment: more than any one change can hold, but
  /// few enough that a short run-length column cannot demand much memory.
  package static let maximumSegmentItems = 400_000
  /// The most authors of one zone.
  package static let maximumAuthors = 4_000
  /// The most incarnations of all devices of one person, so that no person can use up all authors
  /// alone.
  package static let maximumLives = 256
  /// The most incarnations of a group beyond the persons' own limits: incarnations that others have
  /// seen.
  package static let maximumCitedLives = 2_000
  /// The most devices that one person brings into a group, by recovery words and links for further
  /// devices.
  package static let maximumDevices = 64
  /// The places of a person beyond ``maximumDevices`` and ``maximumLives``.
  ///
  /// Only recoveries that revoke the person's other devices take them, so that whoever used the
  /// words up in another way keeps nobody out.
  package static let maximumSpareDevices = 16
  /// The most incarnations that come by links for newcomers in one batch.
  package static let maximumNewcomerLives = 1_000
  /// The most fork points that may end one log of records.
  ///
  /// A log with more fork points ends before its first change, so that nobody can make others prove
  /// forks endlessly.
  package static let maximumForkEnds = 8
  /// The most fields of one event.
  package static let maximumEventFields = 64
  /// The most fields of one record: as many as there are field numbers.
  ///
  /// A merge cannot refuse one field and accept another without depending on the order of arrival.
  package static let maximumRecordFields = 65_536
  /// The most records or events in one block of a snapshot.
  package static let maximumBlockRecords = 2_000
  /// The weight at which a block of a snapshot ends, so that every block fits in memory.
  package static let fullBlockWeight = 1024 * 1024
  /// The most items that a decoder allocates memory for before it has read them.
  static let maximumReservation = 1_024
}
