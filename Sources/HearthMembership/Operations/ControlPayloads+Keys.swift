import HearthCRDT

// Payloads about zone keys, fork evidence and group-wide settings.
extension ControlOperation {
  /// A key sealed to one device or person.
  package struct Wrap: ControlCodable {
    /// The id of the device, or of the person if the key is sealed to recovery words.
    package let recipient: Identifier
    package let sealed: [UInt8]

    package init(recipient: Identifier, sealed: [UInt8]) {
      self.recipient = recipient
      self.sealed = sealed
    }

    package static let codec = ControlCodec(
      Self.init, (\.recipient, .identifier("recipient")), (\.sealed, .sealed("wrap")))

    static func list(_ item: String) -> ControlCodec<[Wrap]> {
      .sorted(item, itemBytes: 17, of: codec, by: { $0.recipient < $1.recipient })
    }
  }

  /// The key of an earlier epoch, sealed under a later one.
  package struct HistoryKey: ControlCodable {
    package let epoch: [UInt8]
    package let sealed: [UInt8]

    package init(epoch: [UInt8], sealed: [UInt8]) {
      self.epoch = epoch
      self.sealed = sealed
    }

    package static let codec = ControlCodec(
      Self.init, (\.epoch, .raw(32, "earlier epoch")), (\.sealed, .sealed("earlier key")))
  }

  /// The announcement of a zone's epoch, with its key sealed to the recipients.
  package struct EpochGrant: ControlCodable {
    package let zone: ZoneID
    package let epoch: [UInt8]
    package let previous: [[UInt8]]
    /// The key, sealed to each device that may read, in order of device.
    package let wraps: [Wrap]
    /// The key, sealed to the recovery words of each person who has some, in order of person.
    package var recovery: [Wrap]
    /// The keys of the preceding epochs, if newcomers may read earlier history.
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

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("zone")), (\.epoch, .raw(32, "epoch")),
      (
        \.previous,
        .list(
          "previous epochs", itemBytes: 32, atMost: ControlLimits.maximumPrevious,
          of: .raw(32, "previous epoch"))
      ), (\.wraps, Wrap.list("wraps")), (\.recovery, Wrap.list("recovery wraps")),
      (
        \.history,
        .list(
          "earlier keys", itemBytes: 33, atMost: ControlLimits.maximumPrevious,
          of: HistoryKey.codec)
      ))
  }

  /// The part of the history that newcomers may read.
  package enum Newcomers: UInt8, Sendable {
    /// Everything from the beginning.
    case full = 0
    /// Everything written after their join.
    case fromJoin = 1
  }

  /// The frontier of a zone on a device.
  package struct ZoneFrontier: ControlCodable {
    package let zone: ZoneID
    package let frontier: Frontier

    package init(zone: ZoneID, frontier: Frontier) {
      self.zone = zone
      self.frontier = frontier
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("zone of a frontier")), (\.frontier, .frontier("frontier")))
  }

  /// The content of a zone of records at one point, as a digest.
  ///
  /// A device that has all changes up to that point attests a snapshot with it (decision 0065). A
  /// device also publishes the digest of its own content, so that a device at the same point can
  /// compare (decision 0064). Nobody trusts a snapshot because of the latter, so a device that
  /// began from a snapshot may publish it too.
  package struct ZoneDigest: ControlCodable {
    /// The number of bytes in a digest.
    package static let digestBytes = 32

    package let zone: ZoneID
    /// Identifies everything that decides the zone's content: in an attestation the end of every
    /// log in the zone, by sequence number and chain hash.
    package let mark: Identifier
    /// The digest of the content.
    package let digest: [UInt8]

    /// Makes a value from a digest of ``digestBytes`` bytes.
    package init(zone: ZoneID, mark: Identifier, digest: [UInt8]) {
      precondition(digest.count == ZoneDigest.digestBytes, "a digest of \(digest.count) bytes")
      self.zone = zone
      self.mark = mark
      self.digest = digest
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("digested zone")), (\.mark, .identifier("digested point")),
      (\.digest, .raw(digestBytes, "digest")))
  }
}
