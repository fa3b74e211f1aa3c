import HearthCRDT

/// The bounds of public catalogues.
///
/// Publishers, relays and readers refuse anything beyond them.
package enum PublicLimits {
  /// The version of the formats.
  package static let formatVersion: UInt8 = 1
  /// The longest name of a catalogue, and of a type of records.
  package static let maximumNameBytes = 32
  /// The longest id of a record: twice the length of ids in use.
  package static let maximumIDBytes = 64
  /// The longest name of a field.
  package static let maximumFieldNameBytes = 32
  /// The most fields of one record.
  ///
  /// Each value of a field with several values counts.
  package static let maximumFields = 48
  /// The longest text in a field: a word or two.
  ///
  /// Text to read belongs in the body.
  package static let maximumFieldTextBytes = 64
  /// The longest body of a record.
  package static let maximumBodyBytes = 16 << 10
  /// The longest signed record: a full body, full fields and the bytes around them.
  package static let maximumRecordBytes = 24 << 10
  /// The longest signed head.
  package static let maximumHeadBytes = 256
  /// The most records of a catalogue.
  package static let maximumRecords = 10_000
  /// The most bytes of all records of a catalogue.
  package static let maximumCatalogueBytes = 32 << 20
  /// The longest pack: a full catalogue with the lengths around its records.
  package static let maximumPackBytes = maximumCatalogueBytes + (64 << 10)
  /// The most conditions of a query, so that it fits the short frames of strangers.
  package static let maximumConditions = 8
  /// The most records of one answer.
  package static let maximumAnswerRecords = 100
  /// The bytes of records at which an answer ends.
  package static let maximumAnswerBytes = 256 << 10
  /// The most records that a relay examines for one answer.
  package static let maximumCandidates = 2_000
  /// The most entries of one put into a catalogue: a relay checks a signature for each.
  package static let maximumBatchItems = 64
  /// The greatest version, and the greatest time.
  package static let maximumNumber = RelayLimits.maximumPosition

  /// Reads the version of the format; throws unless it is ``formatVersion``.
  static func checkFormatVersion(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    guard try reader.byte("format version") == formatVersion else {
      throw CodecError(.unknown, "format version", offset: start)
    }
  }
}
