import HearthCRDT

/// What a node knows of one chunk of an attachment.
package struct KnownChunk: Equatable, Sendable {
  package let digest: Identifier
  /// The number of its bytes here; 0 if they are not here.
  package let byteCount: Int
  /// When this node first found that no record needs the chunk; nil if one does, or if nobody has
  /// looked yet.
  package let releasedMilliseconds: UInt64?

  package init(digest: Identifier, byteCount: Int, releasedMilliseconds: UInt64?) {
    self.digest = digest
    self.byteCount = byteCount
    self.releasedMilliseconds = releasedMilliseconds
  }

  /// How long a chunk that no record needs is kept: 30 days, in which its record can be restored.
  package static let keptMilliseconds: UInt64 = 30 * 24 * 60 * 60 * 1_000
  /// How long this node then removes it where it finds it, before it forgets the chunk: 60 days.
  package static let removingMilliseconds: UInt64 = 60 * 24 * 60 * 60 * 1_000

  /// Whether the chunk is here, and a record may need it.
  package var isWanted: Bool { byteCount > 0 && releasedMilliseconds == nil }

  /// Whether the chunk is gone from every transport that this node has used lately.
  package func isForgotten(at nowMilliseconds: UInt64) -> Bool {
    releasedMilliseconds.map {
      $0 + Self.keptMilliseconds + Self.removingMilliseconds <= nowMilliseconds
    } ?? false
  }

  /// Whether nobody needs the chunk any more.
  package func isOver(at nowMilliseconds: UInt64) -> Bool {
    releasedMilliseconds.map { $0 + Self.keptMilliseconds <= nowMilliseconds } ?? false
  }
}

/// One sealed chunk of an attachment.
package struct SealedChunk: Sendable {
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  package let bytes: [UInt8]

  package init(digest: Identifier, bytes: [UInt8]) {
    self.digest = digest
    self.bytes = bytes
  }
}
