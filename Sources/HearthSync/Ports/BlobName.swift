import HearthCRDT

/// The name of a sealed blob that is not a segment: an invitation bundle, or a chunk of a snapshot
/// or attachment.
package struct BlobName: Hashable, Comparable, Sendable {
  /// The kind of a blob.
  package enum Kind: String, Sendable, CaseIterable {
    /// A sealed invitation bundle; `scope` is its rendezvous id and `name` is zero.
    case capsule
    /// A chunk of a snapshot; `scope` is the zone's tag and `name` the digest of the bytes.
    case snapshot
    /// A chunk of an attachment; `scope` is the zone's tag and `digest` all of its name.
    case attachment

    /// Whether the digest of the bytes is a part of the name, so that they never change.
    package var hasDigest: Bool { self != .capsule }
  }

  /// The kind of the blob.
  package let kind: Kind
  /// The rendezvous id or zone tag that the blob belongs to.
  package let scope: Identifier
  /// The snapshot that the chunk belongs to; zero for anything else.
  package let group: Identifier
  /// The chunk's index, from 0.
  package let index: Int
  /// The number of chunks, at least 1.
  package let count: Int
  /// BLAKE2b-128 of the sealed bytes; zero for an invitation bundle, which may be replaced.
  package let digest: Identifier

  package init(
    kind: Kind, scope: Identifier, group: Identifier = .zero, index: Int = 0, count: Int = 1,
    digest: Identifier = .zero
  ) {
    self.kind = kind
    self.scope = scope
    self.group = group
    self.index = index
    self.count = count
    self.digest = digest
  }

  package static func < (left: BlobName, right: BlobName) -> Bool {
    if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
    if left.scope != right.scope { return left.scope < right.scope }
    if left.group != right.group { return left.group < right.group }
    if left.index != right.index { return left.index < right.index }
    return left.digest < right.digest
  }
}
