import HearthCRDT
import HearthCrypto
import HearthSync

/// One value of an indexed field.
///
/// A field with several values occurs several times.
package struct PublicField: Hashable, Comparable, Sendable {
  /// The field's name.
  package let name: String
  /// The value.
  package let value: PublicValue

  package init(_ name: String, _ value: PublicValue) {
    self.name = name
    self.value = value
  }

  package static func < (left: PublicField, right: PublicField) -> Bool {
    if left.name == right.name { return left.value < right.value }
    return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
  }
}

/// The position of a record in its catalogue: by type, then by id.
package struct PublicKeyPath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The type, such as `challenge`.
  package let type: String
  /// The id, unique within the type.
  package let id: String

  package init(type: String, id: String) {
    self.type = type
    self.id = id
  }

  package var description: String { "\(type)/\(id)" }

  package static func < (left: PublicKeyPath, right: PublicKeyPath) -> Bool {
    if left.type == right.type { return left.id.utf8.lexicographicallyPrecedes(right.id.utf8) }
    return left.type.utf8.lexicographicallyPrecedes(right.type.utf8)
  }
}

/// A publisher's public record: an item of a type, with fields to search for it.
package struct PublicRecord: Hashable, Sendable {
  /// Type and id.
  package let path: PublicKeyPath
  /// The catalogue's version in which this record last changed.
  package let revision: UInt64
  /// The indexed fields, in ascending order, without duplicates.
  package let fields: [PublicField]
  /// The item itself, usually canonical JSON.
  ///
  /// This module does not interpret it.
  package let body: String

  /// Creates a record from its parts.
  ///
  /// Fields are sorted and duplicates dropped.
  ///
  /// - Throws: `SyncError.malformed`, naming what is beyond its limit.
  package init(
    type: String, id: String, revision: UInt64, fields: [PublicField], body: String
  ) throws {
    let sorted = Set(fields).sorted()
    func refuse(_ words: String) -> SyncError {
      SyncError(.malformed, "the record \(type)/\(id) cannot be published: \(words)")
    }
    guard PublicName.isWord(type) else {
      throw refuse("a type is 1 to \(PublicLimits.maximumNameBytes) of a-z, 0-9 and hyphens")
    }
    guard PublicName.isID(id) else {
      throw refuse("an id is 1 to \(PublicLimits.maximumIDBytes) of a-z, 0-9, - and _")
    }
    guard (1...PublicLimits.maximumNumber).contains(revision) else {
      throw refuse("its revision is out of range")
    }
    guard sorted.count <= PublicLimits.maximumFields else {
      throw refuse("it has more than \(PublicLimits.maximumFields) indexed values")
    }
    for field in sorted {
      guard PublicName.isField(field.name) else {
        throw refuse("\(field.name) is not a field name")
      }
      if case .text(let text) = field.value, text.utf8.count > PublicLimits.maximumFieldTextBytes {
        throw refuse("\(field.name) has more than \(PublicLimits.maximumFieldTextBytes) bytes")
      }
    }
    guard body.utf8.count <= PublicLimits.maximumBodyBytes else {
      throw refuse("its body has more than \(PublicLimits.maximumBodyBytes) bytes")
    }
    path = PublicKeyPath(type: type, id: id)
    self.revision = revision
    self.fields = sorted
    self.body = body
  }

  /// Whether two records have the same content, regardless of their revisions.
  package func hasContent(of other: PublicRecord) -> Bool {
    path == other.path && fields == other.fields && body.utf8.elementsEqual(other.body.utf8)
  }

  /// Returns the same record in another revision.
  package func with(revision: UInt64) throws -> PublicRecord {
    try PublicRecord(
      type: path.type, id: path.id, revision: revision, fields: fields, body: body)
  }

  /// The canonical bytes.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: body.utf8.count + fields.count * 40 + 96)
    writer.byte(PublicLimits.formatVersion)
    writer.text(path.type)
    writer.text(path.id)
    writer.varint(revision)
    writer.varint(fields.count)
    for field in fields {
      writer.text(field.name)
      field.value.encode(into: &writer)
    }
    writer.text(body)
    return writer.bytes
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    try PublicLimits.checkFormatVersion(from: &reader)
    path = PublicKeyPath(
      type: try PublicName.word(from: &reader, "type"),
      id: try PublicName.decode(
        from: &reader, "id", atMost: PublicLimits.maximumIDBytes, PublicName.isID))
    revision = try RelayFields.position(from: &reader, "revision")
    let number = try reader.count("fields", itemBytes: 3, atMost: PublicLimits.maximumFields)
    var fields: [PublicField] = []
    fields.reserveCapacity(number)
    for _ in 0..<number {
      let start = reader.offset
      let name = try PublicName.decode(
        from: &reader, "field name", atMost: PublicLimits.maximumFieldNameBytes, PublicName.isField)
      let field = PublicField(name, try PublicValue(from: &reader))
      if let last = fields.last, field <= last {
        throw CodecError(.notCanonical, "field", offset: start)
      }
      fields.append(field)
    }
    self.fields = fields
    body = try reader.text("body", atMost: PublicLimits.maximumBodyBytes)
  }
}

/// A record with its publisher's signature, as stored at relays, in packs and at readers.
package struct SignedPublicRecord: Hashable, Sendable {
  /// The record.
  package let record: PublicRecord
  /// The record's canonical bytes, then 64 bytes of signature.
  package let bytes: [UInt8]

  /// Signs a record for a catalogue.
  package init(_ record: PublicRecord, of catalogue: Identifier, by publisher: PublisherIdentity) {
    let encoded = record.encoded
    self.record = record
    bytes = encoded + publisher.sign(record: encoded, of: catalogue.bytes)
  }

  /// Reads a signed record without verifying the signature.
  ///
  /// - Throws: `CodecError`.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    guard bytes.count <= PublicLimits.maximumRecordBytes else {
      throw CodecError(.beyondLimit, "record", offset: 0)
    }
    var reader = ByteReader(bytes)
    record = try PublicRecord(from: &reader)
    _ = try reader.raw(Signature.count, "signature")
    try reader.finish()
    self.bytes = bytes
  }

  /// Verifies the signature.
  ///
  /// Takes about 0.2 ms.
  ///
  /// - Throws: `SyncError.notAuthentic`.
  package func verify(of catalogue: Identifier, by key: SigningPublicKey) throws {
    let split = bytes.count - Signature.count
    do {
      try PublisherIdentity.verify(
        Array(bytes[split...]), record: Array(bytes[..<split]), of: catalogue.bytes, by: key)
    } catch {
      throw SyncError(
        .notAuthentic, "the record \(record.path) was not signed by the catalogue's publisher",
        cause: error)
    }
  }

  /// BLAKE2b-256("HRTH/public-digest/v1" ‖ bytes), a component of the version's root.
  package var digest: Bytes32 {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update("HRTH/public-digest/v1" as Domain)
    hasher.update(bytes)
    return Bytes32(exactly: hasher.finalize())
  }

  /// The name of the record's entry at a relay.
  package var entryName: [UInt8] {
    PublicName.entry(type: record.path.type, id: record.path.id)
  }
}
