import HearthCRDT
import HearthCrypto

extension RelayRequest {
  /// The first bytes of a `hello`: "HRLY".
  static let magic: [UInt8] = [0x48, 0x52, 0x4c, 0x59]

  package var isPush: Bool { false }

  package var type: UInt8 {
    switch self {
    case .hello: 0x01
    case .open: 0x02
    case .prove: 0x03
    case .create: 0x04
    case .close: 0x05
    case .put: 0x06
    case .remove: 0x07
    case .list: 0x08
    case .fetch: 0x09
    case .fetchAfter: 0x0a
    case .subscribe: 0x0b
    case .unsubscribe: 0x0c
    case .rotate: 0x0d
    case .setRank: 0x0e
    case .roster: 0x0f
    case .ping: 0x10
    case .goodbye: 0x11
    case .putPacked: 0x12
    case .reset: 0x13
    case .openPublic: 0x20
    case .query: 0x21
    }
  }

  package var byteCountHint: Int {
    switch self {
    case .put(_, let items): items.reduce(8) { $0 + $1.name.count + $1.blob.count + 8 }
    case .putPacked(_, let items): items.reduce(8) { $0 + $1.byteCountHint }
    case .remove(_, let names), .fetch(_, let names): names.reduce(8) { $0 + $1.count + 2 }
    case .create: 320
    default: 192
    }
  }

  /// The channel of the request; nil for requests of the whole session.
  package var channel: Int? {
    switch self {
    case .hello, .ping, .goodbye: nil
    case .open(let channel, _), .close(let channel), .put(let channel, _),
      .remove(let channel, _), .list(let channel, _, _, _, _), .fetch(let channel, _),
      .fetchAfter(let channel, _, _), .subscribe(let channel, _), .unsubscribe(let channel),
      .rotate(let channel, _, _), .setRank(let channel, _, _), .roster(let channel),
      .reset(let channel),
      .openPublic(let channel, _), .query(let channel, _), .putPacked(let channel, _):
      channel
    case .prove(let proof): proof.channel
    case .create(let creation): creation.channel
    }
  }

  package func encode(into writer: inout ByteWriter) {
    switch self {
    case .hello(let least, let most):
      writer.raw(RelayRequest.magic)
      writer.varint(least)
      writer.varint(most)
    case .prove(let proof): proof.encode(into: &writer)
    case .create(let creation): creation.encode(into: &writer)
    case .ping, .goodbye: break
    default:
      writer.varint(channel ?? 0)
      encodeRest(into: &writer)
    }
  }

  /// Encodes the fields after the channel.
  private func encodeRest(into writer: inout ByteWriter) {
    switch self {
    case .open(_, let mailbox), .openPublic(_, let mailbox): writer.identifier(mailbox)
    case .query(_, let query): query.encode(into: &writer)
    case .put(_, let items):
      writer.varint(items.count)
      for item in items {
        writer.byte(item.isReplaceable ? 1 : 0)
        writer.blob(item.name)
        writer.blob(item.blob)
      }
    case .putPacked(_, let items): RelayPackedItem.encode(items, into: &writer)
    case .subscribe(_, let takesPacked): writer.byte(takesPacked ? 1 : 0)
    case .remove(_, let names), .fetch(_, let names):
      writer.varint(names.count)
      for name in names { writer.blob(name) }
    case .list(_, let after, let limit, let isLiveOnly, let author):
      writer.varint(after)
      writer.varint(limit)
      writer.byte(isLiveOnly ? 1 : 0)
      writer.byte(author == nil ? 0 : 1)
      if let author { writer.raw(author) }
    case .fetchAfter(_, let after, let limit):
      writer.varint(after)
      writer.varint(limit)
    case .rotate(_, let generation, let key):
      writer.varint(generation)
      writer.raw(key)
    case .setRank(_, let key, let rank):
      writer.raw(key)
      writer.byte(rank.rawValue)
    default: break
    }
  }

  package init(type: UInt8, from reader: inout ByteReader) throws(CodecError) {
    switch type {
    case 0x01: self = try RelayRequest.hello(from: &reader)
    case 0x03: self = .prove(try RelayProof(from: &reader))
    case 0x04: self = .create(try RelayCreation(from: &reader))
    case 0x10: self = .ping
    case 0x11: self = .goodbye
    default: self = try RelayRequest.ofMailbox(type, from: &reader)
    }
  }

  /// Decodes a request about a whole mailbox: its channel, keys and ranks.
  private static func ofMailbox(
    _ type: UInt8, from reader: inout ByteReader
  ) throws(CodecError) -> RelayRequest {
    switch type {
    case 0x02:
      .open(
        channel: try RelayFields.channel(from: &reader), mailbox: try reader.identifier("mailbox"))
    case 0x05: .close(channel: try RelayFields.channel(from: &reader))
    case 0x0b:
      .subscribe(
        channel: try RelayFields.channel(from: &reader),
        takesPacked: try reader.flag("takes packed"))
    case 0x0c: .unsubscribe(channel: try RelayFields.channel(from: &reader))
    case 0x0d:
      .rotate(
        channel: try RelayFields.channel(from: &reader),
        generation: try RelayFields.position(from: &reader, "access generation"),
        accessKey: try reader.raw(SigningPublicKey.count, "access key"))
    case 0x0e:
      .setRank(
        channel: try RelayFields.channel(from: &reader),
        key: try reader.raw(SigningPublicKey.count, "key"),
        rank: try RelayRank(from: &reader))
    case 0x0f: .roster(channel: try RelayFields.channel(from: &reader))
    case 0x13: .reset(channel: try RelayFields.channel(from: &reader))
    case 0x20:
      .openPublic(
        channel: try RelayFields.channel(from: &reader), mailbox: try reader.identifier("mailbox"))
    default: try ofEntries(type, from: &reader)
    }
  }

  /// Decodes a request about entries of a mailbox.
  ///
  /// - Throws: `unknown` for a type that is no request at all.
  private static func ofEntries(
    _ type: UInt8, from reader: inout ByteReader
  ) throws(CodecError) -> RelayRequest {
    switch type {
    case 0x06:
      .put(
        channel: try RelayFields.channel(from: &reader),
        items: try RelayPut.decodeBatch(from: &reader))
    case 0x07:
      .remove(
        channel: try RelayFields.channel(from: &reader),
        names: try RelayFields.entryNames(from: &reader))
    case 0x08:
      .list(
        channel: try RelayFields.channel(from: &reader),
        after: try RelayFields.position(from: &reader, "position", atLeast: 0),
        limit: try RelayFields.limit(from: &reader, atMost: RelayLimits.maximumListItems),
        isLiveOnly: try reader.flag("live only"),
        author: try reader.flag("author flag")
          ? try reader.raw(SigningPublicKey.count, "author key") : nil)
    case 0x09:
      .fetch(
        channel: try RelayFields.channel(from: &reader),
        names: try RelayFields.entryNames(from: &reader))
    case 0x0a:
      .fetchAfter(
        channel: try RelayFields.channel(from: &reader),
        after: try RelayFields.position(from: &reader, "position", atLeast: 0),
        limit: try RelayFields.limit(from: &reader, atMost: RelayLimits.maximumBatchItems))
    case 0x12:
      .putPacked(
        channel: try RelayFields.channel(from: &reader),
        items: try RelayPackedItem.decodeBatch(from: &reader))
    case 0x21:
      .query(channel: try RelayFields.channel(from: &reader), try PublicQuery(from: &reader))
    default: throw CodecError(.unknown, "frame type", offset: 0)
    }
  }

  private static func hello(from reader: inout ByteReader) throws(CodecError) -> RelayRequest {
    guard try reader.raw(magic.count, "magic") == magic else {
      throw CodecError(.unknown, "magic", offset: reader.offset - magic.count)
    }
    let least = try reader.varint("least version", atMost: Int(UInt16.max))
    let start = reader.offset
    let most = try reader.varint("greatest version", atMost: Int(UInt16.max))
    guard least >= 1, least <= most else {
      throw CodecError(.notCanonical, "greatest version", offset: start)
    }
    return .hello(minimumVersion: least, maximumVersion: most)
  }
}

extension RelayPut {
  /// Reads puts, at least one, whose names and blobs together fit a batch.
  fileprivate static func decodeBatch(
    from reader: inout ByteReader
  ) throws(CodecError) -> [RelayPut] {
    let start = reader.offset
    let number = try RelayFields.itemCount(from: &reader, itemBytes: 4)
    var items: [RelayPut] = []
    items.reserveCapacity(number)
    var byteCount = 0
    for _ in 0..<number {
      let isReplaceable = try reader.flag("put flags")
      let name = try RelayFields.entryName(from: &reader)
      let blob = try reader.blob("blob", atMost: RelayLimits.maximumBlobBytes)
      byteCount += name.count + blob.count
      guard byteCount <= RelayLimits.maximumBatchBytes else {
        throw CodecError(.beyondLimit, "batch", offset: start)
      }
      items.append(RelayPut(name: name, isReplaceable: isReplaceable, blob: blob))
    }
    return items
  }
}
