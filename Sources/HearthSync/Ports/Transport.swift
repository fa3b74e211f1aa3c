import HearthCRDT

/// An unusable item on a transport, described in words for a person.
package struct TransportProblem: Hashable, Sendable {
  /// The location of the item: a path below the folder, or a blob's name.
  package let place: String
  /// What is wrong with the item.
  package let fault: String
  /// What a person can do.
  package let remedy: String
  /// Whether data may be missing because of the item; false for junk that is merely skipped.
  package let hidesData: Bool
  /// Whether the transport shows an older state of itself than before.
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

/// The contents of a transport for one zone.
package struct TransportListing: Sendable {
  /// The segments, sorted and without duplicates.
  package var segments: [SegmentName]
  /// The snapshot chunks, sorted and without duplicates.
  package var snapshots: [BlobName]
  /// The chunks of attachments, sorted and without duplicates.
  package var attachments: [BlobName]
  /// The unusable items, sorted by place.
  package var problems: [TransportProblem]

  package init(
    segments: [SegmentName] = [], snapshots: [BlobName] = [], attachments: [BlobName] = [],
    problems: [TransportProblem] = []
  ) {
    self.segments = segments
    self.snapshots = snapshots
    self.attachments = attachments
    self.problems = problems
  }
}

/// The port through which a node moves opaque bytes.
///
/// A transport keeps what it is given under its name and can list it. It need not be ordered,
/// complete or honest: everything that matters is verified by the engine. Its functions may wait
/// for a disk or a network. They end by themselves: each has a deadline of its own, and a cancelled
/// task ends it early.
package protocol Transport {
  /// Whether stored bytes are exposed to failing disks and other programs without detection.
  var canDecay: Bool { get }
  /// Whether a party who does not manage the transport can remove only what that party stored.
  var keepsAuthorsApart: Bool { get }
  /// Where a person finds a segment, such as a path below the folder.
  func place(of name: SegmentName) -> String
  /// Lists the contents of the transport for a zone.
  func list(zoneTag: Identifier) async throws -> TransportListing
  /// Lists the contents of the transport for a zone, with some logs first.
  ///
  /// The order matters if the transport has more logs than it can list.
  func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing
  /// Reads a segment and verifies it against its name's digest.
  func fetch(_ name: SegmentName) async throws -> [UInt8]
  /// Stores a segment durably; storing the same segment again has no effect.
  func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws
  /// Removes a segment that larger ones have replaced; it need not exist.
  func remove(_ name: SegmentName) async throws
  /// Removes several such segments, in few round trips if the transport can.
  func remove(_ names: [SegmentName]) async throws
  /// Reads an invitation bundle or chunk; nil if there is none.
  func fetch(_ name: BlobName) async throws -> [UInt8]?
  /// Stores an invitation bundle or chunk durably and replaces one with the same name.
  func publish(_ name: BlobName, _ bytes: [UInt8]) async throws
  /// Removes an invitation bundle or chunk; it need not exist.
  func remove(_ name: BlobName) async throws
  /// Removes several such blobs, in few round trips if the transport can.
  func remove(_ names: [BlobName]) async throws
  /// Names the segments that will be fetched next, in order, so that a remote transport can
  /// prefetch several at once.
  ///
  /// The call is only a hint.
  func expect(_ names: [SegmentName])
  /// Stores several segments durably, in few round trips if the transport can.
  func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws
}

extension Transport {
  /// Lists everything without preference, for a transport that can list every author.
  package func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing {
    try await list(zoneTag: zoneTag)
  }

  /// Lists the contents of the transport for a zone, with the known and expected logs first.
  package func list(of zone: ZoneState) async throws -> TransportListing {
    try await list(zoneTag: zone.tag, preferring: ListingPreference(of: zone))
  }

  package var canDecay: Bool { false }

  package var keepsAuthorsApart: Bool { false }

  package func expect(_ names: [SegmentName]) {}

  package func remove(_ names: [SegmentName]) async throws {
    for name in names { try await remove(name) }
  }

  package func remove(_ names: [BlobName]) async throws {
    for name in names { try await remove(name) }
  }

  package func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    for segment in segments { try await publish(segment.name, segment.bytes) }
  }
}
