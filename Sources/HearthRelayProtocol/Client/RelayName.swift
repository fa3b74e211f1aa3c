import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// The spelling of every entry's name at a relay.
///
/// A name consists of a kind byte and fixed fields. The zone's tag is the mailbox's own name and is
/// not repeated.
package enum RelayName: Hashable, Sendable {
  /// A segment of the mailbox's zone.
  case segment(SegmentName)
  /// A chunk of a snapshot of the mailbox's zone.
  case chunk(BlobName)
  /// A chunk of an attachment of the mailbox's zone.
  case attachment(BlobName)
  /// An invitation bundle or recovery bundle.
  case capsule(Identifier)
  /// A key that is sealed to a recipient, in a rekey handoff.
  case grant(Identifier)

  private enum Kind: UInt8 {
    case segment = 1
    case chunk = 2
    case capsule = 3
    case grant = 4
    case attachment = 5
  }

  /// Returns the name of a recipient's sealed key in the rekey handoff behind an earlier key.
  package static func grant(to recipient: Identifier, behind key: MailboxKey) -> RelayName {
    .grant(derivedIdentifier("HRTH/relay-grant/v1", recipient.bytes, key.id))
  }

  /// The name's bytes.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 60)
    switch self {
    case .segment(let name):
      writer.byte(Kind.segment.rawValue)
      writer.identifier(name.authorTag)
      writer.fixed64(name.incarnation)
      writer.fixed64(name.first)
      writer.fixed64(name.last)
      writer.identifier(name.digest)
    case .chunk(let name):
      writer.byte(Kind.chunk.rawValue)
      writer.identifier(name.group)
      writer.fixed64(UInt64(name.index))
      writer.fixed64(UInt64(name.count))
      writer.identifier(name.digest)
    case .attachment(let name):
      writer.byte(Kind.attachment.rawValue)
      writer.identifier(name.digest)
    case .capsule(let scope):
      writer.byte(Kind.capsule.rawValue)
      writer.identifier(scope)
    case .grant(let id):
      writer.byte(Kind.grant.rawValue)
      writer.identifier(id)
    }
    return writer.bytes
  }

  /// Whether a name says that it is an attachment's, and a blob is not what the name says.
  ///
  /// Such a name is the digest of its blob. A name is stored once, so a relay that did not compare
  /// them would let others' content be kept out.
  package static func isForged(_ name: [UInt8], of blob: [UInt8]) -> Bool {
    guard name.first == Kind.attachment.rawValue,
      name.count == 1 + Identifier.byteCount
    else { return false }
    return Array(name.dropFirst()) != segmentDigest(blob).bytes
  }

  /// Reads a name; nil for anything that ``bytes`` would not have written.
  ///
  /// - Parameter zoneTag: the mailbox's name.
  package init?(_ bytes: [UInt8], zoneTag: Identifier) {
    var reader = ByteReader(bytes)
    guard let name = try? RelayName(from: &reader, zoneTag), (try? reader.finish()) != nil else {
      return nil
    }
    self = name
  }

  private init(from reader: inout ByteReader, _ zoneTag: Identifier) throws(CodecError) {
    let place = reader.offset
    let kind = Kind(rawValue: try reader.byte("kind of name"))
    switch kind {
    case .segment:
      let name = SegmentName(
        zoneTag: zoneTag, authorTag: try reader.identifier("author"),
        incarnation: try reader.fixed64("incarnation"), first: try reader.fixed64("first"),
        last: try reader.fixed64("last"), digest: try reader.identifier("digest"))
      guard name.first >= 1, name.first <= name.last, name.last <= Frontier.maximumSequence else {
        throw CodecError(.notCanonical, "range", offset: place)
      }
      self = .segment(name)
    case .chunk:
      let group = try reader.identifier("snapshot")
      let index = try reader.fixed64("index")
      let count = try reader.fixed64("count")
      guard index < count, count <= UInt64(UInt32.max) else {
        throw CodecError(.notCanonical, "chunk", offset: place)
      }
      self = .chunk(
        BlobName(
          kind: .snapshot, scope: zoneTag, group: group, index: Int(index), count: Int(count),
          digest: try reader.identifier("digest")))
    case .attachment:
      self = .attachment(
        BlobName(kind: .attachment, scope: zoneTag, digest: try reader.identifier("digest")))
    case .capsule: self = .capsule(try reader.identifier("capsule"))
    case .grant: self = .grant(try reader.identifier("grant"))
    case nil: throw CodecError(.unknown, "kind of name", offset: place)
    }
  }
}
