import HearthCRDT
import HearthCrypto
import HearthSync

/// The identity of a catalogue: a publisher's key and a name of the publisher's choice.
package struct CatalogueReference: Hashable, Sendable {
  /// The key that signs the catalogue.
  package let publisher: SigningPublicKey
  /// The catalogue's name, 1 to 32 of `a-z`, `0-9` and hyphens.
  package let name: String

  /// - Throws: `SyncError.malformed` for an invalid name.
  package init(publisher: SigningPublicKey, name: String) throws {
    guard PublicName.isWord(name) else {
      throw SyncError(
        .malformed,
        "a catalogue's name is 1 to \(PublicLimits.maximumNameBytes) of a-z, 0-9 and hyphens")
    }
    self.publisher = publisher
    self.name = name
  }

  /// BLAKE2b-128("HRTH/catalogue-id/v1" ‖ key ‖ name): the catalogue's mailbox at every relay.
  package var id: Identifier { CatalogueReference.id(publisher: publisher.bytes, name: name) }

  /// The id of a catalogue by the 32 bytes of its publisher's key.
  package static func id(publisher: [UInt8], name: String) -> Identifier {
    var hasher = Blake2b.Hasher(count: Identifier.byteCount)
    hasher.update("HRTH/catalogue-id/v1" as Domain)
    hasher.update(publisher)
    hasher.update(Array(name.utf8))
    guard let id = Identifier(bytes: hasher.finalize()) else {
      preconditionFailure("an id of \(Identifier.byteCount) bytes")
    }
    return id
  }

  /// ``fingerprint(of:)`` of the publisher.
  package var fingerprint: String { CatalogueReference.fingerprint(of: publisher) }

  /// The first 16 base 32 characters of a key's digest, in groups of four, for people to compare.
  package static func fingerprint(of publisher: SigningPublicKey) -> String {
    let digest = Blake2b.hash(
      ("HRTH/publisher-print/v1" as Domain).bytes + publisher.bytes, count: 16)
    let text = Array(Base32.encode(digest).prefix(16))
    return stride(from: 0, to: 16, by: 4).map { String(text[$0..<$0 + 4]) }
      .joined(separator: "-")
  }
}

/// A version of a catalogue: the number of its records, and a digest over all of them.
package struct PublicHead: Hashable, Sendable {
  /// The signer's key, 32 bytes.
  package let publisher: [UInt8]
  /// The catalogue's name.
  package let name: String
  /// The version's number.
  ///
  /// It rises with every change, from 1.
  package let version: UInt64
  /// The number of the previous version; 0 for the first.
  package let previous: UInt64
  /// The number of records.
  package let count: Int
  /// ``root(of:in:)`` over the records.
  package let root: Bytes32
  /// The time of publication, in milliseconds since 1970, by the publisher's clock.
  package let publishedAt: UInt64

  package init(
    of catalogue: CatalogueReference, version: UInt64, previous: UInt64, count: Int,
    root: Bytes32, publishedAt: UInt64
  ) {
    publisher = catalogue.publisher.bytes
    name = catalogue.name
    self.version = version
    self.previous = previous
    self.count = count
    self.root = root
    self.publishedAt = min(publishedAt, PublicLimits.maximumNumber)
  }

  /// The catalogue's id.
  package var catalogue: Identifier {
    CatalogueReference.id(publisher: publisher, name: name)
  }

  /// BLAKE2b-256("HRTH/public-root/v1" ‖ catalogue id ‖ count ‖ type, id and digest of each).
  ///
  /// Records are in order of type and id; texts follow their lengths.
  package static func root(
    of digests: [(path: PublicKeyPath, digest: Bytes32)], in catalogue: Identifier
  ) -> Bytes32 {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update("HRTH/public-root/v1" as Domain)
    hasher.update(catalogue.bytes)
    hasher.update(UInt64(digests.count))
    for (path, digest) in digests {
      hasher.updateDelimited(Array(path.type.utf8))
      hasher.updateDelimited(Array(path.id.utf8))
      hasher.update(digest.array)
    }
    return Bytes32(exactly: hasher.finalize())
  }

  /// The canonical bytes.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 192)
    writer.byte(PublicLimits.formatVersion)
    writer.raw(publisher)
    writer.text(name)
    writer.varint(version)
    writer.varint(previous)
    writer.varint(count)
    writer.raw(root.array)
    writer.varint(publishedAt)
    return writer.bytes
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    try PublicLimits.checkFormatVersion(from: &reader)
    publisher = try reader.raw(SigningPublicKey.count, "publisher")
    name = try PublicName.word(from: &reader, "catalogue name")
    version = try RelayFields.position(from: &reader, "version")
    let start = reader.offset
    previous = try RelayFields.position(from: &reader, "previous version", atLeast: 0)
    guard previous < version else {
      throw CodecError(.notCanonical, "previous version", offset: start)
    }
    count = try reader.varint("record count", atMost: PublicLimits.maximumRecords)
    root = try RelayFields.bytes32(from: &reader, "root")
    publishedAt = try RelayFields.position(from: &reader, "time of publishing", atLeast: 0)
  }
}

/// A head with its publisher's signature.
package struct SignedPublicHead: Hashable, Sendable {
  /// The head.
  package let head: PublicHead
  /// The head's canonical bytes, then 64 bytes of signature.
  package let bytes: [UInt8]

  /// Signs a head.
  package init(_ head: PublicHead, by publisher: PublisherIdentity) {
    let encoded = head.encoded
    self.head = head
    bytes = encoded + publisher.sign(head: encoded, of: head.catalogue.bytes)
  }

  /// Reads a signed head without verifying the signature.
  ///
  /// - Throws: `CodecError`.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    guard bytes.count <= PublicLimits.maximumHeadBytes else {
      throw CodecError(.beyondLimit, "head", offset: 0)
    }
    var reader = ByteReader(bytes)
    head = try PublicHead(from: &reader)
    _ = try reader.raw(Signature.count, "signature")
    try reader.finish()
    self.bytes = bytes
  }

  /// Verifies the head's catalogue and signature.
  ///
  /// Takes about 0.2 ms.
  ///
  /// - Throws: `SyncError.notAuthentic` for another publisher or catalogue, or a bad signature.
  package func verify(of catalogue: CatalogueReference) throws {
    guard head.publisher == catalogue.publisher.bytes, head.name == catalogue.name else {
      throw SyncError(.notAuthentic, "it is another catalogue, or another publisher's")
    }
    let split = bytes.count - Signature.count
    do {
      try PublisherIdentity.verify(
        Array(bytes[split...]), head: Array(bytes[..<split]), of: catalogue.id.bytes,
        by: catalogue.publisher)
    } catch {
      throw SyncError(
        .notAuthentic, "version \(head.version) was not signed by the catalogue's publisher",
        cause: error)
    }
  }
}
