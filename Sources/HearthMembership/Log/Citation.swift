import HearthCRDT

/// The version of another log that the author of a control change had seen, by content.
///
/// The cause contains only a sequence number. The chain hash keeps an author who published two
/// branches under one number from choosing afterwards which of them others had seen.
package struct Citation: Equatable, Sendable {
  let author: Author
  /// The first ``hashBytes`` bytes of the chain hash.
  let hash: [UInt8]

  static let hashBytes = 16

  package init(author: Author, chainHash: [UInt8]) {
    self.author = author
    hash = Array(chainHash.prefix(Citation.hashBytes))
  }

  private static let list = ControlCodec<[Citation]>.sorted(
    "citations", itemBytes: 40, atMost: Limits.maximumAuthors,
    of: ControlCodec(
      Citation.init, (\.author, .author("cited author")), (\.hash, .raw(hashBytes, "cited hash")))
  ) { $0.author < $1.author }

  /// The canonical bytes of citations in order of author.
  package static func encoded(_ citations: [Citation]) -> [UInt8] {
    var writer = ByteWriter(capacity: citations.count * 40 + 2)
    list.write(citations, &writer)
    return writer.bytes
  }

  /// Reads citations; returns none if the bytes are not canonical, since nothing is cited then.
  static func decoded(_ bytes: [UInt8]) -> [Citation] {
    var reader = ByteReader(bytes)
    guard let citations = try? list.read(&reader), reader.remaining == 0 else { return [] }
    return citations
  }

  /// The citations that an event contains.
  package static func of(_ fields: [EventField]) -> [Citation] {
    guard
      let bytes = fields.first(where: { $0.field == ControlOperation.citationField })?.value.bytes
    else { return [] }
    return decoded(bytes)
  }
}
