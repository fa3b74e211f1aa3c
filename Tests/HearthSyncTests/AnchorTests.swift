import HearthCRDT
import HearthSync
import TestSupport
import Testing

/// The anchor in memory, with an identity that a test changes as a copy would.
private final class MemoryAnchor: AnchorFile {
  var bytes: [UInt8]?
  var inode: UInt8 = 1
  var replacements = 0

  func read(atMost limit: Int) -> [UInt8]? { bytes }

  func replace(_ bytes: [UInt8]) {
    self.bytes = bytes
    replacements += 1
  }

  func identity() -> [UInt8] { [inode] }
}

@Suite("The anchor beside the database")
struct AnchorTests {
  @Test("A round that was cut between sealing and noting is made good by the next one")
  func keepsUp() throws {
    var family = try EngineFamily(1)
    let file = MemoryAnchor()
    try Anchor.drop(file, for: family.members[0])
    let before = file.bytes
    try family.write(0, 1, [.insert])
    _ = try Sealing.seal(family.zone, in: &family.members[0])
    // Cut here: the anchor does not know of the sealed change.
    #expect(file.bytes == before)
    try Anchor.keepUp(file, with: family.members[0])
    #expect(file.bytes != before)
    #expect(try Anchor.judge(file, for: family.members[0]) == .same)
    let replacements = file.replacements
    try Anchor.keepUp(file, with: family.members[0])
    #expect(file.replacements == replacements, "an anchor that keeps up is not written again")
  }

  @Test("Another identity, an older generation, and one that was never noted are all told")
  func verdicts() throws {
    let family = try EngineFamily(1)
    let file = MemoryAnchor()
    let engine = family.members[0]
    #expect(try Anchor.judge(file, for: engine) == .same, "a new node has no mark yet")
    try Anchor.drop(file, for: engine)
    let first = file.bytes
    try Anchor.drop(file, for: engine)
    #expect(try Anchor.judge(file, for: engine) == .same)
    func isMoved() throws -> Bool { try Anchor.judge(file, for: engine) != .same }
    file.inode = 2
    #expect(try isMoved())
    file.inode = 1
    let second = file.bytes
    file.bytes = first
    #expect(try isMoved(), "the files are older than the database")
    file.bytes = nil
    #expect(try isMoved())
    // The node ended after writing the file and before noting it.
    file.bytes = second.map { $0.prefix(8) + [$0[8] + 1] + $0.dropFirst(9) }
    #expect(try isMoved())
    file.bytes = second
    #expect(try !isMoved())
    // A database from before the first file was noted, beside that file.
    try engine.store.transaction { try engine.store.facts.setBytes(of: "anchor", to: nil) }
    #expect(try isMoved())
    file.bytes = nil
    #expect(try !isMoved())
  }
}
