import Foundation
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// A catalogue's file in a folder, read and written on a thread of its own.
///
/// A folder may be a network share that never answers. Whoever waits for it ends all the same when
/// the task is cancelled, as it is when the place has had its time. A household that uses the
/// folder too has another thread, so that no exchange waits for a catalogue.
struct CatalogueFolder: Sendable {
  /// The folder's path.
  let path: String
  /// The catalogue.
  let catalogue: CatalogueReference

  /// The thread on which the files of catalogues in a folder are read and written.
  static func thread(of path: String) -> FolderThread { .shared(for: "catalogues in \(path)") }

  private var name: String { PublicPack.fileName(of: catalogue.id) }
  private var file: String { URL(fileURLWithPath: path).appendingPathComponent(name).path }

  /// Reads the version in the folder, complete and verified.
  ///
  /// - Parameter greatest: a version below which the result may not fall.
  /// - Throws: `HearthError`; `notFound` if there is none; `SyncError`; `CancellationError`.
  func read(_ greatest: PublicHead?) async throws -> PublicCatalogue {
    try await CatalogueFolder.thread(of: path).run { try readHere(greatest) }
  }

  private func readHere(_ greatest: PublicHead?) throws -> PublicCatalogue {
    guard let bytes = try DurableFile.read(file, atMost: PublicLimits.maximumPackBytes) else {
      throw HearthError(
        .notFound, "\(path) does not hold the catalogue \(catalogue.name): there is no \(name)")
    }
    let pack: PublicPack
    do {
      pack = try PublicPack(decoding: bytes)
    } catch {
      throw SyncError(
        .malformed, "\(file) is damaged or not a catalogue (\(error)): the local copy stays",
        cause: error)
    }
    try pack.head.verify(of: catalogue)
    _ = try pack.head.head.replaces(greatest)
    return try PublicCatalogue(of: catalogue, head: pack.head, records: pack.records)
  }

  /// Writes a version to the folder, unless it is there already.
  ///
  /// - Parameter check: throws if the version in the folder must not be replaced; nothing is
  ///   written then.
  /// - Returns: whether it was written.
  /// - Throws: `HearthError`; what the check throws; `CancellationError`.
  func write(
    _ version: PublicCatalogue,
    checking check: @escaping @Sendable (SignedPublicHead) throws -> Void
  ) async throws -> Bool {
    try await CatalogueFolder.thread(of: path).run {
      let bytes = PublicPack(version).encoded
      // What cannot be read, or is damaged, is written again.
      if let present = try? DurableFile.read(file, atMost: PublicLimits.maximumPackBytes) {
        guard present != bytes else { return false }
        if let pack = try? PublicPack(decoding: present) { try check(pack.head) }
      }
      try DurableFile.write(bytes, to: file, mode: 0o644)
      return true
    }
  }
}
