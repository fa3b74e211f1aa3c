import HearthCRDT
import HearthCrypto
import HearthMembership

/// What a recovery capsule says: who the words are of, and which groups they lead to.
///
/// Whoever has the place of the capsule can write one, so all of it is a hint: a group's own signed
/// log decides. Every key in it is sealed to the words, so a device that keeps the place cannot
/// open them.
package struct RecoveryListing: Sendable {
  /// One group with the keys to begin with.
  package struct Group: Sendable {
    package let id: GroupID
    package let database: DatabaseKind
    /// The group's name, as a person knows it.
    package let name: String
    /// The zones, the control zone first; of each the epochs, the present one last.
    package let zones: [InvitationCapsule.ZoneGrant]
    /// Of a private database, what the words say to it: see ``privateDomain``.
    package var attestation: [UInt8] = []
  }

  /// The domain in which words sign the id of the private database that they lead to.
  ///
  /// Nothing else tells a genuine one from one that somebody made up who could write the capsule:
  /// households tell only their own members.
  package static let privateDomain: Domain = "HRTH/recovery-private/v1"

  package let person: PersonID
  package let personName: String
  /// In order of id.
  package var groups: [Group]

  /// What either of two capsules says; of a group in both, the one with more keys.
  ///
  /// Of the first one's person alone: words are one person's, so another one is forged.
  package func joined(with other: RecoveryListing) -> RecoveryListing {
    guard other.person == person else { return self }
    var joined = self
    for group in other.groups {
      guard let place = joined.groups.firstIndex(where: { $0.id == group.id }) else {
        joined.groups.append(group)
        continue
      }
      func keys(_ group: Group) -> Int { group.zones.reduce(0) { $0 + $1.epochs.count } }
      if keys(group) > keys(joined.groups[place]) { joined.groups[place] = group }
    }
    joined.groups.sort { $0.id < $1.id }
    return joined
  }

  /// The greatest number of groups in a capsule.
  package static let maximumGroups = 64
  /// The greatest number of epochs of one zone in a capsule.
  package static let maximumEpochs = 256
  private static let version: UInt8 = 1

  /// The bytes inside the capsule.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 1_024)
    writer.byte(RecoveryListing.version)
    writer.identifier(person)
    writer.text(personName)
    writer.varint(groups.count)
    for group in groups {
      writer.identifier(group.id)
      writer.byte(group.database.rawValue)
      writer.text(group.name)
      if group.database == .personal { writer.blob(group.attestation) }
      writer.varint(group.zones.count)
      for zone in group.zones {
        writer.identifier(zone.id)
        writer.byte(zone.kind.rawValue)
        writer.text(zone.name)
        writer.raw(zone.tag.array)
        writer.raw(zone.sealedSecret)
        writer.varint(zone.epochs.count)
        for epoch in zone.epochs {
          writer.raw(epoch.id)
          writer.raw(epoch.sealed)
        }
      }
    }
    return writer.bytes
  }

  /// A key or secret of 32 bytes, sealed.
  static var sealedBytes: Int { SecretKey.count + SealedBox.overheadBytes }

  init(person: PersonID, personName: String, groups: [Group]) {
    self.person = person
    self.personName = personName
    self.groups = groups
  }

  /// Reads what a capsule held; the bytes come from a transport and are not trusted.
  ///
  /// - Throws: `malformed`.
  package init(decoding bytes: [UInt8]) throws {
    do {
      try self.init(reading: bytes)
    } catch let error as CodecError {
      throw SyncError(.malformed, "the recovery bundle is malformed: \(error)", cause: error)
    }
  }

  private init(reading bytes: [UInt8]) throws {
    let limit = ControlLimits.maximumNameBytes
    var reader = ByteReader(bytes)
    guard try reader.byte("listing version") == RecoveryListing.version else {
      throw SyncError(
        .malformed, "a newer version of this program made the recovery bundle: update this one")
    }
    person = try reader.identifier("person")
    personName = try reader.text("person's name", atMost: limit)
    let number = try reader.count("groups", itemBytes: 19, atMost: RecoveryListing.maximumGroups)
    var groups: [Group] = []
    for _ in 0..<number {
      let id = try reader.identifier("group")
      guard let database = DatabaseKind(rawValue: try reader.byte("database")) else {
        throw CodecError(.unknown, "database", offset: reader.offset)
      }
      let name = try reader.text("group name", atMost: limit)
      let attestation =
        database == .personal ? try reader.blob("attestation", atMost: Signature.count) : []
      let count = try reader.count("zones", itemBytes: 115, atMost: ControlLimits.maximumItems)
      var zones: [InvitationCapsule.ZoneGrant] = []
      for _ in 0..<count { zones.append(try RecoveryListing.zone(from: &reader)) }
      groups.append(
        Group(id: id, database: database, name: name, zones: zones, attestation: attestation))
    }
    self.groups = groups
    try reader.finish()
  }

  private static func zone(from reader: inout ByteReader) throws -> InvitationCapsule.ZoneGrant {
    let id = try reader.identifier("zone")
    guard let kind = ZoneKind(rawValue: try reader.byte("zone kind")) else {
      throw CodecError(.unknown, "zone kind", offset: reader.offset)
    }
    let name = try reader.text("zone name", atMost: ControlLimits.maximumNameBytes)
    let tag = try Bytes16(try reader.raw(16, "zone tag"))
    let secret = try reader.raw(sealedBytes, "zone secret")
    let number = try reader.count("epochs", itemBytes: 32 + sealedBytes, atMost: maximumEpochs)
    var epochs: [(id: [UInt8], sealed: [UInt8])] = []
    for _ in 0..<number {
      let id = try reader.raw(32, "epoch id")
      epochs.append((id, try reader.raw(sealedBytes, "epoch key")))
    }
    return InvitationCapsule.ZoneGrant(
      id: id, kind: kind, name: name, tag: tag, sealedSecret: secret, epochs: epochs)
  }
}

extension RecoveryListing {
  /// What of the keys in the capsule the words do not open, in words; nil where they open all.
  ///
  /// Only who has typed the words can tell. Whoever knows the capsule's place could put in keys
  /// that open nothing, and no device would see it. O(keys), 0.4 ms each.
  package func fault(with root: RecoveryRoot) -> String? {
    for group in groups {
      for zone in group.zones {
        if (try? root.openZoneSecret(zone.sealedSecret, expectingTag: zone.tag)) == nil {
          return "the recovery words do not open a key of \(group.name) in it"
        }
        for epoch in zone.epochs {
          let key = try? root.openEpochKey(
            epoch.sealed, expectingID: epoch.id, groupID: group.id.bytes, zoneID: zone.id.bytes)
          if key == nil { return "the recovery words do not open a key of \(group.name) in it" }
        }
      }
    }
    return nil
  }
}

extension RecoveryListing.Group {
  /// Whether this says everything that another says of the same group, keys apart.
  func covers(_ other: RecoveryListing.Group) -> Bool {
    id == other.id && name == other.name
      && (other.attestation.isEmpty || attestation == other.attestation)
      && other.zones.allSatisfy { wanted in
        zones.contains { zone in
          zone.id == wanted.id && zone.tag == wanted.tag
            && wanted.epochs.allSatisfy { epoch in zone.epochs.contains { $0.id == epoch.id } }
        }
      }
  }
}
