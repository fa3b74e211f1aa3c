import HearthCRDT
import HearthCrypto

extension Identifier {
  /// Creates an identifier from the crypto module's sixteen bytes.
  init(_ bytes: Bytes16) {
    guard let identifier = Identifier(bytes: bytes.array) else {
      preconditionFailure("sixteen bytes are an identifier")
    }
    self = identifier
  }

  /// Creates an identifier from stored bytes.
  ///
  /// - Throws: `corrupt` if they have another length.
  init(checking bytes: [UInt8]) throws {
    guard let identifier = Identifier(bytes: bytes) else {
      throw SyncError(.corrupt, "an id has \(bytes.count) bytes instead of 16")
    }
    self = identifier
  }

  /// A random identifier, from the only source of randomness.
  package static func random() throws -> Identifier {
    try Identifier(checking: RandomBytes.make(Identifier.byteCount))
  }
}

extension UInt64 {
  /// The number as eight big-endian bytes, as facts store it.
  package var fixedBytes: [UInt8] {
    var writer = ByteWriter(capacity: 8)
    writer.fixed64(self)
    return writer.bytes
  }
}
