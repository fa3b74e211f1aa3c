import HearthCRDT

/// Segments that were fetched and had to go again, as more may not wait here.
///
/// A transport still has them. Fetching them anew in each round would cost their bytes for ever, so
/// they are left there until something that waited has made room: then the nearest ones of each
/// log come first, and no more of them than there is room for. Kept in the store, as most rounds
/// are those of a program that starts anew.
struct RoomRefusals: Equatable {
  /// Beyond, all are forgotten and looked into again: as many as segments of one device may wait.
  static let maximumCount = WaitingRoom.maximumDeviceSegments

  /// A segment that had to go.
  struct Refused: Equatable {
    let digest: Identifier
    let byteCount: Int
  }

  /// Those of one pool, the nearest of each log first, and how many bytes waited in it then.
  private struct Group: Equatable {
    var waitingBytes: Int
    var refused: [Refused]
  }

  private var groups: [WaitingRoom.Pool: Group] = [:]

  init() {}

  /// How many bytes of each pool wait.
  static func waitingBytes(of entries: some Sequence<PendingEntry>) -> [WaitingRoom.Pool: Int] {
    var bytes: [WaitingRoom.Pool: Int] = [:]
    for entry in entries {
      if entry.reason == .author || entry.reason == .format {
        bytes[.unverified, default: 0] += entry.byteCount
      } else {
        bytes[.zone, default: 0] += entry.byteCount
        bytes[.device(entry.authorTag), default: 0] += entry.byteCount
      }
    }
    return bytes
  }

  /// Notes what had to go while this much waits.
  mutating func note(
    _ dropped: [(pool: WaitingRoom.Pool, refused: Refused)],
    whileWaiting bytes: [WaitingRoom.Pool: Int]
  ) {
    for (pool, refused) in dropped {
      var group = groups[pool] ?? Group(waitingBytes: 0, refused: [])
      group.waitingBytes = bytes[pool] ?? 0
      group.refused.removeAll { $0.digest == refused.digest }
      group.refused.append(refused)
      groups[pool] = group
    }
    let count = groups.values.reduce(0) { $0 + $1.refused.count }
    if count > RoomRefusals.maximumCount { groups = [:] }
  }

  /// Those for which there is no room yet.
  func withoutRoom(whileWaiting bytes: [WaitingRoom.Pool: Int]) -> Set<Identifier> {
    var without: Set<Identifier> = []
    for (pool, group) in groups {
      var free = group.waitingBytes - (bytes[pool] ?? 0)
      for refused in group.refused {
        free -= refused.byteCount
        if free < 0 { without.insert(refused.digest) }
      }
    }
    return without
  }
}

extension RoomRefusals {
  /// The bytes by which a store keeps them.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.varint(groups.count)
    for (pool, group) in groups.sorted(by: { $0.key < $1.key }) {
      switch pool {
      case .unverified: writer.byte(0)
      case .zone: writer.byte(1)
      case .device(let tag):
        writer.byte(2)
        writer.identifier(tag)
      }
      writer.varint(group.waitingBytes)
      writer.varint(group.refused.count)
      for refused in group.refused {
        writer.identifier(refused.digest)
        writer.varint(refused.byteCount)
      }
    }
    return writer.bytes
  }

  /// Reads what ``encoded`` wrote.
  init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let most = RoomRefusals.maximumCount
    for _ in 0..<(try reader.varint("pools", atMost: most)) {
      let pool: WaitingRoom.Pool =
        switch try reader.byte("pool") {
        case 0: .unverified
        case 1: .zone
        case 2: .device(try reader.identifier("device's tag"))
        default: throw CodecError(.unknown, "pool", offset: reader.offset)
        }
      var group = Group(
        waitingBytes: try reader.varint("waiting bytes", atMost: .max), refused: [])
      for _ in 0..<(try reader.varint("refused segments", atMost: most)) {
        group.refused.append(
          Refused(
            digest: try reader.identifier("digest"),
            byteCount: try reader.varint("bytes", atMost: .max)))
      }
      groups[pool] = group
    }
    try reader.finish()
  }
}
