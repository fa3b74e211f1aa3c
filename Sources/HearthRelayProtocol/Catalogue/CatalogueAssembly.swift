import HearthCRDT
import HearthCrypto
import HearthSync

/// A catalogue assembled from the entries of a relay's log, until its head proves it complete.
package struct CatalogueAssembly: Sendable {
  private var head: SignedPublicHead?
  private var records: [PublicKeyPath: SignedPublicRecord] = [:]
  private var byteCount = 0

  /// Begins with a copy, or with nothing.
  package init(from present: PublicCatalogue? = nil) {
    head = present?.head
    for record in present?.records ?? [] { records[record.record.path] = record }
  }

  /// Takes the next entries of the log.
  ///
  /// Entries that are no part of a catalogue are skipped.
  ///
  /// - Throws: `SyncError.malformed` for unreadable entries, `tooLarge` for more than a catalogue
  ///   can have.
  package mutating func take(_ entries: [RelayEntry]) throws {
    for entry in entries {
      byteCount += entry.blob.count
      guard byteCount <= PublicLimits.maximumPackBytes else { throw CatalogueAssembly.tooLarge }
      do {
        try take(entry)
      } catch let error as CodecError {
        throw SyncError(
          .malformed, "an entry of the catalogue cannot be read (\(error))", cause: error)
      }
      guard records.count <= PublicLimits.maximumRecords else { throw CatalogueAssembly.tooLarge }
    }
  }

  private mutating func take(_ entry: RelayEntry) throws {
    let header = entry.header
    if header.name == PublicName.head {
      if header.isLive { head = try SignedPublicHead(decoding: entry.blob) }
      return
    }
    guard let path = PublicEntry.path(ofName: header.name) else { return }
    if header.kind == .remove {
      records[path] = nil
    } else if header.isLive {
      let record = try SignedPublicRecord(decoding: entry.blob)
      guard record.record.path == path else {
        throw SyncError(.malformed, "the entry \(path) holds \(record.record.path)")
      }
      records[path] = record
    }
    // A replaced entry follows later with a new blob, or was removed later.
  }

  private static let tooLarge = SyncError(
    .tooLarge, "the catalogue is larger than it may be: its keeper does not check it")

  /// Returns the assembled version after verifying it.
  ///
  /// - Parameter greatest: the greatest version seen so far. An older one is refused.
  /// - Throws: `SyncError` with `notAuthentic`, `catalogueOlder`, `catalogueForked` or
  ///   `catalogueIncomplete`.
  package func whole(
    of catalogue: CatalogueReference, greatest: PublicHead?
  ) throws -> PublicCatalogue {
    guard let head else {
      throw SyncError(
        .catalogueIncomplete, "the catalogue has no signed version yet: try again later")
    }
    try head.verify(of: catalogue)
    // Check this first, because an old copy lacks records as well.
    _ = try head.head.replaces(greatest)
    return try PublicCatalogue(
      of: catalogue, head: head,
      records: records.keys.sorted().compactMap { records[$0] })
  }
}
