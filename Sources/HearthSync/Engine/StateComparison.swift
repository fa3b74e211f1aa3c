import HearthCRDT
import HearthMembership

/// What a device remembers of comparing one zone with others (decision 0064).
struct StateComparison: Equatable {
  /// What the zone held here at a point.
  struct Look: Equatable {
    let mark: Identifier
    let digest: [UInt8]
    let milliseconds: UInt64
  }

  /// What came of another device's statements.
  struct Peer: Equatable {
    let device: DeviceID
    /// The last statement that was compared.
    var statement: RecordID
    /// Whether it said something else than what is here.
    var differs = false
    /// When this node's person was told last; 0 for never.
    var toldMilliseconds: UInt64 = 0
  }

  /// How many looks are kept, for statements about a point that was here shortly before.
  static let maximumLooks = 4

  /// When the zone was last looked at without anybody asking, or earlier where the next look is to
  /// come sooner; 0 before the first round.
  var lookedMilliseconds: UInt64 = 0
  /// When its records were last built anew for what somebody else said; 0 for never.
  var rebuiltMilliseconds: UInt64 = 0
  /// Whether this device has to say what it holds, as somebody said something else, or as devices
  /// may have come to hold different records.
  var isOwed = false
  /// What it said last.
  var stated: Look?
  /// The last looks, the newest last, one for a point.
  private(set) var looks: [Look] = []
  /// In order of device.
  private(set) var peers: [Peer] = []

  init() {}

  /// Owes the others a statement, and makes the next regular look due at a moment, unless it is due
  /// before.
  mutating func owe(by moment: UInt64, every interval: UInt64) {
    isOwed = true
    let latest = moment > interval ? moment - interval : 1
    lookedMilliseconds = lookedMilliseconds == 0 ? latest : min(lookedMilliseconds, latest)
  }

  /// What the zone held here at a point, if that was looked at.
  func digest(at mark: Identifier) -> [UInt8]? { looks.last { $0.mark == mark }?.digest }

  mutating func note(_ look: Look) {
    looks.removeAll { $0.mark == look.mark }
    looks = looks.suffix(StateComparison.maximumLooks - 1) + [look]
  }

  func peer(_ device: DeviceID) -> Peer? { peers.first { $0.device == device } }

  mutating func set(_ peer: Peer) {
    peers.removeAll { $0.device == peer.device }
    peers.append(peer)
    peers.sort { $0.device < $1.device }
  }

  /// Forgets devices, such as those that have gone.
  mutating func keep(where isWanted: (DeviceID) -> Bool) {
    peers.removeAll { !isWanted($0.device) }
  }

  // MARK: Bytes

  var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 128)
    writer.fixed64(lookedMilliseconds)
    writer.fixed64(rebuiltMilliseconds)
    writer.byte(isOwed ? 1 : 0)
    let stated = stated.map { [$0] } ?? []
    for looks in [stated, looks] {
      writer.varint(looks.count)
      for look in looks {
        writer.identifier(look.mark)
        writer.raw(look.digest)
        writer.fixed64(look.milliseconds)
      }
    }
    writer.varint(peers.count)
    for peer in peers {
      writer.identifier(peer.device)
      writer.identifier(peer.statement)
      writer.byte(peer.differs ? 1 : 0)
      writer.fixed64(peer.toldMilliseconds)
    }
    return writer.bytes
  }

  /// Reads the bytes back.
  ///
  /// - Throws: `CodecError` for bytes that this type does not write.
  init(_ bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    lookedMilliseconds = try reader.fixed64("looked")
    rebuiltMilliseconds = try reader.fixed64("rebuilt")
    isOwed = try reader.flag("owed")
    stated = try StateComparison.looks(from: &reader, atMost: 1).first
    looks = try StateComparison.looks(from: &reader, atMost: StateComparison.maximumLooks)
    for _ in 0..<(try reader.varint("peers", atMost: Limits.maximumAuthors)) {
      var peer = Peer(
        device: try reader.identifier("peer"), statement: try reader.identifier("statement"))
      peer.differs = try reader.flag("differs")
      peer.toldMilliseconds = try reader.fixed64("told")
      peers.append(peer)
    }
    try reader.finish()
  }

  private static func looks(
    from reader: inout ByteReader, atMost limit: Int
  ) throws(CodecError) -> [Look] {
    var looks: [Look] = []
    for _ in 0..<(try reader.varint("looks", atMost: limit)) {
      let mark = try reader.identifier("point")
      let digest = try reader.raw(ControlOperation.ZoneDigest.digestBytes, "digest")
      looks.append(
        Look(mark: mark, digest: digest, milliseconds: try reader.fixed64("time of a look")))
    }
    return looks
  }
}
