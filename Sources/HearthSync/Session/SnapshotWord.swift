import HearthCRDT
import HearthCrypto
import HearthMembership

/// What a snapshot says, and who says it: everything that decides whether a newcomer believes it.
struct SnapshotWord {
  /// The device that made it; nil for one that is not known here.
  let maker: DeviceID?
  /// The person whose device it is.
  let person: PersonID?
  /// The tag of the epoch that it is sealed under.
  let epoch: Identifier
  /// Stands for its heads, as in an attestation.
  let mark: Identifier
  /// Its digest, masked by the key of its epoch.
  let link: Bytes32
  let frontier: Frontier
}

/// A snapshot that was verified once, so that an admin's node need not fetch it at every sync.
struct KnownSnapshot {
  let group: Identifier
  let isOwn: Bool
  /// The tag of the device that made it.
  let maker: Identifier
  /// The tag of the epoch that it is sealed under.
  let epoch: Identifier
  /// Stands for its heads, as in an attestation; zero if it is not acceptable.
  let mark: Identifier
  /// Its digest, masked by the key of its epoch; zero if it is not acceptable.
  let link: Bytes32
  /// How far it reaches; nowhere if it is not acceptable.
  var frontier: Frontier
}

/// A snapshot whose first chunks were verified, as many as hold its heads.
struct SnapshotCandidate {
  let snapshot: SnapshotPlan.Complete
  let beginning: [[UInt8]]
  let word: SnapshotWord
  let weight: UInt64
}

/// How far a device believes what a snapshot says.
enum SnapshotBelief {
  /// This device believes the maker's word alone, or the snapshot was attested.
  case believed
  /// The snapshot is believed if another person's snapshot says the same.
  case needsVoice
  /// The snapshot is not believed; with the problem to report.
  case refused(TransportProblem?)
}
