import HearthCRDT

/// The name of one sealed segment, as every transport lists it: nothing in it tells who or what.
///
/// Tags are keyed hashes that only members can compute; the digest is that of the sealed bytes, so
/// a file that was cut, damaged or exchanged is known before it is opened.
package struct SegmentName: Hashable, Comparable, Sendable {
  /// The zone's opaque tag.
  package let zoneTag: Identifier
  /// The author's opaque tag within the zone.
  package let authorTag: Identifier
  /// The author's incarnation.
  package let incarnation: UInt64
  /// The first change in the segment.
  package let first: UInt64
  /// The last change in the segment.
  package let last: UInt64
  /// BLAKE2b-128 of the sealed bytes.
  package let digest: Identifier

  package init(
    zoneTag: Identifier, authorTag: Identifier, incarnation: UInt64, first: UInt64, last: UInt64,
    digest: Identifier
  ) {
    self.zoneTag = zoneTag
    self.authorTag = authorTag
    self.incarnation = incarnation
    self.first = first
    self.last = last
    self.digest = digest
  }

  package static func < (left: SegmentName, right: SegmentName) -> Bool {
    if left.zoneTag != right.zoneTag { return left.zoneTag < right.zoneTag }
    if left.authorTag != right.authorTag { return left.authorTag < right.authorTag }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.first != right.first { return left.first < right.first }
    if left.last != right.last { return left.last < right.last }
    return left.digest < right.digest
  }
}

/// A sealed blob that is not a segment: an invitation's capsule, a chunk of a snapshot.
package struct BlobName: Hashable, Comparable, Sendable {
  /// What kind of blob it is.
  package enum Kind: String, Sendable, CaseIterable {
    /// An invitation's sealed capsule; `scope` is its rendezvous id and `name` is zero.
    case capsule
    /// A chunk of a snapshot; `scope` is the zone's tag and `name` the digest of the bytes.
    case snapshot
  }

  /// The kind.
  package let kind: Kind
  /// What the blob belongs to.
  package let scope: Identifier
  /// The snapshot the chunk is of; zero for a capsule.
  package let group: Identifier
  /// The chunk's place, from 0.
  package let index: Int
  /// How many chunks there are, at least 1.
  package let count: Int
  /// BLAKE2b-128 of the sealed bytes; zero for a capsule, which may be replaced.
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

/// Something a transport holds that cannot be used, in words for a person.
package struct TransportProblem: Hashable, Sendable {
  /// Where it is: a path below the folder, or a blob's name.
  package let place: String
  /// What is wrong with it.
  package let fault: String
  /// What a person can do.
  package let remedy: String
  /// Whether data may be missing because of it; false for rubbish that is merely passed over.
  package let hidesData: Bool
  /// Whether the transport shows an older state of itself than it had shown.
  package let isSetBack: Bool

  package init(
    place: String, fault: String, remedy: String, hidesData: Bool, isSetBack: Bool = false
  ) {
    self.isSetBack = isSetBack
    self.place = place
    self.fault = fault
    self.remedy = remedy
    self.hidesData = hidesData
  }
}

/// What a transport holds of one zone.
package struct TransportListing: Sendable {
  /// The segments, sorted, each once.
  package var segments: [SegmentName]
  /// The snapshot chunks, sorted, each once.
  package var snapshots: [BlobName]
  /// What could not be used, sorted by place.
  package var problems: [TransportProblem]

  package init(
    segments: [SegmentName] = [], snapshots: [BlobName] = [], problems: [TransportProblem] = []
  ) {
    self.segments = segments
    self.snapshots = snapshots
    self.problems = problems
  }
}

/// The port through which a node moves opaque bytes.
///
/// A transport keeps what it is given under its name and can list it. It need not be ordered,
/// complete or honest: everything that matters is verified by the engine.
package protocol Transport {
  /// Whether what it stores lies open to failing disks and other programs, with nobody who notices.
  var canDecay: Bool { get }
  /// Whether whoever does not manage it takes away only what it stored itself.
  var keepsAuthorsApart: Bool { get }
  /// Where a person finds a segment: a path below the folder, or the like.
  func place(of name: SegmentName) -> String
  /// Lists what the transport holds of a zone.
  func list(zoneTag: Identifier) throws -> TransportListing
  /// Lists what the transport holds of a zone; where it holds more authors than it can list, those
  /// of the given tags come first.
  func list(zoneTag: Identifier, preferring tags: Set<Identifier>) throws -> TransportListing
  /// Reads a segment, verified against its name's digest.
  func fetch(_ name: SegmentName) throws -> [UInt8]
  /// Stores a segment durably; storing the same one again does nothing.
  func publish(_ name: SegmentName, _ bytes: [UInt8]) throws
  /// Removes a segment that larger ones have replaced; it need not exist.
  func remove(_ name: SegmentName) throws
  /// Removes several such segments, in few round trips where the transport can.
  func remove(_ names: [SegmentName]) throws
  /// Reads a capsule or chunk; nil if there is none.
  func fetch(_ name: BlobName) throws -> [UInt8]?
  /// Stores a capsule or chunk durably, replacing one of the same name.
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws
  /// Removes a capsule or chunk; it need not exist.
  func remove(_ name: BlobName) throws
  /// Says which segments will be fetched next, in that order, so that a transport far away can
  /// bring several at once; a hint only.
  func expect(_ names: [SegmentName])
  /// Stores several segments durably, in few round trips where the transport can.
  func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) throws
}

extension Transport {
  /// A transport that can list every author prefers nobody.
  package func list(
    zoneTag: Identifier, preferring tags: Set<Identifier>
  ) throws -> TransportListing {
    try list(zoneTag: zoneTag)
  }

  /// Lists what the transport holds of a zone, the devices that the node knows first.
  package func list(of zone: ZoneState) throws -> TransportListing {
    try list(zoneTag: zone.tag, preferring: Set(zone.deviceByTag.keys))
  }

  package var canDecay: Bool { false }

  package var keepsAuthorsApart: Bool { false }

  package func expect(_ names: [SegmentName]) {}

  package func remove(_ names: [SegmentName]) throws {
    for name in names { try remove(name) }
  }

  package func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) throws {
    for segment in segments { try publish(segment.name, segment.bytes) }
  }
}
