import Foundation
import Glibc
import HearthCRDT
import HearthStore
import HearthSync

/// The mark outside the database that tells whether the node's data was restored or copied.
///
/// The file holds a generation and how far the own logs had come; the database holds the same
/// generation with the file's inode and change time. A copied or restored file has another inode
/// or change time, a restored database an older generation; either way the node starts a new life,
/// even offline. Writing the file first and the database after means that a crash in between
/// leaves the file one generation ahead, which is no sign of anything.
struct Anchor: Equatable {
  var generation: UInt64
  var incarnation: UInt64
  /// For each zone the last own change that was sealed.
  var sealed: [(zone: ZoneID, sequence: UInt64)]

  /// What comparing the two marks says.
  enum Verdict: Equatable {
    case same
    /// In words, for the node's person.
    case moved(String)
  }

  static let factName = "anchor"
  private static let maximumBytes = 1024 * 1024

  static func == (left: Anchor, right: Anchor) -> Bool {
    left.encoded == right.encoded
  }

  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 64)
    writer.byte(1)
    writer.fixed64(generation)
    writer.fixed64(incarnation)
    writer.varint(sealed.count)
    for item in sealed {
      writer.identifier(item.zone)
      writer.varint(item.sequence)
    }
    return writer.bytes
  }

  init(generation: UInt64, incarnation: UInt64, sealed: [(zone: ZoneID, sequence: UInt64)]) {
    self.generation = generation
    self.incarnation = incarnation
    self.sealed = sealed
  }

  private init(decoding bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    guard try reader.byte("anchor version") == 1 else {
      throw HearthError(.corrupt, "the anchor file is of a newer version: update this program")
    }
    generation = try reader.fixed64("generation")
    incarnation = try reader.fixed64("incarnation")
    sealed = []
    for _ in 0..<(try reader.count("zones", itemBytes: 17)) {
      let zone = try reader.identifier("zone")
      sealed.append((zone, try reader.varint("sequence")))
    }
    try reader.finish()
  }

  /// Reads the file; nil if it is missing or not readable as an anchor.
  static func read(_ path: String) throws -> Anchor? {
    guard let bytes = try DurableFile.read(path, atMost: maximumBytes) else { return nil }
    return try? Anchor(decoding: bytes)
  }

  /// Writes the file, then notes it in the database.
  func write(to path: String, store: ReplicaStore) throws {
    try DurableFile.write(encoded, to: path, mode: 0o600)
    let mark = try Anchor.mark(of: path, generation: generation)
    try store.transaction { try store.setFact(Anchor.factName, mark) }
  }

  /// Compares the file with the database's note of it.
  static func judge(_ path: String, store: ReplicaStore, engine: Engine<ReplicaStore>) throws
    -> (verdict: Verdict, generation: UInt64)
  {
    guard let noted = try store.fact(factName) else { return (.same, 0) }
    var reader = ByteReader(noted)
    let notedGeneration = try reader.fixed64("generation")
    guard let anchor = try read(path) else {
      return (.moved("the node's anchor file is missing or damaged"), notedGeneration)
    }
    let generation = max(anchor.generation, notedGeneration)
    if anchor.generation > notedGeneration + 1 || anchor.incarnation > engine.incarnation {
      return (.moved("this node's database was restored from an older copy"), generation)
    }
    if anchor.generation < notedGeneration {
      return (.moved("this node's files were restored from an older copy"), generation)
    }
    for item in anchor.sealed {
      let head = (try? engine.zone(item.zone))?.head(of: engine.author).sequence ?? 0
      if head < item.sequence {
        return (.moved("this node's database was restored from an older copy"), generation)
      }
    }
    if anchor.generation == notedGeneration,
      try mark(of: path, generation: notedGeneration) != noted
    {
      return (.moved("this node's folder was copied or restored"), generation)
    }
    return (.same, generation)
  }

  /// What identifies the file as it was written: generation, device, inode, change time.
  private static func mark(of path: String, generation: UInt64) throws -> [UInt8] {
    var information = stat()
    guard stat(path, &information) == 0 else {
      throw HearthError(.io, "\(path) cannot be examined: \(String(cString: strerror(errno)))")
    }
    var writer = ByteWriter(capacity: 48)
    writer.fixed64(generation)
    writer.fixed64(UInt64(information.st_ino))
    writer.fixed64(UInt64(bitPattern: Int64(information.st_ctim.tv_sec)))
    writer.fixed64(UInt64(bitPattern: Int64(information.st_ctim.tv_nsec)))
    return writer.bytes
  }
}
