import HearthCRDT

/// The progress of a long transfer, for display to the person who waits for it.
///
/// Counts start at zero when the round over one transport begins.
package struct TransferProgress: Equatable, Sendable {
  /// The direction of a transfer, seen from this node.
  package enum Direction: String, Sendable, CaseIterable {
    case receiving
    case giving
  }

  /// The transport's name for people: host and port of a relay, or a folder's path.
  package let place: String
  /// The direction.
  package let direction: Direction
  /// The number of segments and snapshot chunks that are transferred.
  package var files: Int
  /// The number of files expected so far; 0 if unknown.
  package var expectedFiles: Int
  /// The number of sealed bytes that are transferred.
  package var bytes: Int
  /// The number of bytes expected so far; 0 if unknown.
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

  /// The progress plus bytes in flight that do not yet complete a file.
  package func adding(bytes more: Int) -> TransferProgress {
    var progress = self
    progress.bytes += max(0, more)
    return progress
  }
}

/// Counts what a transport moves and decides when to report it.
///
/// The meter reports the beginning, every further ``stepBytes`` or ``stepFiles``, and the end of
/// what is expected. It counts without a clock, so equal transfers give equal reports. The display
/// decides how often to draw.
package struct TransferMeter: Sendable {
  /// The number of further bytes after which the meter reports.
  package static let stepBytes = 256 << 10
  /// The number of further files after which the meter reports, however small they are.
  package static let stepFiles = 32

  /// The progress of receiving.
  package private(set) var received: TransferProgress
  /// The progress of sending.
  package private(set) var given: TransferProgress
  private var toldReceived: (files: Int, bytes: Int) = (0, 0)
  private var toldGiven: (files: Int, bytes: Int) = (0, 0)

  package init(place: String) {
    received = TransferProgress(place: place, direction: .receiving)
    given = TransferProgress(place: place, direction: .giving)
  }

  /// Notes that files come next, in addition to the received files.
  ///
  /// Files that were expected before and did not come are no longer expected.
  ///
  /// - Parameter bytes: Their total size; nil if unknown, after which no total is reported.
  /// - Returns: The progress to report; nil if no file comes.
  package mutating func expect(files: Int, bytes: Int?) -> TransferProgress? {
    guard files > 0 else { return nil }
    let isKnown = received.files == 0 || received.expectedBytes > 0
    received.expectedFiles = received.files + files
    received.expectedBytes = bytes.flatMap { isKnown ? received.bytes + $0 : nil } ?? 0
    return received
  }

  /// Notes that a chunk of a snapshot comes next.
  ///
  /// The first chunk may be the only one that is read; the second chunk makes all others expected.
  ///
  /// - Parameter bytes: The size of the chunk; for the second chunk, the size of all chunks from it
  ///   on.
  package mutating func expect(_ chunk: BlobName, bytes: () -> Int?) -> TransferProgress? {
    guard chunk.kind == .snapshot else { return nil }
    switch chunk.index {
    case 0: return expect(files: 1, bytes: bytes())
    case 1: return expect(files: chunk.count - 1, bytes: bytes())
    default: return nil
    }
  }

  /// Counts received files.
  ///
  /// - Returns: The progress to report; nil if it is too soon.
  package mutating func receive(files: Int, bytes: Int) -> TransferProgress? {
    TransferMeter.count(files, bytes, in: &received, told: &toldReceived)
  }

  /// Counts stored files.
  ///
  /// - Returns: The progress to report; nil if it is too soon.
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

/// A listener for progress; nil reports the end of the round over a transport.
package typealias TransferListener = @Sendable (TransferProgress?) -> Void
