import HearthCRDT

// What the operations of a control log carry, beginnings and invitations first.
extension ControlOperation {
  package struct Genesis: Equatable, Sendable {
    /// A zone that exists from the start.
    package struct ZoneDeclaration: Equatable, Sendable {
      package let id: ZoneID
      package let name: String

      package init(id: ZoneID, name: String) {
        self.id = id
        self.name = name
      }
    }

    package let nonce: Identifier
    package let database: DatabaseKind
    package let controlZone: ZoneID
    package let zones: [ZoneDeclaration]
    package let founder: PersonID
    package let founderName: String
    package let device: DeviceCard
    package let createdMilliseconds: UInt64

    package init(
      nonce: Identifier, database: DatabaseKind, controlZone: ZoneID, zones: [ZoneDeclaration],
      founder: PersonID, founderName: String, device: DeviceCard, createdMilliseconds: UInt64
    ) {
      self.nonce = nonce
      self.database = database
      self.controlZone = controlZone
      self.zones = zones
      self.founder = founder
      self.founderName = founderName
      self.device = device
      self.createdMilliseconds = createdMilliseconds
    }
  }

  /// How somebody who holds an invitation's secret gets in.
  package enum Admission: UInt8, Sendable {
    /// At once: the invitation carries the keys.
    case auto = 0
    /// When an owner or admin has approved.
    case approve = 1
  }

  package struct InviteCreate: Equatable, Sendable {
    package let invite: Identifier
    package let signKey: [UInt8]
    package let boxKey: [UInt8]
    package var admission = Admission.auto
    package let role: Role
    /// The one person whom it lets in, with a further device or again; nil for anybody new.
    package var person: PersonID?
    package let maximumUses: Int
    package let expiresMilliseconds: UInt64

    package init(
      invite: Identifier, signKey: [UInt8], boxKey: [UInt8], admission: Admission = .auto,
      role: Role, person: PersonID? = nil, maximumUses: Int, expiresMilliseconds: UInt64
    ) {
      self.invite = invite
      self.signKey = signKey
      self.boxKey = boxKey
      self.admission = admission
      self.role = role
      self.person = person
      self.maximumUses = maximumUses
      self.expiresMilliseconds = expiresMilliseconds
    }
  }

  package struct Join: Equatable, Sendable {
    package let invite: Identifier
    package let person: PersonID
    package let personName: String
    package let device: DeviceCard
    /// The invitation key's signature over the group and everything above.
    package var proof: [UInt8]

    package init(
      invite: Identifier, person: PersonID, personName: String, device: DeviceCard, proof: [UInt8]
    ) {
      self.invite = invite
      self.person = person
      self.personName = personName
      self.device = device
      self.proof = proof
    }
  }

  package struct Incarnate: Equatable, Sendable {
    /// The life that ends; what it wrote before counts.
    package let previous: UInt64
    package let reason: String

    package init(previous: UInt64, reason: String) {
      self.previous = previous
      self.reason = reason
    }
  }

  package struct Admit: Equatable, Sendable {
    /// What the newcomer asked.
    package let join: Join
    /// The newcomer's device's signature over the same: it has the keys it shows.
    package let possession: [UInt8]

    package init(join: Join, possession: [UInt8]) {
      self.join = join
      self.possession = possession
    }
  }
}

// MARK: - Changes of people and devices

/// How far a remover had the logs of those whom it removes.
package struct Cut: Equatable, Sendable {
  /// One author's log in one zone.
  package struct Entry: Equatable, Sendable {
    package let zone: ZoneID
    package let author: Author
    /// The last change that counts, at least 1; a log that is not named counts for nothing.
    package let sequence: UInt64
    /// The author's chain hash after it.
    package let hash: [UInt8]

    package init(zone: ZoneID, author: Author, sequence: UInt64, hash: [UInt8]) {
      self.zone = zone
      self.author = author
      self.sequence = sequence
      self.hash = hash
    }
  }

  /// In order of zone and author.
  package let entries: [Entry]

  package init(entries: [Entry]) {
    self.entries = entries
  }

  /// The last change that counts of an author's log in a zone, 0 for none.
  package func sequence(of author: Author, in zone: ZoneID) -> UInt64 {
    entries.first { $0.zone == zone && $0.author == author }?.sequence ?? 0
  }
}

extension ControlOperation {
  package struct RemoveMember: Equatable, Sendable {
    package let person: PersonID
    package let cut: Cut

    package init(person: PersonID, cut: Cut) {
      self.person = person
      self.cut = cut
    }
  }

  package struct RevokeDevice: Equatable, Sendable {
    package let device: DeviceID
    package let cut: Cut

    package init(device: DeviceID, cut: Cut) {
      self.device = device
      self.cut = cut
    }
  }

  package struct SetRole: Equatable, Sendable {
    package let person: PersonID
    package let role: Role
    /// How far the person's logs were known; beyond it the lower role holds.
    package let cut: Cut

    package init(person: PersonID, role: Role, cut: Cut) {
      self.person = person
      self.role = role
      self.cut = cut
    }
  }

  package struct TransferOwner: Equatable, Sendable {
    package let to: PersonID
    /// The owner's recovery key's signature.
    package var signature: [UInt8]

    package init(to: PersonID, signature: [UInt8]) {
      self.to = to
      self.signature = signature
    }
  }

  /// The public halves of a person's recovery words.
  package struct RecoveryKeys: Equatable, Sendable {
    package let sign: [UInt8]
    package let box: [UInt8]
    /// The zones' secrets, sealed to the box key.
    package let secrets: [SealedSecret]

    package init(sign: [UInt8], box: [UInt8], secrets: [SealedSecret]) {
      self.sign = sign
      self.box = box
      self.secrets = secrets
    }
  }

  /// A zone's constant secret, sealed.
  package struct SealedSecret: Equatable, Sendable {
    package let zone: ZoneID
    package let sealed: [UInt8]

    package init(zone: ZoneID, sealed: [UInt8]) {
      self.zone = zone
      self.sealed = sealed
    }
  }

  package struct SetRecovery: Equatable, Sendable {
    package let keys: RecoveryKeys

    package init(keys: RecoveryKeys) {
      self.keys = keys
    }
  }

  package struct RotateRecovery: Equatable, Sendable {
    /// Who agrees beside the author's device.
    package enum Consent: Equatable, Sendable {
      /// The old recovery key.
      case recovery(signature: [UInt8])
      /// A second device of the person.
      case device(DeviceID, signature: [UInt8])
    }

    package let keys: RecoveryKeys
    package var consent: Consent

    package init(keys: RecoveryKeys, consent: Consent) {
      self.keys = keys
      self.consent = consent
    }
  }

  package struct Recover: Equatable, Sendable {
    package let person: PersonID
    package let device: DeviceCard
    /// Whether every other device of the person is revoked; the cut is then how far they count.
    package let revokesOthers: Bool
    package let cut: Cut
    /// The recovery key's signature over the group, the author's place and everything above.
    package var signature: [UInt8]

    package init(
      person: PersonID, device: DeviceCard, revokesOthers: Bool, cut: Cut, signature: [UInt8]
    ) {
      self.person = person
      self.device = device
      self.revokesOthers = revokesOthers
      self.cut = cut
      self.signature = signature
    }
  }
}

// MARK: - Keys and proofs

extension ControlOperation {
  /// A key sealed to one device or person.
  package struct Wrap: Equatable, Sendable {
    /// The device, or the person where it is sealed to recovery words.
    package let recipient: Identifier
    package let sealed: [UInt8]

    package init(recipient: Identifier, sealed: [UInt8]) {
      self.recipient = recipient
      self.sealed = sealed
    }
  }

  /// The key of an earlier epoch, sealed under a later one.
  package struct HistoryKey: Equatable, Sendable {
    package let epoch: [UInt8]
    package let sealed: [UInt8]

    package init(epoch: [UInt8], sealed: [UInt8]) {
      self.epoch = epoch
      self.sealed = sealed
    }
  }

  package struct EpochGrant: Equatable, Sendable {
    package let zone: ZoneID
    package let epoch: [UInt8]
    package let previous: [[UInt8]]
    /// The key sealed to each device that reads, in order of device.
    package let wraps: [Wrap]
    /// The key sealed to the recovery words of each person who has some, in order of person.
    package var recovery: [Wrap]
    /// The keys of the epochs that it follows, where newcomers may read what was before.
    package var history: [HistoryKey]

    package init(
      zone: ZoneID, epoch: [UInt8], previous: [[UInt8]], wraps: [Wrap], recovery: [Wrap] = [],
      history: [HistoryKey] = []
    ) {
      self.zone = zone
      self.epoch = epoch
      self.previous = previous
      self.wraps = wraps
      self.recovery = recovery
      self.history = history
    }
  }

  package struct WrapAdd: Equatable, Sendable {
    package let zone: ZoneID
    package let epoch: [UInt8]
    package let wraps: [Wrap]

    package init(zone: ZoneID, epoch: [UInt8], wraps: [Wrap]) {
      self.zone = zone
      self.epoch = epoch
      self.wraps = wraps
    }
  }

  package struct Complaint: Equatable, Sendable {
    package let zone: ZoneID
    package let epoch: [UInt8]
    /// Whether the key is the last that the author has, and there are segments under others;
    /// false where it is the key itself that does not open.
    package let isLast: Bool

    package init(zone: ZoneID, epoch: [UInt8], isLast: Bool) {
      self.zone = zone
      self.epoch = epoch
      self.isLast = isLast
    }
  }

  package struct ForkProof: Equatable, Sendable {
    package let zone: ZoneID
    package let author: Author
    /// The sealed segments, the lesser digest first.
    package let first: [UInt8]
    package let second: [UInt8]

    package init(zone: ZoneID, author: Author, first: [UInt8], second: [UInt8]) {
      self.zone = zone
      self.author = author
      self.first = first
      self.second = second
    }
  }

  /// A part of a sealed segment of the control zone.
  package struct BranchPart: Equatable, Sendable {
    /// Whose log the segment is of.
    package let author: Author
    /// The digest of the whole segment.
    package let digest: Identifier
    /// Which part it is, from 0.
    package let part: Int
    /// How many parts there are.
    package let parts: Int
    package let bytes: [UInt8]

    package init(author: Author, digest: Identifier, part: Int, parts: Int, bytes: [UInt8]) {
      self.author = author
      self.digest = digest
      self.part = part
      self.parts = parts
      self.bytes = bytes
    }
  }

  package struct Adopt: Equatable, Sendable {
    package let zone: ZoneID
    package let author: Author
    package let first: UInt64
    package let last: UInt64

    package init(zone: ZoneID, author: Author, first: UInt64, last: UInt64) {
      self.zone = zone
      self.author = author
      self.first = first
      self.last = last
    }
  }

  /// What newcomers may read.
  package enum Newcomers: UInt8, Sendable {
    /// Everything from the beginning.
    case full = 0
    /// What is written from their joining on.
    case fromJoin = 1
  }

  package struct Policy: Equatable, Sendable {
    /// The least suite of segments that is accepted; it only rises.
    package let minimumSuite: UInt8
    package let newcomers: Newcomers

    package init(minimumSuite: UInt8, newcomers: Newcomers) {
      self.minimumSuite = minimumSuite
      self.newcomers = newcomers
    }
  }

  /// How far a device has a zone.
  package struct ZoneFrontier: Equatable, Sendable {
    package let zone: ZoneID
    package let frontier: Frontier

    package init(zone: ZoneID, frontier: Frontier) {
      self.zone = zone
      self.frontier = frontier
    }
  }
}
