import HearthCRDT
import HearthSync

/// A shared folder whose files are read and written on a thread of their own.
///
/// A network share or a disk that spins up answers late or never, and no call of the system can be
/// ended from outside. So a call is given up after a time: its thread stays behind until the system
/// answers, and until then every other call is refused at once.
package final class BackgroundFolder: Transport, Sendable {
  /// How long a call to a folder may take: 30 seconds.
  package static let deadlineMilliseconds = 30_000

  private let folder: FolderTransport
  private let thread: FolderThread
  private let deadlineMilliseconds: Int

  package init(
    _ folder: FolderTransport, on thread: FolderThread,
    deadlineMilliseconds: Int = BackgroundFolder.deadlineMilliseconds
  ) {
    self.folder = folder
    self.thread = thread
    self.deadlineMilliseconds = deadlineMilliseconds
  }

  package var canDecay: Bool { folder.canDecay }

  package func place(of name: SegmentName) -> String { folder.place(of: name) }

  package func list(zoneTag: Identifier) async throws -> TransportListing {
    try await run { try $0.list(zoneTag: zoneTag) }
  }

  package func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing {
    try await run { try $0.list(zoneTag: zoneTag, preferring: preference) }
  }

  package func fetch(_ name: SegmentName) async throws -> [UInt8] {
    try await run { try $0.fetch(name) }
  }

  package func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await run { try $0.publish(name, bytes) }
  }

  package func remove(_ name: SegmentName) async throws {
    try await run { try $0.remove(name) }
  }

  package func remove(_ names: [SegmentName]) async throws {
    for name in names { try await remove(name) }
  }

  package func fetch(_ name: BlobName) async throws -> [UInt8]? {
    try await run { try $0.fetch(name) }
  }

  package func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    try await run { try $0.publish(name, bytes) }
  }

  package func remove(_ name: BlobName) async throws {
    try await run { try $0.remove(name) }
  }

  // MARK: One call

  private func run<Result: Sendable>(
    _ body: @escaping @Sendable (FolderTransport) throws -> Result
  ) async throws -> Result {
    let deadline = FolderThread.Deadline(milliseconds: deadlineMilliseconds, error: late)
    return try await thread.run(within: deadline) { [folder] in try body(folder) }
  }

  private var late: TransportError {
    TransportError(
      .inputOutput, place: folder.path,
      message: "the folder has not answered for \(deadlineMilliseconds / 1_000) seconds",
      remedy: "check that its disk or network share is there, then sync again")
  }
}
