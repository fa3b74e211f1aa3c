import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// A program's declarations of its records to a node.
package struct NodeSchema: Sendable {
  package let records: [RecordSchema]
  package let projections: [any Projection]
  /// The rights of each role on the records.
  package let policy: RolePolicy
  /// The text field from which a type's ids follow, if they do.
  package let naturalKeys: [TypeID: FieldID]
  /// The name of a shared zone in its own records; nil if they have none.
  package let zoneName: (@Sendable (any ProjectionSource) throws -> String?)?
  /// The application of the program.
  package let application: ApplicationIdentifier
  /// What queries of the record types rely on.
  package let lookups: [TypeLookups]
  /// What a deletion does to records that refer to the deleted one.
  private(set) var deletions = DeletionRules()
  /// The derived tables that programs read.
  private(set) var derived: [DerivedTable] = []

  package init(
    records: [RecordSchema], projections: [any Projection] = [], policy: RolePolicy = RolePolicy(),
    naturalKeys: [TypeID: FieldID] = [:],
    zoneName: (@Sendable (any ProjectionSource) throws -> String?)? = nil,
    application: ApplicationIdentifier = .household, lookups: [TypeLookups] = []
  ) {
    self.application = application
    self.lookups = lookups
    self.records = records
    self.projections = projections
    self.policy = policy
    self.naturalKeys = naturalKeys
    self.zoneName = zoneName
  }

  /// The declarations of an application.
  init(
    records: [RecordSchema], projections: [any Projection], policy: RolePolicy,
    application: ApplicationIdentifier, lookups: [TypeLookups], deletions: DeletionRules,
    derived: [DerivedTable]
  ) {
    self.init(
      records: records, projections: projections, policy: policy, application: application,
      lookups: lookups)
    self.deletions = deletions
    self.derived = derived
  }
}

extension NodeReplicas.Content {
  private static let profileFact = JSONFact.named("profile", of: NodeProfile.self)

  private static func openStore(
    _ folder: NodeFolder, _ schema: NodeSchema, wasAbandoned: Bool = true
  ) throws -> ReplicaStore {
    try ReplicaStore(
      path: folder.database, schema: schema.records, projections: schema.projections,
      application: schema.application, lookups: schema.lookups, takesOverLog: wasAbandoned)
  }

  /// Makes a new database that says whose it is.
  static func begin(
    in folder: NodeFolder, of identity: DeviceIdentity, _ schema: NodeSchema,
    _ profile: NodeProfile
  ) throws {
    let store = try openStore(folder, schema)
    let incarnation = try Incarnations.first(of: identity)
    try store.transaction {
      try keep(profile, in: store)
      try store.facts.set(Incarnations.currentFact, to: incarnation)
    }
    try store.close()
  }

  /// Notes whose a database is; called in a transaction.
  static func keep(_ profile: NodeProfile, in store: ReplicaStore) throws {
    try store.facts.set(profileFact, to: profile)
  }

  /// Reads what a node's database holds, without folding the control logs.
  ///
  /// - Parameter wasAbandoned: whether the process that wrote last ended without a word.
  /// - Throws: `corrupt` if it is empty or another device's.
  init(
    of folder: NodeFolder, as identity: DeviceIdentity, _ schema: NodeSchema, wasAbandoned: Bool,
    nowMilliseconds: UInt64
  ) throws {
    let store = try Self.openStore(folder, schema, wasAbandoned: wasAbandoned)
    guard let profile = try store.facts.value(of: Self.profileFact) else {
      throw HearthError(
        .corrupt,
        "the database \(folder.database) is empty, although its key is there: "
          + NodeFolder.aside)
    }
    self.profile = profile
    do {
      engine = try Engine(
        store: store, identity: identity,
        incarnation: try store.facts.value(of: Incarnations.currentFact) ?? 0,
        policy: schema.policy, application: schema.application, isFolded: false,
        nowMilliseconds: nowMilliseconds)
    } catch let error as CryptoError where error.code == .authenticationFailed {
      throw HearthError(
        .corrupt,
        "the key \(folder.keyFile) does not open \(folder.database): the key is another device's, "
          + "or one of the two files was replaced; put the right key file back. Without it, "
          + NodeFolder.aside, cause: error)
    }
  }
}
