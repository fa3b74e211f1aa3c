import HearthCRDT
import HearthMembership

/// The description of a sealed segment in the store, which keeps it as it is forwarded.
package struct StoredSegment: Equatable, Sendable {
  package let author: Author
  package let first: UInt64
  package let last: UInt64
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  package let byteCount: Int

  package init(
    author: Author, first: UInt64, last: UInt64, digest: Identifier, byteCount: Int
  ) {
    self.author = author
    self.first = first
    self.last = last
    self.digest = digest
    self.byteCount = byteCount
  }
}

/// A record whose state a transaction changed.
package struct RecordChange: Sendable {
  package let key: RecordKey
  package var state: RecordState
  /// Whether the store has no row of the record yet.
  package let isNew: Bool

  package init(key: RecordKey, state: RecordState, isNew: Bool) {
    self.key = key
    self.state = state
    self.isNew = isNew
  }
}

/// A record or event with all its values.
package enum StoredRecord: Equatable, Sendable {
  case record(RecordState)
  case event(EventState)
}

/// An event on this node that its person should know of, kept until seen.
package struct Notice: Equatable, Sendable {
  /// The kind of event that a notice reports.
  package enum Kind: String, Sendable {
    /// The node's data was restored or copied; the node writes as a new incarnation.
    case newLife
    /// An author published two histories.
    case fork
    /// An author cites what it cannot have seen.
    case falseClaim
    /// A device's clock differs widely from this device's clock.
    case clock
    /// A device wrote or sent more than one device may.
    case limit
    /// Changes were reissued under a new incarnation.
    case reissued
    /// A person's recovery words were used or replaced.
    case recovery
    /// A lost device of this person lost its access to the private database.
    case access
    /// Another person changed the members of a household, or its owner.
    case people
    /// A folder or relay was set back to an older state of itself.
    case transport
    /// Somebody wrote a void operation: one beyond a role's permissions, or one that no program
    /// writes.
    case void
    /// Two devices with the same changes have different records.
    case difference
    /// A zone's log is damaged, so its records could not be judged anew.
    case damage
  }

  package let kind: Kind
  package let zone: ZoneID?
  package let device: DeviceID?
  package let text: String
  package let milliseconds: UInt64

  package init(
    kind: Kind, zone: ZoneID?, device: DeviceID?, text: String, milliseconds: UInt64
  ) {
    self.kind = kind
    self.zone = zone
    self.device = device
    self.text = text
    self.milliseconds = milliseconds
  }
}

/// A store error that may report that stored data is damaged.
package protocol StoredDamage: Error {
  /// Whether the stored data is unreadable, and not merely blocked by a disk or another program.
  var isDamage: Bool { get }
}

/// The port through which the engine persists its state.
///
/// Every part is used inside a transaction of ``transaction(_:)``: the writes of one transaction
/// become durable together or not at all. The store holds no rules; the engine holds no SQL.
package protocol Store: AnyObject {
  associatedtype Zones: ZoneStore
  associatedtype Log: LogStore
  associatedtype Pending: PendingStore
  associatedtype Records: RecordStore
  associatedtype Projections: ProjectionStore
  associatedtype Snapshots: SnapshotStore
  associatedtype Attachments: AttachmentStore
  associatedtype Drafts: DraftStore
  associatedtype Facts: FactStore
  associatedtype Notices: NoticeStore

  /// The zones, and how far each author's log is applied.
  var zones: Zones { get }
  /// The changes and sealed segments that are applied.
  var log: Log { get }
  /// The segments that wait.
  var pending: Pending { get }
  var records: Records { get }
  /// What is derived from the records.
  var projections: Projections { get }
  var snapshots: Snapshots { get }
  /// The chunks of attachments.
  var attachments: Attachments { get }
  /// What will take the place of a zone's records.
  var drafts: Drafts { get }
  var facts: Facts { get }
  var notices: Notices { get }

  /// Runs the body in one durable transaction, or in a nested part of the open transaction.
  ///
  /// An error undoes the whole body and nothing before it.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result
}

/// The zones of a store with their keys, and the heads of their logs.
package protocol ZoneStore {
  func all() throws -> [StoredZone]
  func save(_ zone: StoredZone) throws

  func heads(of zone: ZoneID) throws -> [LogHead]
  func save(_ heads: [LogHead], of zone: ZoneID) throws
  func removeHeads(of zone: ZoneID) throws

  /// Registers authors before any of their data is saved.
  func learn(_ authors: [Author]) throws
}

/// The applied changes: own ones that are in no segment yet, and sealed segments.
package protocol LogStore {
  func append(_ change: [UInt8], dot: Dot, to zone: ZoneID) throws
  func changes(
    of author: Author, in zone: ZoneID, after sequence: UInt64, limit: Int
  ) throws -> [[UInt8]]
  func removeChanges(of author: Author, in zone: ZoneID, through sequence: UInt64) throws

  func save(_ segment: StoredSegment, bytes: [UInt8], in zone: ZoneID) throws
  func segments(of zone: ZoneID) throws -> [StoredSegment]
  func bytes(of segment: Identifier, in zone: ZoneID) throws -> [UInt8]?
  func removeSegment(_ digest: Identifier, in zone: ZoneID) throws
}

/// The segments that cannot be applied yet.
package protocol PendingStore {
  func save(_ segment: PendingSegment, in zone: ZoneID) throws
  func segments(in zone: ZoneID) throws -> [PendingSegment]
  /// Returns the pending segments without their bytes.
  func entries(in zone: ZoneID) throws -> [PendingEntry]
  func bytes(of segment: Identifier, in zone: ZoneID) throws -> [UInt8]?
  func remove(_ digest: Identifier, in zone: ZoneID) throws
}

/// The records and events of zones.
package protocol RecordStore {
  /// The states of records, one for each key; nil for a record that was never written.
  func states(of keys: [RecordKey], in zone: ZoneID) throws -> [RecordState?]
  func supplyShownValues(to state: inout RecordState, of key: RecordKey, in zone: ZoneID) throws
  func save(_ changes: [RecordChange], in zone: ZoneID) throws
  func insert(_ events: [(RecordKey, EventState)], in zone: ZoneID) throws
  func events(of type: TypeID, in zone: ZoneID) throws -> [(RecordID, EventState)]
  /// Runs the body for each record, in order of type and id.
  func forEach(in zone: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void) throws
  func removeAll(of zone: ZoneID) throws
}

/// The tables that are derived from records.
package protocol ProjectionStore {
  /// Updates what depends on records that changed.
  func update(for keys: [RecordKey], in zone: ZoneID) throws
  func removeRows(of zone: ZoneID) throws
}

/// The base snapshot of each zone that has one.
package protocol SnapshotStore {
  func base(of zone: ZoneID, atMost byteCount: Int) throws -> [UInt8]?
  func saveBase(_ bytes: [UInt8], of zone: ZoneID) throws
  func removeBase(of zone: ZoneID) throws
}

extension SnapshotStore {
  /// The whole base snapshot of a zone, if it has one.
  package func base(of zone: ZoneID) throws -> [UInt8]? {
    try base(of: zone, atMost: Int(Int32.max))
  }
}

/// The chunks of attachments, sealed as they are on transports.
///
/// They are no part of a zone's log: a node has those that were attached on it, and those that
/// somebody looked at.
package protocol AttachmentStore {
  /// The next chunks of a zone that this node knows, in order of digest, after one of them.
  func chunks(
    of zone: ZoneID, after digest: Identifier?, atMost limit: Int
  ) throws -> [KnownChunk]
  /// The bytes of a chunk; nil if they are not here.
  func bytes(of digest: Identifier, in zone: ZoneID) throws -> [UInt8]?
  /// Keeps the bytes of a chunk that a record needs, or is about to.
  func save(_ chunk: SealedChunk, in zone: ZoneID) throws
  /// Notes chunks that a transport holds; of those that are known nothing changes.
  func note(_ digests: [Identifier], in zone: ZoneID) throws
  /// Notes whether records need chunks that are known; nil says that they do.
  func release(_ digests: [Identifier], at milliseconds: UInt64?, in zone: ZoneID) throws
  /// Drops the bytes of a chunk.
  func drop(_ digest: Identifier, in zone: ZoneID) throws
  /// Forgets chunks.
  func forget(_ digests: [Identifier], in zone: ZoneID) throws
}

extension AttachmentStore {
  /// The chunks of a zone that this node knows, in order of digest.
  package func chunks(of zone: ZoneID) throws -> [KnownChunk] {
    try chunks(of: zone, after: nil, atMost: .max)
  }
}

/// The draft of each zone: a second set of its records, derived rows and base snapshot.
///
/// Nobody reads a draft, so it may be written in many transactions.
package protocol DraftStore {
  /// Runs a transaction that writes to drafts alone.
  ///
  /// A power cut may undo it after it returned, with nothing that was committed before it: whoever
  /// loses a draft begins it again.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result
  /// Runs a body in which every call for the records, projections and base snapshot of a zone
  /// reaches its draft.
  func writing<Result>(to zone: ZoneID, _ body: () throws -> Result) throws -> Result
  /// Begins to derive the rows of a draft whose records are all there.
  func derivation(of zone: ZoneID) throws -> any DraftDerivation
  /// Writes derived rows to a draft; the body is in a transaction.
  func insert(_ rows: [DerivedValues], in zone: ZoneID) throws
  /// What moves the transactions so far to where they stay, beside other work on the store; nil if
  /// there is nothing to move.
  var settling: (@Sendable () throws -> Void)? { get }
  /// Exchanges the draft with what it is a draft of.
  func exchange(of zone: ZoneID) throws
  /// Removes some of the draft; returns whether nothing is left.
  func clear(of zone: ZoneID, atMost count: Int) throws -> Bool
}

/// The derivation of the rows of a draft, which goes on beside other work on the store.
///
/// One call follows the other; each may run on another thread.
package protocol DraftDerivation: Sendable {
  /// Computes the rows; it takes long for a large zone.
  func compute() throws
  /// The next of the computed rows; none at the end.
  func next(atMost count: Int) throws -> [DerivedValues]
  /// Frees what the derivation holds; no other call may follow.
  func close() throws
}

/// One row of a projection's table.
package struct DerivedValues: Sendable {
  /// The name of the projection, and that of its table.
  package let projection: String
  package let table: String
  /// The key's values, then the others.
  package let values: [Value]

  package init(projection: String, table: String, values: [Value]) {
    self.projection = projection
    self.table = table
    self.values = values
  }
}

/// Facts about the node, by name.
package protocol FactStore {
  /// The bytes kept under the name of a ``Fact``; nil if there are none.
  func bytes(of name: String) throws -> [UInt8]?
  /// Keeps bytes under the name of a ``Fact``; nil removes them.
  func setBytes(of name: String, to bytes: [UInt8]?) throws
}

/// Notices to the node's person.
package protocol NoticeStore {
  func add(_ notice: Notice) throws
}
