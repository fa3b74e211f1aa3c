import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport

@testable import HearthStore

/// A folder that vanishes with the test.
final class Scratch {
  let root: URL
  var path: String { root.appendingPathComponent("node.db").path }

  init() throws {
    root = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  func open(
    _ schema: [RecordSchema] = [Thing.schema], _ projections: [any Projection] = []
  ) throws -> ReplicaStore {
    try ReplicaStore(path: path, schema: schema, projections: projections)
  }

  /// Opens, works, closes.
  func session<Result>(
    _ schema: [RecordSchema] = [Thing.schema], _ projections: [any Projection] = [],
    _ body: (ReplicaStore) throws -> Result
  ) throws -> Result {
    let store = try open(schema, projections)
    let result = try body(store)
    try store.close()
    return result
  }
}

/// A record type with a field of every kind and type.
enum Thing {
  static let type = TypeID.record(1)
  static let mark = TypeID.event(2, keepsCause: true)
  static let kinds: [FieldKind] = [.register, .history, .set]
  static let types: [FieldType] = [.bool, .int, .text, .bytes]

  /// Fields 1 to 12 by kind and type, then a counter.
  static let fields: [FieldSchema] =
    kinds.enumerated().flatMap { row, kind in
      types.enumerated().map { column, type in
        FieldSchema(
          FieldID(kind, UInt16(row * 4 + column + 1)), "f\(row)_\(type.rawValue)", type,
          indexed: kind == .register && type == .text)
      }
    } + [FieldSchema(FieldID(.counter, 13), "votes", .int)]

  static let schema = RecordSchema(type, "thing", fields)
  static let markSchema = RecordSchema(
    mark, "mark",
    types.enumerated().map { FieldSchema(FieldID(.register, UInt16($0 + 1)), "m\($0)", $1) }
  )
  /// A field that no schema here declares.
  static let unknown = FieldID(.register, 99)
}

let zoneID = Identifier(high: 0xb0b0, low: 1)

func storedZone(_ id: ZoneID = zoneID, name: String = "Home") -> StoredZone {
  StoredZone(
    id: id, group: Identifier(high: 1, low: 2), kind: .data, database: .shared, name: name,
    wrappedSecret: [1, 2, 3], wrappedEpochs: [[4], [5, 6]])
}

func recordID(_ number: Int) -> RecordID { Identifier(high: 0x77, low: UInt64(number)) }

extension SplitMix64 {
  /// A value of any type, whatever the field declares: other versions write what they like.
  mutating func anyValue() -> Value {
    switch below(9) {
    case 0: .null
    case 1: .bool(oneIn(2))
    case 2: .int(pick([.min, .max, 0, 1, -1]))
    case 3: .int(Int64(below(9)))
    case 4: .text("")
    case 5: .text(pick(["Dishes", "e\u{301}", "\u{0}nul\u{0}", "7", "[\"\\\u{1}", "👩‍👧"]))
    case 6: .bytes([])
    case 7: .bytes([0])
    default: .bytes((0..<below(20)).map { _ in UInt8(truncatingIfNeeded: next()) })
    }
  }

  /// An operation on a thing that fits the field's kind.
  mutating func thingBody() -> HearthCRDT.Operation.Body {
    if oneIn(12) { return .delete }
    if oneIn(12) { return .insert }
    let field =
      oneIn(8)
      ? pick([Thing.unknown, FieldID(.history, 98), FieldID(.set, 97), FieldID(.counter, 96)])
      : pick(Thing.fields).id
    switch field.kind {
    case .register, .history: return .assign(field, anyValue())
    case .counter: return .count(field, oneIn(9) ? .max : Int64(below(9)) - 4)
    case .set: return oneIn(3) ? .exclude(field, anyValue()) : .include(field, anyValue())
    case .text: return .edit(field, .insert("x", .start))
    }
  }
}

/// A run of operations on one record by authors that now and then see each other.
func randomHistory(
  _ random: inout SplitMix64, steps: Int, authors: Int = 3
) -> [(body: HearthCRDT.Operation.Body, version: Version, past: Frontier)] {
  var sequences = [UInt64](repeating: 0, count: authors)
  var knows = [Frontier](repeating: Frontier(), count: authors)
  return (0..<steps).map { step in
    let who = random.below(authors)
    if random.oneIn(3) { knows[who] = knows[who].joined(with: knows[random.below(authors)]) }
    sequences[who] += 1
    let version = Version(
      dot: Dot(author: runAuthor(who), sequence: sequences[who]),
      time: HybridTime(milliseconds: 1_000 + UInt64(step)))
    let past = knows[who]
    knows[who].advance(version.dot.author, to: sequences[who])
    return (random.thingBody(), version, past)
  }
}
