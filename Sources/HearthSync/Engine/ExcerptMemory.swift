import HearthCRDT

/// A cache of excerpts of recently examined segments, by digest.
///
/// A segment never changes, so an excerpt stays valid even if its transaction is rolled back. The
/// cache has two generations: it drops excerpts that were not requested while one generation
/// filled.
final class ExcerptMemory {
  /// The number of hashes in one generation; with the news of their changes, a few megabytes at
  /// most.
  static let maximumHashes = 64 * 1024

  /// Where logs stood in the zones' base snapshots, with the first bytes of each snapshot.
  ///
  /// Those bytes are a header with a nonce, so no two snapshots start alike.
  private var bases: [ZoneID: (start: [UInt8], heads: [LogHead])] = [:]
  private var young: [Identifier: LogExcerpt] = [:]
  private var old: [Identifier: LogExcerpt] = [:]
  private var count = 0

  /// The number of initial bytes that identify a snapshot.
  static let baseStartBytes = 256

  /// Where logs stood in the base snapshot with these initial bytes, read unless cached.
  func heads(
    ofBaseOf zone: ZoneID, beginning start: [UInt8], _ read: () throws -> [LogHead]
  ) rethrows -> [LogHead] {
    if let known = bases[zone], known.start == start { return known.heads }
    let heads = try read()
    bases[zone] = (start, heads)
    return heads
  }

  /// Caches the excerpt of a short segment in advance, because the next author most often cites it.
  func keep(_ excerpt: @autoclosure () -> LogExcerpt, of digest: Identifier, length: Int) {
    guard length <= ExcerptMemory.keptLength else { return }
    _ = self.excerpt(of: digest, excerpt)
  }

  /// The longest segment, in changes, that is cached in advance.
  private static let keptLength = 256

  /// The excerpt of a segment, made unless cached.
  func excerpt(of digest: Identifier, _ make: () throws -> LogExcerpt) rethrows -> LogExcerpt {
    if let known = young[digest] { return known }
    let excerpt = try old[digest] ?? make()
    if count + excerpt.hashes.count > ExcerptMemory.maximumHashes {
      (old, young, count) = (young, [:], 0)
    }
    young[digest] = excerpt
    count += excerpt.hashes.count
    return excerpt
  }
}

extension ExcerptMemory {
  /// The excerpt of a segment that may be unreadable; an unreadable one is not cached.
  func excerptIfReadable(
    of digest: Identifier, _ open: () throws -> OpenedSegment?
  ) throws -> LogExcerpt? {
    do {
      return try excerpt(of: digest) {
        guard let segment = try open() else { throw Unreadable() }
        return LogExcerpt(segment)
      }
    } catch is Unreadable {
      return nil
    }
  }

  private struct Unreadable: Error {}
}
