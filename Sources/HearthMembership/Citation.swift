import HearthCRDT

/// What the author of a change of the control zone had seen of another log, by content.
///
/// The number of the change is that of the cause; this is the chain hash after it. So an author who
/// published two histories under one number cannot choose afterwards which of them others had seen.
package struct Citation: Equatable, Sendable {
  let author: Author
  /// The first bytes of the chain hash.
  let hash: [UInt8]

  /// How many bytes of a chain hash are cited.
  static let hashBytes = 16

  package init(author: Author, chainHash: [UInt8]) {
    self.author = author
    hash = Array(chainHash.prefix(Citation.hashBytes))
  }

  /// The canonical bytes of citations in order of author.
  package static func encoded(_ citations: [Citation]) -> [UInt8] {
    var writer = ByteWriter(capacity: citations.count * 40 + 2)
    writer.varint(citations.count)
    for citation in citations {
      writer.author(citation.author)
      writer.raw(citation.hash)
    }
    return writer.bytes
  }

  /// Reads citations; none where the bytes are not canonical, as nothing is cited then.
  static func decoded(_ bytes: [UInt8]) -> [Citation] {
    var reader = ByteReader(bytes)
    var citations: [Citation] = []
    do {
      let count = try reader.count("citations", itemBytes: 40, atMost: Limits.maximumAuthors)
      for _ in 0..<count {
        let author = try reader.author("cited author")
        guard citations.last.map({ $0.author < author }) ?? true else { return [] }
        citations.append(
          Citation(author: author, chainHash: try reader.raw(hashBytes, "cited hash")))
      }
      try reader.finish()
    } catch {
      return []
    }
    return citations
  }

  /// The citations that an event carries.
  package static func of(_ fields: [EventField]) -> [Citation] {
    guard
      let bytes = fields.first(where: { $0.field == ControlOperation.citationField })?.value.bytes
    else { return [] }
    return decoded(bytes)
  }
}
