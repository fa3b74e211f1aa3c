import HearthCRDT

/// Verified segments that were fetched and dropped because the waiting room was full.
///
/// A transport still has them. Fetching them again in each round would cost their bytes every time,
/// so they stay on the transport until a pending segment has made space. Then the nearest ones of
/// each log come first, and only as many as fit. The list is in the store, because most rounds are
/// those of a newly started program.
struct RoomRefusals: Equatable {
  /// The most entries: as many as one device's segments may be pending.
  ///
  /// Beyond, the farthest segments of the largest pools are forgotten.
  static let maximumCount = WaitingRoom.maximumDeviceSegments

  /// A dropped segment.
  struct Refused: Equatable {
    let digest: Identifier
    let byteCount: Int
  }

  /// The dropped segments of one pool, the nearest of each log first, and the pool's pending bytes
  /// at that time.
  private struct Group: Equatable {
    var waitingBytes: Int
    var refused: [Refused]
  }

  private var groups: [WaitingRoom.Pool: Group] = [:]

  init() {}

  /// Whether nothing is noted.
  var isEmpty: Bool { groups.isEmpty }

  private var count: Int { groups.values.reduce(0) { $0 + $1.refused.count } }

  /// Whether further entries displace others.
  var isFull: Bool { count >= RoomRefusals.maximumCount }

  /// The number of pending bytes per pool.
  static func waitingBytes(
    of entries: some Sequence<PendingEntry>, in zone: ZoneState
  ) -> [WaitingRoom.Pool: Int] {
    var bytes: [WaitingRoom.Pool: Int] = [:]
    for entry in entries {
      let isKnown = zone.deviceByTag[entry.authorTag] != nil
      let isVouched = zone.expects(entry.tagAuthor, from: entry.first)
      guard entry.unverifiedKind(isKnown: isKnown, isVouched: isVouched) == nil else { continue }
      bytes[.zone, default: 0] += entry.byteCount
      bytes[.device(entry.authorTag), default: 0] += entry.byteCount
    }
    return bytes
  }

  /// Notes the dropped segments, with the bytes that are pending now.
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
    if count > RoomRefusals.maximumCount { trim() }
  }

  /// Forgets what is beyond the most entries.
  private mutating func trim() {
    var left = RoomRefusals.maximumCount
    let pools = groups.sorted {
      ($0.value.refused.count, $0.key) < ($1.value.refused.count, $1.key)
    }.map(\.key)
    for (place, pool) in pools.enumerated() {
      guard var group = groups[pool] else { continue }
      group.refused = Array(group.refused.prefix(left / (pools.count - place)))
      left -= group.refused.count
      groups[pool] = group
    }
  }

  /// The segments for which there is no space yet.
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
  private static func fact(of zone: ZoneID) -> Fact<RoomRefusals> {
    Fact("crowded.\(zone.hex)", encode: { $0.encoded }, decode: { try RoomRefusals(decoding: $0) })
      .asCache
  }

  /// Reads what is noted of a zone.
  init(of zone: ZoneID, in store: some Store) throws {
    self = try store.facts.value(of: RoomRefusals.fact(of: zone)) ?? RoomRefusals()
  }

  /// Writes what is noted of a zone.
  func save(of zone: ZoneID, in store: some Store) throws {
    try store.facts.set(RoomRefusals.fact(of: zone), to: self)
  }

  /// The encoding for the store.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.varint(groups.count)
    for (pool, group) in groups.sorted(by: { $0.key < $1.key }) {
      switch pool {
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

  /// Reads the output of ``encoded``.
  init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let most = RoomRefusals.maximumCount
    for _ in 0..<(try reader.varint("pools", atMost: most)) {
      // Earlier versions noted unverified segments here too, as pool 0.
      let pool: WaitingRoom.Pool? =
        switch try reader.byte("pool") {
        case 0: nil
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
      if let pool { groups[pool] = group }
    }
    try reader.finish()
  }
}
