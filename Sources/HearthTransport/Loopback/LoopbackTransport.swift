import HearthCRDT
import HearthSync
import Synchronization

/// A transport in memory, for tests and simulation.
///
/// It behaves like a faultless shared folder.
///
/// Nodes that share one instance share its content. All methods may be called from any thread.
package final class LoopbackTransport: Transport, Sendable {
  private struct Content {
    var segments: [SegmentName: [UInt8]] = [:]
    var blobs: [BlobName: [UInt8]] = [:]
  }

  private let digest: @Sendable ([UInt8]) -> Identifier
  private let content = Mutex(Content())

  /// Creates an empty transport.
  ///
  /// - Parameter digest: BLAKE2b-128 of sealed bytes.
  package init(digest: @escaping @Sendable ([UInt8]) -> Identifier) {
    self.digest = digest
  }

  /// The digest: there is no other place in memory.
  package func place(of name: SegmentName) -> String { "\(name.digest)" }

  /// Lists a zone's contents, sorted; linear in everything held.
  package func list(zoneTag: Identifier) -> TransportListing {
    content.withLock { content in
      let blobs = content.blobs.keys.filter { $0.scope == zoneTag }.sorted()
      return TransportListing(
        segments: content.segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
        snapshots: blobs.filter { $0.kind == .snapshot },
        attachments: blobs.filter { $0.kind == .attachment })
    }
  }

  /// Reads a segment.
  ///
  /// - Throws: `TransportError.Code.notFound`.
  package func fetch(_ name: SegmentName) throws -> [UInt8] {
    guard let bytes = content.withLock({ $0.segments[name] }) else {
      throw FileFault.absent("\(name.digest)")
    }
    return bytes
  }

  /// Reads a bundle or chunk; nil if there is none.
  package func fetch(_ name: BlobName) -> [UInt8]? {
    content.withLock { $0.blobs[name] }
  }

  /// Stores a segment; storing the same one again does nothing.
  ///
  /// - Throws: `TransportError.Code.invalidName` if the bytes do not have the name's digest.
  package func publish(_ name: SegmentName, _ bytes: [UInt8]) throws {
    try check(bytes, digest: name.digest, hasName: FolderLayout.path(of: name) != nil)
    content.withLock { $0.segments[name] = bytes }
  }

  /// Stores a bundle or chunk, replacing one of the same name.
  ///
  /// - Throws: `TransportError.Code.invalidName` if the bytes do not have the name's digest.
  package func publish(_ name: BlobName, _ bytes: [UInt8]) throws {
    try check(
      bytes, digest: name.kind.hasDigest ? name.digest : nil,
      hasName: FolderLayout.path(of: name) != nil)
    content.withLock { $0.blobs[name] = bytes }
  }

  /// Removes a segment; it need not exist.
  package func remove(_ name: SegmentName) {
    content.withLock { _ = $0.segments.removeValue(forKey: name) }
  }

  /// Removes a bundle or chunk; it need not exist.
  package func remove(_ name: BlobName) {
    content.withLock { _ = $0.blobs.removeValue(forKey: name) }
  }

  private func check(_ bytes: [UInt8], digest expected: Identifier?, hasName: Bool) throws {
    let limit = FolderBounds.standard.maximumFileBytes
    guard bytes.count <= limit else {
      throw FileFault.oversized("memory", size: Int64(bytes.count), limit: limit)
    }
    guard hasName, !bytes.isEmpty, expected == nil || digest(bytes) == expected else {
      throw TransportError(
        .invalidName, place: "memory", message: "a name that does not match these bytes",
        remedy: "report this as a fault of Hearth")
    }
  }
}
