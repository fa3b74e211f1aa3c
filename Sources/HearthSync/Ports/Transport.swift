import HearthCRDT

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
