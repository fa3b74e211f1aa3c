import HearthCRDT

/// A sealed snapshot with the names of its chunks.
struct NamedSnapshot {
  let group: Identifier
  let chunks: [(name: BlobName, bytes: [UInt8])]
  /// What is stored about it once it is published.
  var known: KnownSnapshot?
}
