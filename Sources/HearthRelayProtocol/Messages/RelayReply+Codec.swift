import HearthCRDT
import HearthCrypto

extension RelayReply {
  package var type: UInt8 {
    switch self {
    case .welcome: 0x41
    case .challenge: 0x42
    case .opened: 0x43
    case .stored: 0x44
    case .removed: 0x45
    case .listing: 0x46
    case .blobs: 0x47
    case .entries: 0x48
    case .subscribed: 0x49
    case .rotated: 0x4a
    case .done: 0x4b
    case .pong: 0x4c
    case .roster: 0x4d
    case .fault: 0x4f
    case .found: 0x60
    case .pushed: 0x81
    case .behind: 0x82
    case .closed: 0x83
    case .farewell: 0x84
    case .pushedPacked: 0x85
    }
  }

  package var isPush: Bool { type >= 0x80 }

  package var byteCountHint: Int {
    switch self {
    case .listing(let listing): listing.headers.reduce(64) { $0 + $1.name.count + 48 }
    case .blobs(let blobs): blobs.reduce(16) { $0 + ($1?.count ?? 0) + 5 }
    case .entries(let page): RelayReply.hint(page.entries)
    case .pushed(_, let entries): RelayReply.hint(entries)
    case .pushedPacked(_, _, let items): items.reduce(64) { $0 + $1.byteCountHint }
    case .roster(let report): 32 + report.seats.count * 48
    case .found(let answer): answer.records.reduce(512) { $0 + $1.count + 4 }
    default: 160
    }
  }

  fileprivate static func hint(_ entries: [RelayEntry]) -> Int {
    entries.reduce(64) { $0 + $1.header.name.count + $1.blob.count + 48 }
  }

  package func encode(into writer: inout ByteWriter) {
    switch self {
    case .welcome(let welcome): welcome.encode(into: &writer)
    case .challenge(let keyID, let nonce):
      writer.raw(keyID.array)
      writer.raw(nonce.array)
    case .opened(let opened): opened.encode(into: &writer)
    case .stored(let outcomes):
      writer.varint(outcomes.count)
      for item in outcomes {
        writer.byte(item.outcome.rawValue)
        writer.varint(item.position)
      }
    case .removed(let positions):
      writer.varint(positions.count)
      for position in positions { writer.varint(position) }
    case .listing(let listing): listing.encode(into: &writer)
    case .blobs(let blobs):
      writer.varint(blobs.count)
      for blob in blobs {
        writer.byte(blob == nil ? 0 : 1)
        if let blob { writer.blob(blob) }
      }
    case .entries(let page):
      RelayEntry.encode(page.entries, into: &writer)
      writer.varint(page.head)
      writer.raw(page.chain.array)
    case .subscribed(let head): writer.varint(head)
    case .rotated(let generation): writer.varint(generation)
    case .done, .pong: break
    case .found(let answer): answer.encode(into: &writer)
    case .roster(let report): report.encode(into: &writer)
    case .fault(let fault), .farewell(let fault): fault.encode(into: &writer)
    case .pushed(let channel, let entries):
      writer.varint(channel)
      RelayEntry.encode(entries, into: &writer)
    case .pushedPacked(let channel, let first, let items):
      writer.varint(channel)
      writer.varint(first)
      RelayPackedItem.encode(items, into: &writer)
    case .behind(let channel, let head):
      writer.varint(channel)
      writer.varint(head)
    case .closed(let channel, let fault):
      writer.varint(channel)
      fault.encode(into: &writer)
    }
  }

  package init(type: UInt8, from reader: inout ByteReader) throws(CodecError) {
    switch type {
    case 0x41: self = .welcome(try RelayWelcome(from: &reader))
    case 0x42:
      self = .challenge(
        keyID: try RelayFields.bytes16(from: &reader, "key id"),
        nonce: try RelayFields.bytes32(from: &reader, "nonce"))
    case 0x43: self = .opened(try RelayOpened(from: &reader))
    case 0x44: self = .stored(try RelayStored.decodeList(from: &reader))
    case 0x45: self = .removed(try RelayReply.removals(from: &reader))
    case 0x46: self = .listing(try RelayListing(from: &reader))
    case 0x47: self = .blobs(try RelayReply.blobs(from: &reader))
    case 0x48:
      self = .entries(
        RelayPage(
          entries: try RelayEntry.decodeList(from: &reader),
          head: try RelayFields.position(from: &reader, "head", atLeast: 0),
          chain: try RelayFields.bytes32(from: &reader, "chain")))
    case 0x49: self = .subscribed(head: try RelayFields.position(from: &reader, "head", atLeast: 0))
    case 0x4a:
      self = .rotated(generation: try RelayFields.position(from: &reader, "access generation"))
    case 0x4b: self = .done
    case 0x4c: self = .pong
    case 0x4d: self = .roster(try RelayRosterReport(from: &reader))
    case 0x4f: self = .fault(try RelayFault(from: &reader))
    case 0x60: self = .found(try PublicAnswer(from: &reader))
    case 0x81:
      self = .pushed(
        channel: try RelayFields.channel(from: &reader),
        entries: try RelayEntry.decodeList(from: &reader))
    case 0x82:
      self = .behind(
        channel: try RelayFields.channel(from: &reader),
        head: try RelayFields.position(from: &reader, "head"))
    case 0x83:
      self = .closed(channel: try RelayFields.channel(from: &reader), try RelayFault(from: &reader))
    case 0x84: self = .farewell(try RelayFault(from: &reader))
    case 0x85: self = try RelayReply.pushedPacked(from: &reader)
    default: throw CodecError(.unknown, "frame type", offset: 0)
    }
  }
}

extension RelayReply {
  fileprivate static func removals(from reader: inout ByteReader) throws(CodecError) -> [UInt64] {
    let number = try reader.count("removals", atMost: RelayLimits.maximumBatchItems)
    var positions: [UInt64] = []
    positions.reserveCapacity(number)
    for _ in 0..<number {
      positions.append(try RelayFields.position(from: &reader, "position", atLeast: 0))
    }
    return positions
  }

  fileprivate static func blobs(from reader: inout ByteReader) throws(CodecError) -> [[UInt8]?] {
    let number = try reader.count("blobs", atMost: RelayLimits.maximumBatchItems)
    var blobs: [[UInt8]?] = []
    blobs.reserveCapacity(number)
    for _ in 0..<number {
      let isThere = try reader.flag("blob flag")
      blobs.append(
        isThere ? try reader.blob("blob", atMost: RelayLimits.maximumBlobBytes) : nil)
    }
    return blobs
  }

  fileprivate static func pushedPacked(
    from reader: inout ByteReader
  ) throws(CodecError) -> RelayReply {
    let channel = try RelayFields.channel(from: &reader)
    let start = reader.offset
    let first = try RelayFields.position(from: &reader, "position")
    let items = try RelayPackedItem.decodeBatch(from: &reader)
    guard first <= RelayLimits.maximumPosition - UInt64(items.count - 1) else {
      throw CodecError(.beyondLimit, "position", offset: start)
    }
    return .pushedPacked(channel: channel, from: first, items: items)
  }
}

/// The frame of a push without its head, so that many sessions share the long part.
package struct RelayPushTail: Equatable, Sendable {
  /// Everything after the channel: the same for all sessions.
  package let bytes: [UInt8]
  private let type: UInt8

  /// Creates the tail of a plain push.
  package init(_ entries: [RelayEntry]) {
    var writer = ByteWriter(capacity: RelayReply.hint(entries))
    RelayEntry.encode(entries, into: &writer)
    bytes = writer.bytes
    type = 0x81
  }

  /// Creates the tail of a packed push.
  package init(_ items: [RelayPackedItem], from position: UInt64) {
    var writer = ByteWriter(capacity: items.reduce(64) { $0 + $1.byteCountHint })
    writer.varint(position)
    RelayPackedItem.encode(items, into: &writer)
    bytes = writer.bytes
    type = 0x85
  }

  /// Length, type, number and channel, which precede the tail on one channel.
  package func head(channel: Int) -> [UInt8] {
    var writer = ByteWriter(capacity: 8)
    writer.byte(type)
    writer.varint(0)
    writer.varint(channel)
    let length = UInt32(writer.count + bytes.count)
    return withUnsafeBytes(of: length.bigEndian) { Array($0) } + writer.bytes
  }
}

extension RelayWelcome {
  func encode(into writer: inout ByteWriter) {
    writer.varint(version)
    writer.raw(relayID.array)
    writer.byte(registration.rawValue)
    writer.varint(heartbeatSeconds)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    version = try reader.varint("version", atMost: Int(UInt16.max))
    relayID = try RelayFields.bytes32(from: &reader, "relay id")
    let start = reader.offset
    guard let registration = RelayRegistration(rawValue: try reader.byte("registration")) else {
      throw CodecError(.unknown, "registration", offset: start)
    }
    self.registration = registration
    heartbeatSeconds = try RelayFields.limit(
      from: &reader, atMost: RelayLimits.maximumHeartbeatSeconds)
  }
}

extension RelayOpened {
  func encode(into writer: inout ByteWriter) {
    head.encode(into: &writer)
    writer.raw(chain.array)
    switch standing {
    case .none: writer.byte(0)
    case .known(let chain):
      writer.byte(1)
      writer.raw(chain.array)
    case .otherGeneration: writer.byte(2)
    case .beyondHead: writer.byte(3)
    }
    writer.varint(accessGeneration)
    writer.byte(rank.rawValue)
    writer.raw(roster.array)
    writer.varint(usedBytes)
    writer.varint(quotaBytes)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    head = try RelayCursor(from: &reader)
    chain = try RelayFields.bytes32(from: &reader, "chain")
    let start = reader.offset
    switch try reader.byte("cursor standing") {
    case 0: standing = .none
    case 1: standing = .known(try RelayFields.bytes32(from: &reader, "chain at the cursor"))
    case 2: standing = .otherGeneration
    case 3: standing = .beyondHead
    default: throw CodecError(.unknown, "cursor standing", offset: start)
    }
    accessGeneration = try RelayFields.position(from: &reader, "access generation")
    rank = try RelayRank(from: &reader)
    roster = try RelayFields.bytes16(from: &reader, "roster")
    usedBytes = try reader.varint("used bytes")
    quotaBytes = try reader.varint("quota bytes")
  }
}

extension RelayListing {
  func encode(into writer: inout ByteWriter) {
    writer.varint(headers.count)
    for header in headers { header.encode(into: &writer) }
    writer.varint(through)
    writer.varint(head)
    writer.raw(chain.array)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let number = try reader.count(
      "headers", itemBytes: RelayHeader.minimumBytes, atMost: RelayLimits.maximumListItems)
    var headers: [RelayHeader] = []
    headers.reserveCapacity(number)
    for _ in 0..<number {
      let start = reader.offset
      let header = try RelayHeader(from: &reader)
      guard header.position > headers.last?.position ?? 0 else {
        throw CodecError(.notCanonical, "position", offset: start)
      }
      headers.append(header)
    }
    self.headers = headers
    let start = reader.offset
    through = try RelayFields.position(from: &reader, "through", atLeast: 0)
    head = try RelayFields.position(from: &reader, "head", atLeast: 0)
    guard headers.last?.position ?? 0 <= through, through <= head else {
      throw CodecError(.notCanonical, "through", offset: start)
    }
    chain = try RelayFields.bytes32(from: &reader, "chain")
  }
}

extension RelayStored {
  fileprivate static func decodeList(
    from reader: inout ByteReader
  ) throws(CodecError) -> [RelayStored] {
    let number = try reader.count(
      "outcomes", itemBytes: 2, atMost: RelayLimits.maximumBatchItems)
    var outcomes: [RelayStored] = []
    outcomes.reserveCapacity(number)
    for _ in 0..<number {
      let outcome = try reader.choice("outcome") { RelayStored.Outcome(rawValue: $0) }
      outcomes.append(
        RelayStored(outcome, position: try RelayFields.position(from: &reader, "position")))
    }
    return outcomes
  }
}
