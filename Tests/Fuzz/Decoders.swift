import HearthCRDT
import HearthCrypto

@testable import HearthMembership
@testable import HearthRelayProtocol
@testable import HearthSync

/// Every decoder by its name; each makes once what it needs and then reads any number of inputs.
let decoders: [String: @Sendable () throws -> Decoder] = [
  "batch": { batchDecoder }, "change": { changeDecoder }, "state": { stateDecoder },
  "event": { eventDecoder }, "control": { controlDecoder }, "anchor": { anchorDecoder },
  "snapshot": { snapshotDecoder }, "segment": segmentDecoder, "capsule": capsuleDecoder,
  "keyfile": keyFileDecoder, "invite": { inviteDecoder }, "words": { wordsDecoder },
  "relayrequest": { relayRequestDecoder }, "relayreply": { relayReplyDecoder },
  "publicrecord": { publicRecordDecoder }, "publichead": { publicHeadDecoder },
  "publicpack": { publicPackDecoder },
]

private let authors = AuthorTable(
  (0..<4).map {
    Author(device: DeviceID(high: 7, low: $0), incarnation: 1 << 32 | $0)
  })

// MARK: - HearthCRDT

private let batchDecoder: Decoder = { bytes in
  var changes = try ChangeBatch.decode(bytes, incarnation: 1 << 32, first: 1)
  for place in changes.indices.dropFirst() { changes[place].previousHash = [] }
  // An older version is still read: the layout is the same, and only the newest is written.
  var again = ChangeBatch.encode(changes)
  again[0] = bytes[0]
  return again
}

private let changeDecoder: Decoder = { bytes in
  var writer = ByteWriter()
  try Change(decoding: bytes).encode(into: &writer)
  return writer.bytes
}

private let stateDecoder: Decoder = { bytes in
  var writer = ByteWriter()
  var reader = ByteReader(bytes)
  let state = try RecordState(from: &reader, authors: authors, values: .all)
  try reader.finish()
  state.encode(into: &writer, authors: authors, values: .all)
  return writer.bytes
}

private let eventDecoder: Decoder = { bytes in
  var writer = ByteWriter()
  var reader = ByteReader(bytes)
  let type = TypeID.event(1, keepsCause: true)
  let event = try EventState(from: &reader, authors: authors, type: type)
  try reader.finish()
  event.encode(into: &writer, authors: authors, type: type)
  return writer.bytes
}

// MARK: - HearthSync

private let controlDecoder: Decoder = { bytes in
  let operation = try ControlOperation(decoding: bytes)
  if case .unknown = operation { return nil }
  return operation.encoded
}

private let anchorDecoder: Decoder = { try Anchor(decoding: $0).encoded }

/// What was unpacked is packed again and is the same; what fits nothing is passed over.
private func unpack(_ items: [RelayPackedItem]) throws {
  guard let puts = try? packingBase.unpack(items) else { return }
  let again = try packingBase.unpack(packingBase.pack(puts))
  precondition(again == puts, "unpacked \(puts), and packed and unpacked \(again)")
}

private let relayRequestDecoder: Decoder = {
  let frame = try RelayFrame<RelayRequest>(decoding: $0)
  if case .putPacked(_, let items) = frame.message { try unpack(items) }
  return Array(frame.encoded.dropFirst(RelayFraming.lengthBytes))
}

private let relayReplyDecoder: Decoder = {
  let frame = try RelayFrame<RelayReply>(decoding: $0)
  if case .pushedPacked(_, _, let items) = frame.message { try unpack(items) }
  return Array(frame.encoded.dropFirst(RelayFraming.lengthBytes))
}

private let publicRecordDecoder: Decoder = { bytes in
  let signed = try SignedPublicRecord(decoding: bytes)
  return signed.record.encoded + bytes.suffix(Signature.count)
}

private let publicHeadDecoder: Decoder = { bytes in
  let signed = try SignedPublicHead(decoding: bytes)
  return signed.head.encoded + bytes.suffix(Signature.count)
}

private let publicPackDecoder: Decoder = { try PublicPack(decoding: $0).encoded }

private let snapshotDecoder: Decoder = { bytes in
  // The zone is whichever the stream says.
  var prefix = ByteReader(bytes)
  _ = try prefix.byte("snapshot version")
  var reader = try SnapshotReader(bytes, zone: try prefix.identifier("zone"))
  let table = AuthorTable(reader.authors)
  while let block = try reader.nextBlock() {
    for (_, record) in block {
      // What was read can be written: no number of an author is missing.
      if case .record(let state) = record {
        var writer = ByteWriter()
        state.encode(into: &writer, authors: table, values: .all)
      }
    }
  }
  return nil
}
