import HearthCRDT
import HearthCrypto
import HearthMembership

/// A record of a snapshot.
typealias SnapshotRecord = (key: RecordKey, record: StoredRecord)

/// Where each author's log stands in a snapshot, and the changes before which logs end.
struct SnapshotEnds: Sendable {
  let heads: [LogHead]
  let heldBack: [Dot]
}

/// A snapshot whose content was verified, of which a turn takes a slice at a time.
struct OpenedSnapshot: Sendable {
  /// The digest of the content.
  let digest: [UInt8]
  private var reader: SnapshotReader
  /// The records of the last block, and how many of them were taken.
  private var block: [SnapshotRecord] = []
  private var taken = 0

  /// The most records of a slice, and the weight of one: a turn writes them in a few milliseconds.
  static var sliceRecords: Int {
    #if HEARTH_SIMULATION
      16
    #else
      256
    #endif
  }
  private static let sliceWeight = 64 * 1024

  /// Verifies and opens the chunks of a snapshot, in order.
  init(_ chunks: [[UInt8]], by opening: SnapshotOpening) throws {
    let (stream, digest) = try opening.stream(of: chunks)
    self.digest = digest
    reader = try SnapshotReader(stream, zone: opening.zoneID)
  }

  var ends: SnapshotEnds { SnapshotEnds(heads: reader.heads, heldBack: reader.heldBack) }

  /// Every author that the snapshot names.
  var authors: [Author] { reader.authors }

  /// The next records, at least one; nil after the last.
  mutating func nextSlice() throws -> [SnapshotRecord]? {
    while taken == block.count {
      guard let next = try reader.nextBlock() else { return nil }
      (block, taken) = (next, 0)
    }
    var (end, weight) = (taken, 0)
    while end < block.count, end - taken < OpenedSnapshot.sliceRecords,
      weight < OpenedSnapshot.sliceWeight
    {
      weight += block[end].record.blockWeight
      end += 1
    }
    defer { taken = end }
    return Array(block[taken..<end])
  }
}

extension StoredRecord {
  fileprivate var blockWeight: Int {
    switch self {
    case .record(let state): state.blockWeight
    case .event(let event): event.blockWeight
    }
  }
}
