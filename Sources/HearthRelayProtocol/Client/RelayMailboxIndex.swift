import HearthCRDT
import HearthCrypto

/// What a client remembers of one mailbox at one relay: its names, and how far it has looked.
///
/// Kept durably, so that a later session asks for news only, and so that a relay that lost, set
/// back or exchanged the log is noticed: the chain is computed here, from what was listed.
package struct RelayMailboxIndex: Sendable, Equatable {
  /// The mailbox.
  package let mailbox: Identifier
  /// The life of the log that is known; nil before the first look.
  package private(set) var generation: Identifier?
  /// The last position that is known.
  package private(set) var position: UInt64
  /// ``RelayChain`` at that position.
  package private(set) var chain: Bytes32
  /// The names with a blob, and its length.
  private var names: [[UInt8]: Int]

  /// The greatest number of names that are kept of one mailbox.
  package static let maximumNames = 1_000_000
  private static let version: UInt8 = 1

  /// Nothing is known.
  package init(mailbox: Identifier) {
    self.mailbox = mailbox
    generation = nil
    position = 0
    chain = Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
    names = [:]
  }

  /// How far the log is known; nil before the first look.
  package var cursor: RelayCursor? {
    generation.map { RelayCursor(generation: $0, position: position) }
  }

  /// The names that have a blob, sorted.
  package var sortedNames: [[UInt8]] {
    names.keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// How many names have a blob.
  package var count: Int { names.count }

  /// The length of a name's blob; nil where there is none.
  package func byteCount(of name: [UInt8]) -> Int? { names[name] }

  /// Forgets everything and begins with another life of the log.
  package mutating func begin(generation: Identifier) {
    self.generation = generation
    position = 0
    chain = RelayChain.start(mailbox: mailbox, generation: generation)
    names = [:]
  }

  /// Takes a page of a listing that follows what is known.
  ///
  /// - Returns: false, with nothing changed, where it does not continue this log: positions with
  ///   gaps, another chain, an end before what is known.
  package mutating func take(_ page: RelayListing) -> Bool {
    var next = self
    for header in page.headers {
      guard next.append(header) else { return false }
    }
    guard next.position == page.through, page.through <= page.head,
      next.chain == page.chain || Mutant.skipsRelayChain.isActive
    else {
      return false
    }
    self = next
    return true
  }

  /// Takes an entry that was just stored by this client, if it directly follows.
  ///
  /// - Returns: whether it did; otherwise the next listing tells of it.
  @discardableResult
  package mutating func append(_ header: RelayHeader) -> Bool {
    guard generation != nil, header.position == position + 1 else { return false }
    chain = RelayChain.next(chain, header)
    position = header.position
    switch header.kind {
    case .put: if header.isLive { names[header.name] = header.byteCount }
    case .remove: names[header.name] = nil
    }
    return true
  }

  /// The bytes that are kept.
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
  /// - Throws: `CodecError`; then nothing is known of the mailbox, which costs a listing.
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
