import Foundation
import HearthStore
import HearthTransport

/// The file of public catalogues, which is opened when it is first used.
///
/// The node's actor alone uses this.
final class CatalogueFile {
  private let path: String
  private var open: CatalogueStore?

  init(path: String) {
    self.path = path
  }

  /// Returns the catalogues in the file.
  ///
  /// - Throws: `StoreError`.
  func store() throws -> CatalogueStore {
    if let open { return open }
    if !FileManager.default.fileExists(atPath: path) {
      // SQLite gives its files the mode of this one.
      try DurableFile.write([], to: path, mode: 0o600)
    }
    let opened = try CatalogueStore(path: path)
    open = opened
    return opened
  }

  /// Whether any catalogue was ever stored here.
  var exists: Bool { open != nil || FileManager.default.fileExists(atPath: path) }

  /// Closes the file if it is open.
  func close() throws {
    try open?.close()
    open = nil
  }
}
