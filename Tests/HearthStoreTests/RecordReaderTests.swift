import Foundation
import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Reading on a second connection")
struct RecordReaderTests {
  private let query = RecordQuery(Thing.type)
  private let lookups = TypeLookups(Thing.type, defaults: [:], indexes: [], texts: [])

  private func open(_ scratch: Scratch) throws -> (store: ReplicaStore, reader: RecordReader) {
    let store = try ReplicaStore(path: scratch.path, schema: [Thing.schema], lookups: [lookups])
    try store.transaction {
      try store.zones.save(storedZone())
      try store.zones.learn([runAuthor(0)])
    }
    return (store, try RecordReader(path: scratch.path, lookups: [lookups]))
  }

  private func insert(_ number: Int, into store: ReplicaStore) throws {
    var state = RecordState()
    state.apply(
      .insert,
      version: Version(
        dot: Dot(author: runAuthor(0), sequence: UInt64(number)),
        time: HybridTime(rawValue: UInt64(number))), past: Frontier())
    let key = RecordKey(type: Thing.type, id: recordID(number))
    try store.records.save([RecordChange(key: key, state: state, isNew: true)], in: zoneID)
  }

  private func count(_ reader: RecordReader) throws -> Int {
    try reader.queries.rows(query, showing: [], in: zoneID).count
  }

  @Test("An open write neither delays a reading nor is seen by it; a finished one is seen")
  func besideWrites() throws {
    let scratch = try Scratch()
    let (store, reader) = try open(scratch)
    try store.transaction { try insert(1, into: store) }
    try store.transaction {
      try insert(2, into: store)
      #expect(try count(reader) == 1)
    }
    #expect(try count(reader) == 2)
    try reader.close()
    try store.close()
  }

  @Test("A zone that the replica has only now is seen")
  func newZone() throws {
    let scratch = try Scratch()
    let (store, reader) = try open(scratch)
    let other = Identifier(high: 7, low: 7)
    #expect(try reader.readOneState { !reader.holds(other) })
    try store.transaction { try store.zones.save(storedZone(other)) }
    #expect(try reader.readOneState { reader.holds(other) })
    try reader.close()
    try store.close()
  }

  @Test("A reading sees one state, whatever is written meanwhile")
  func oneState() throws {
    let scratch = try Scratch()
    let (store, reader) = try open(scratch)
    try reader.readOneState {
      #expect(try count(reader) == 0)
      try store.transaction { try insert(1, into: store) }
      #expect(try count(reader) == 0)
    }
    #expect(try count(reader) == 1)
    try reader.close()
    try store.close()
  }

  @Test("A reader notices tables of another shape, and reads them after it has looked again")
  func otherTables() throws {
    let scratch = try Scratch()
    let (store, reader) = try open(scratch)
    try store.transaction { try insert(1, into: store) }
    #expect(try !reader.hasOtherTables())
    let renamed = RecordSchema(
      Thing.type, "object", Thing.fields.map { FieldSchema($0.id, $0.name + "_new", $0.type) })
    let other = try ReplicaStore(path: scratch.path, schema: [renamed])
    #expect(try reader.hasOtherTables())
    try reader.lookAgain()
    #expect(try !reader.hasOtherTables())
    let found = try reader.queries.rows(query, showing: Thing.fields.map(\.id), in: zoneID)
    #expect(found.map(\.id) == [recordID(1)])
    try other.close()
    try reader.close()
    try store.close()
  }

  @Test("A reader writes nothing, and leaves no file behind that the writer does not remove")
  func readsAlone() throws {
    let scratch = try Scratch()
    let (store, reader) = try open(scratch)
    #expect(throws: StoreError(.readOnly, "")) {
      try reader.connection.execute("DELETE FROM hearth_facts")
    }
    try reader.close()
    try store.close()
    #expect(try scratch.names() == ["node.db"])
  }
}

extension Scratch {
  /// The names of the files in the folder, in order.
  fileprivate func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
  }
}
