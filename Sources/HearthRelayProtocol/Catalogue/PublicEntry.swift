import HearthCRDT
import HearthCrypto

/// A relay's handling of the entries of a catalogue's mailbox, which it can read like anybody.
package enum PublicEntry {
  /// Whether an entry may be stored.
  ///
  /// Its name must be correct. It must be replaceable, and signed by the publisher for this
  /// catalogue. The check takes about 0.2 ms.
  package static func isRight(
    _ item: RelayPut, of catalogue: Identifier, by key: SigningPublicKey
  ) -> Bool {
    guard item.isReplaceable else { return false }
    if item.name == PublicName.head {
      guard let head = try? SignedPublicHead(decoding: item.blob),
        let reference = try? CatalogueReference(publisher: key, name: head.head.name)
      else { return false }
      return reference.id == catalogue && (try? head.verify(of: reference)) != nil
    }
    guard let record = try? SignedPublicRecord(decoding: item.blob),
      record.entryName == item.name
    else { return false }
    return (try? record.verify(of: catalogue, by: key)) != nil
  }

  /// Returns the record of an entry, to be indexed by its fields; nil for the head.
  package static func record(name: [UInt8], blob: [UInt8]) -> PublicRecord? {
    guard name != PublicName.head, let signed = try? SignedPublicRecord(decoding: blob),
      signed.entryName == name
    else { return nil }
    return signed.record
  }

  /// Returns the type and id from an entry's name; nil for the head and for names of no record.
  package static func path(ofName name: [UInt8]) -> PublicKeyPath? {
    let parts = name.split(
      separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let path = PublicKeyPath(
      type: String(decoding: parts[0], as: UTF8.self), id: String(decoding: parts[1], as: UTF8.self)
    )
    guard PublicName.isWord(path.type), PublicName.isID(path.id) else { return nil }
    return path
  }
}
