import HearthCRDT
import HearthCrypto
import HearthSync

/// A whole version of a catalogue, proven to be complete.
///
/// The head's signature covers a digest over all records, so an intermediary cannot omit, add or
/// change any. An instance can only be created by verifying or by signing a version.
package struct PublicCatalogue: Sendable, Equatable {
  /// The signed version.
  package let head: SignedPublicHead
  /// The records, in order of type and id.
  package let records: [SignedPublicRecord]

  /// Verifies a version from an intermediary.
  ///
  /// - Parameters:
  ///   - catalogue: the expected catalogue.
  ///   - head: a signed head.
  ///   - records: the records, in any order.
  /// - Throws: `SyncError` with `notAuthentic` or `catalogueIncomplete`; `tooLarge`.
  package init(
    of catalogue: CatalogueReference, head: SignedPublicHead, records: [SignedPublicRecord]
  ) throws {
    try head.verify(of: catalogue)
    let sorted = records.sorted { $0.record.path < $1.record.path }
    try PublicCatalogue.checkSizes(sorted)
    let root = PublicHead.root(
      of: sorted.map { ($0.record.path, $0.digest) }, in: catalogue.id)
    guard sorted.count == head.head.count, root == head.head.root else {
      throw SyncError(
        .catalogueIncomplete,
        "version \(head.head.version) is signed for \(head.head.count) records, but other records "
          + "(\(sorted.count)) came with it: somebody is publishing just now, or withholds "
          + "records")
    }
    self.head = head
    self.records = sorted
  }

  private init(signed head: SignedPublicHead, _ records: [SignedPublicRecord]) {
    self.head = head
    self.records = records
  }

  private static func checkSizes(_ sorted: [SignedPublicRecord]) throws {
    guard sorted.count <= PublicLimits.maximumRecords else {
      throw SyncError(
        .tooLarge, "a catalogue has at most \(PublicLimits.maximumRecords) records")
    }
    var byteCount = 0
    for record in sorted {
      byteCount += record.bytes.count
      guard record.bytes.count <= PublicLimits.maximumRecordBytes,
        byteCount <= PublicLimits.maximumCatalogueBytes
      else {
        throw SyncError(
          .tooLarge,
          "a record has at most \(PublicLimits.maximumRecordBytes) bytes, all records together "
            + "\(PublicLimits.maximumCatalogueBytes)")
      }
    }
    for (left, right) in zip(sorted, sorted.dropFirst())
    where left.record.path == right.record.path {
      throw SyncError(.catalogueIncomplete, "the record \(left.record.path) occurs twice")
    }
  }

  /// Creates the next version from the records on offer.
  ///
  /// Unchanged records keep their bytes.
  ///
  /// - Parameters:
  ///   - before: the version so far, if there is one.
  ///   - drafts: all records on offer; this function sets their revisions.
  ///   - leastVersion: the minimum number of the next version.
  ///   - publishedAt: milliseconds since 1970.
  /// - Returns: the version so far if nothing changed.
  /// - Throws: `SyncError.malformed` for a duplicate record, `tooLarge`.
  package static func next(
    after before: PublicCatalogue?, of catalogue: CatalogueReference, drafts: [PublicRecord],
    leastVersion: UInt64 = 1, publishedAt: UInt64, by publisher: PublisherIdentity
  ) throws -> PublicCatalogue {
    let last = before?.head.head.version ?? 0
    guard last < PublicLimits.maximumNumber else {
      throw SyncError(.tooLarge, "the catalogue has no version numbers left")
    }
    let version = max(last + 1, min(leastVersion, PublicLimits.maximumNumber))
    var present: [PublicKeyPath: SignedPublicRecord] = [:]
    for record in before?.records ?? [] { present[record.record.path] = record }
    let id = catalogue.id
    let records = try drafts.sorted { $0.path < $1.path }.map { draft in
      if let old = present[draft.path], old.record.hasContent(of: draft) { return old }
      return SignedPublicRecord(try draft.with(revision: version), of: id, by: publisher)
    }
    for (left, right) in zip(records, records.dropFirst())
    where left.record.path == right.record.path {
      throw SyncError(.malformed, "\(left.record.path) occurs twice: give one another id")
    }
    if let before, before.records == records { return before }
    try checkSizes(records)
    let head = PublicHead(
      of: catalogue, version: version, previous: last, count: records.count,
      root: PublicHead.root(of: records.map { ($0.record.path, $0.digest) }, in: id),
      publishedAt: publishedAt)
    return PublicCatalogue(signed: SignedPublicHead(head, by: publisher), records)
  }
}

extension PublicHead {
  /// Whether this version replaces one that was seen before.
  ///
  /// - Returns: false for the same version.
  /// - Throws: `SyncError` with `catalogueOlder` or `catalogueForked`.
  package func replaces(_ kept: PublicHead?) throws -> Bool {
    guard let kept else { return true }
    if version < kept.version {
      throw SyncError(
        .catalogueOlder,
        "version \(version) was offered, but version \(kept.version) is here: somebody publishes "
          + "an old copy")
    }
    if version > kept.version { return true }
    guard root == kept.root, count == kept.count else {
      throw SyncError(
        .catalogueForked,
        "two catalogues have the number \(version): the publisher signed both; ask them which "
          + "one is meant")
    }
    return false
  }
}
