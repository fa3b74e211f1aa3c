import HearthCRDT
import HearthMembership

/// The port to the small file beside the database by which a node knows its own data again.
package protocol AnchorFile {
  /// The file's bytes; nil if it does not exist or is larger than `limit` bytes.
  func read(atMost limit: Int) throws -> [UInt8]?
  /// Replaces the file durably.
  func replace(_ bytes: [UInt8]) throws
  /// What the operating system knows the file by; another after every copy and every restore.
  func identity() throws -> [UInt8]
}

/// The mark outside the database that tells whether the node's data was restored or copied.
///
/// The file holds a generation and how far the own logs had come; the database holds the same
/// generation with the file's identity. A copied or restored file has another identity, a restored
/// database an older generation; either way the node starts a new life, even offline. The file is
/// written first and the database after; a crash in between leaves the file one generation ahead,
/// and the node begins a new life to be safe, as its identity is then noted nowhere.
package struct Anchor: Equatable, Sendable {
  /// How far one own log is sealed.
  struct Sealed: Equatable, Sendable {
    let zone: ZoneID
    let sequence: UInt64
  }

  /// What comparing the two marks says.
  package enum Verdict: Equatable, Sendable {
    case same
    /// In words, for the node's person.
    case moved(String)
  }

  let generation: UInt64
  let incarnation: UInt64
  let sealed: [Sealed]

  private static let fact = Fact(bytes: "anchor")
  private static let version: UInt8 = 1
  /// The largest file that can be an anchor, in bytes.
  package static let maximumBytes = 1024 * 1024

  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 64)
    writer.byte(Anchor.version)
    writer.fixed64(generation)
    writer.fixed64(incarnation)
    writer.varint(sealed.count)
    for item in sealed {
      writer.identifier(item.zone)
      writer.varint(item.sequence)
    }
    return writer.bytes
  }

  init(generation: UInt64, incarnation: UInt64, sealed: [Sealed]) {
    self.generation = generation
    self.incarnation = incarnation
    self.sealed = sealed
  }

  /// Reads an anchor.
  ///
  /// - Throws: `CodecError` if the bytes are not one, `SyncError` if they are of a newer program.
  init(decoding bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    guard try reader.byte("rollback guard version") == Anchor.version else {
      throw SyncError(.malformed, "a newer version wrote the rollback guard: update this program")
    }
    generation = try reader.fixed64("generation")
    incarnation = try reader.fixed64("incarnation")
    var sealed: [Sealed] = []
    for _ in 0..<(try reader.count("zones", itemBytes: 17)) {
      let zone = try reader.identifier("zone")
      sealed.append(Sealed(zone: zone, sequence: try reader.varint("sequence")))
    }
    try reader.finish()
    self.sealed = sealed
  }

  /// Drops a new anchor if the last one does not say how far the own logs are sealed.
  package static func keepUp<S: Store>(
    _ file: some AnchorFile, with engine: Engine<S>
  ) throws {
    if let held = try read(file), held.incarnation == engine.incarnation,
      held.sealed == (try sealed(by: engine)),
      held.generation == (try notedGeneration(in: engine.store))
    {
      return
    }
    try drop(file, for: engine)
  }

  private static func sealed<S: Store>(by engine: Engine<S>) throws -> [Sealed] {
    try engine.zones.compactMap { zone in
      let last = try engine.store.log.segments(of: zone.id).filter { $0.author == engine.author }
        .map(\.last).max()
      return last.map { Sealed(zone: zone.id, sequence: $0) }
    }
  }

  /// Drops a new anchor: notes in the file, then in the database, how far the own logs are sealed.
  package static func drop<S: Store>(_ file: some AnchorFile, for engine: Engine<S>) throws {
    let store = engine.store
    let noted = try notedGeneration(in: store)
    let held = (try? read(file))?.generation ?? 0
    let anchor = Anchor(
      generation: max(noted, held) + 1, incarnation: engine.incarnation,
      sealed: try sealed(by: engine))
    try file.replace(anchor.encoded)
    let mark = try mark(of: file, generation: anchor.generation)
    try store.transaction { try store.facts.set(fact, to: mark) }
  }

  /// Compares the file with the database's note of it.
  package static func judge<S: Store>(
    _ file: some AnchorFile, for engine: Engine<S>
  ) throws -> Verdict {
    if Mutant.ignoresAnchor.isActive { return .same }
    let noted = try engine.store.facts.value(of: fact)
    let notedGeneration = try notedGeneration(in: engine.store)
    guard let anchor = try read(file) else {
      // A new node has neither yet. A file alone is judged below: such a database may be from
      // before the file.
      if noted == nil { return .same }
      Probe.anchorMissing.hit()
      return .moved("the node's rollback guard is missing or damaged")
    }
    Probe.anchorOneAhead.hit(if: anchor.generation == notedGeneration + 1)
    if anchor.generation > notedGeneration + 1 || anchor.incarnation > engine.incarnation {
      Probe.anchorAhead.hit()
      return .moved("this node's database was restored from an older copy")
    }
    if anchor.generation < notedGeneration {
      Probe.anchorBehind.hit()
      return .moved("this node's files were restored from an older copy")
    }
    // The file may still speak of the life before, where a new one began and was not noted yet.
    let author = Author(device: engine.device, incarnation: anchor.incarnation)
    for item in anchor.sealed {
      let head = (try? engine.zone(item.zone))?.head(of: author).sequence ?? 0
      if head < item.sequence {
        return .moved("this node's database was restored from an older copy")
      }
    }
    // One generation ahead: the node ended between writing the file and noting it. Nothing tells
    // then whether the folder was copied as well.
    guard anchor.generation == notedGeneration else {
      return .moved(LifeBeginning.interruption)
    }
    guard try mark(of: file, generation: notedGeneration) == noted else {
      Probe.anchorCopied.hit()
      return .moved("this node's folder was copied or restored")
    }
    return .same
  }

  /// Reads the file; nil if it is missing or no anchor.
  private static func read(_ file: some AnchorFile) throws -> Anchor? {
    guard let bytes = try file.read(atMost: maximumBytes) else { return nil }
    return try? Anchor(decoding: bytes)
  }

  private static func notedGeneration(in store: some Store) throws -> UInt64 {
    guard let noted = try store.facts.value(of: fact) else { return 0 }
    var reader = ByteReader(noted)
    return try reader.fixed64("generation")
  }

  private static func mark(of file: some AnchorFile, generation: UInt64) throws -> [UInt8] {
    var writer = ByteWriter(capacity: 48)
    writer.fixed64(generation)
    writer.raw(try file.identity())
    return writer.bytes
  }
}
