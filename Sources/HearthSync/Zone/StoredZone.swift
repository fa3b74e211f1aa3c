import HearthCRDT
import HearthMembership

/// A zone as the store keeps it.
package struct StoredZone: Equatable, Sendable {
  package let id: ZoneID
  package let group: GroupID
  package let kind: ZoneKind
  package let database: DatabaseKind
  package let name: String
  /// The zone's constant secret, wrapped under the device's key.
  package let wrappedSecret: [UInt8]
  /// The epoch keys of this device, wrapped, in the order in which it learned them.
  package var wrappedEpochs: [[UInt8]]

  package init(
    id: ZoneID, group: GroupID, kind: ZoneKind, database: DatabaseKind, name: String,
    wrappedSecret: [UInt8], wrappedEpochs: [[UInt8]]
  ) {
    self.id = id
    self.group = group
    self.kind = kind
    self.database = database
    self.name = name
    self.wrappedSecret = wrappedSecret
    self.wrappedEpochs = wrappedEpochs
  }
}
