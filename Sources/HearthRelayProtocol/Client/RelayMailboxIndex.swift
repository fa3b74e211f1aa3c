import HearthCRDT
import HearthCrypto

/// A client's knowledge of one mailbox at one relay: its names, and the last known log position.
///
/// The index is stored durably, so that a later session requests only new entries. It also reveals
/// a relay that lost, set back or exchanged the log: the client computes the chain itself from the
/// listings.
package struct RelayMailboxIndex: Sendable, Equatable {
  /// The mailbox.
  package let mailbox: Identifier
  /// The known generation of the log; nil before the first listing.
  package private(set) var generation: Identifier?
  /// The last known position.
  package private(set) var position: UInt64
  /// ``RelayChain`` at that position.
  package private(set) var chain: Bytes32
  /// The names with a blob, and its length.
  private var names: [[UInt8]: Int]

  /// The most names to keep of one mailbox; a relay's own limit of entries is lower, so that no
  /// member can bring it about.
  package static let maximumNames = 1_000_000
  /// The most entries of a log that a client lists; no relay's limit of entries is as high.
  package static let maximumEntries: UInt64 = 2_000_000
  private static let version: UInt8 = 1

  /// Creates an empty index.
  package init(mailbox: Identifier) {
    self.mailbox = mailbox
    generation = nil
    position = 0
    chain = Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
    names = [:]
  }

  /// The known end of the log; nil before the first listing.
  package var cursor: RelayCursor? {
    generation.map { RelayCursor(generation: $0, position: position) }
  }

  /// The names that have a blob, sorted.
  package var sortedNames: [[UInt8]] {
    names.keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// How many names have a blob.
  package var count: Int { names.count }

  /// The length of a name's blob; nil if there is none.
  package func byteCount(of name: [UInt8]) -> Int? { names[name] }

  /// Discards everything and begins with another generation of the log.
  package mutating func begin(generation: Identifier) {
    self.generation = generation
    position = 0
    chain = RelayChain.start(mailbox: mailbox, generation: generation)
    names = [:]
  }

  /// Takes a page of a listing that follows the known part.
  ///
  /// - Returns: false, with nothing changed, if the page does not continue this log: positions with
  ///   gaps, another chain, or an end before the known position.
  package mutating func take(_ page: RelayListing) -> Bool {
    // The page is verified before it is taken: a copy to fall back to would cost all names for
    // each page.
    var (end, link) = (position, chain)
    for header in page.headers {
      guard generation != nil, header.position == end + 1 else { return false }
      link = RelayChain.next(link, header)
      end = header.position
    }
    guard end == page.through, page.through <= page.head,
      link == page.chain || Mutant.skipsRelayChain.isActive
    else {
      return false
    }
    (position, chain) = (end, link)
    for header in page.headers { note(header) }
    return true
  }

  /// Takes an entry that this client just stored, if it directly follows the known part.
  ///
  /// - Returns: whether it did. Otherwise the next listing reports it.
  @discardableResult
  package mutating func append(_ header: RelayHeader) -> Bool {
    guard generation != nil, header.position == position + 1 else { return false }
    chain = RelayChain.next(chain, header)
    position = header.position
    note(header)
    return true
  }

  private mutating func note(_ header: RelayHeader) {
    switch header.kind {
    case .put: if header.isLive { names[header.name] = header.byteCount }
    case .remove: names[header.name] = nil
    }
  }

  /// The stored form.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 64 + names.count * 64)
    writer.byte(RelayMailboxIndex.version)
    writer.identifier(mailbox)
    writer.byte(generation == nil ? 0 : 1)
    if let generation { writer.identifier(generation) }
    writer.varint(position)
    writer.raw(chain.array)
    writer.varint(names.count)
    for name in sortedNames {
      writer.blob(name)
      writer.varint(names[name] ?? 0)
    }
    return writer.bytes
  }

  /// Reads what ``encoded`` wrote.
  ///
  /// - Throws: `CodecError`. Nothing is then known of the mailbox, which costs a listing.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    guard try reader.byte("index version") == RelayMailboxIndex.version else {
      throw CodecError(.unknown, "index version", offset: 0)
    }
    mailbox = try reader.identifier("mailbox")
    generation = try reader.byte("generation flag") == 1 ? reader.identifier("generation") : nil
    position = try reader.varint("position")
    chain = Bytes32(exactly: try reader.raw(Bytes32.count, "chain"))
    let count = try reader.count(
      "names", itemBytes: 3, atMost: RelayMailboxIndex.maximumNames)
    names = Dictionary(minimumCapacity: count)
    for _ in 0..<count {
      let name = try reader.blob("name", atMost: RelayLimits.maximumNameBytes)
      names[name] = try reader.varint("length", atMost: RelayLimits.maximumBlobBytes)
    }
    try reader.finish()
  }
}
