import HearthCRDT

/// How far a long transfer has got, for whoever waits for it.
///
/// Counts are of what was moved since the round over one transport began.
package struct TransferProgress: Equatable, Sendable {
  /// Which way the bytes go, seen from this node.
  package enum Direction: String, Sendable, CaseIterable {
    case receiving
    case giving
  }

  /// The transport, as people call it: host and port of a relay, a folder's path.
  package let place: String
  /// Which way.
  package let direction: Direction
  /// Segments and chunks of snapshots that are through.
  package var files: Int
  /// How many there will be as far as is known by now; 0 where that is not known.
  package var expectedFiles: Int
  /// Their sealed bytes.
  package var bytes: Int
  /// How many bytes there will be as far as is known by now; 0 where that is not known.
  package var expectedBytes: Int

  package init(
    place: String, direction: Direction, files: Int = 0, expectedFiles: Int = 0, bytes: Int = 0,
    expectedBytes: Int = 0
  ) {
    self.place = place
    self.direction = direction
    self.files = files
    self.expectedFiles = expectedFiles
    self.bytes = bytes
    self.expectedBytes = expectedBytes
  }

  /// The same with bytes more that are on their way and of no whole file yet.
  package func adding(bytes more: Int) -> TransferProgress {
    var progress = self
    progress.bytes += max(0, more)
    return progress
  }
}

/// Counts what a transport moves and says when that is worth telling.
///
/// Told is the begin, every further ``stepBytes`` or ``stepFiles``, and the end of what is
/// expected: by count and without a clock, so equal transfers tell the same. Who shows it decides
/// how often to draw.
package struct TransferMeter: Sendable {
  /// After how many bytes more it is told.
  package static let stepBytes = 256 << 10
  /// After how many files more it is told, however small they are.
  package static let stepFiles = 32

  /// What came so far.
  package private(set) var received: TransferProgress
  /// What went so far.
  package private(set) var given: TransferProgress
  private var toldReceived: (files: Int, bytes: Int) = (0, 0)
  private var toldGiven: (files: Int, bytes: Int) = (0, 0)

  package init(place: String) {
    received = TransferProgress(place: place, direction: .receiving)
    given = TransferProgress(place: place, direction: .giving)
  }

  /// Says that files come next, beside those that came.
  ///
  /// What was expected before and did not come is expected no more.
  ///
  /// - Parameter bytes: how long they are together; nil where that is not known, and then no sum
  ///   is told from then on.
  /// - Returns: what to tell; nil where nothing comes.
  package mutating func expect(files: Int, bytes: Int?) -> TransferProgress? {
    guard files > 0 else { return nil }
    let isKnown = received.files == 0 || received.expectedBytes > 0
    received.expectedFiles = received.files + files
    received.expectedBytes = bytes.flatMap { isKnown ? received.bytes + $0 : nil } ?? 0
    return received
  }

  /// Says that a chunk of a snapshot comes next.
  ///
  /// The first chunk may be all that is looked at; with the second all others are expected.
  ///
  /// - Parameter bytes: how long the chunk and, from the second on, those after it are.
  package mutating func expect(_ chunk: BlobName, bytes: () -> Int?) -> TransferProgress? {
    guard chunk.kind == .snapshot else { return nil }
    switch chunk.index {
    case 0: return expect(files: 1, bytes: bytes())
    case 1: return expect(files: chunk.count - 1, bytes: bytes())
    default: return nil
    }
  }

  /// Counts files that came.
  ///
  /// - Returns: what to tell; nil where it is too soon.
  package mutating func receive(files: Int, bytes: Int) -> TransferProgress? {
    TransferMeter.count(files, bytes, in: &received, told: &toldReceived)
  }

  /// Counts files that were stored.
  ///
  /// - Returns: what to tell; nil where it is too soon.
  package mutating func give(files: Int, bytes: Int) -> TransferProgress? {
    TransferMeter.count(files, bytes, in: &given, told: &toldGiven)
  }

  private static func count(
    _ files: Int, _ bytes: Int, in progress: inout TransferProgress,
    told: inout (files: Int, bytes: Int)
  ) -> TransferProgress? {
    progress.files += files
    progress.bytes += bytes
    let isEnd = progress.files == progress.expectedFiles
    guard
      isEnd || progress.bytes - told.bytes >= stepBytes || progress.files - told.files >= stepFiles
    else { return nil }
    told = (progress.files, progress.bytes)
    return progress
  }
}

/// Who is told of progress; nil says that the round over a transport is over.
package typealias TransferListener = @Sendable (TransferProgress?) -> Void
