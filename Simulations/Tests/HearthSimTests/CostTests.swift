import HearthCRDT
import Testing

@testable import HearthSim

@Suite("What a byte may cost")
struct CostTests {
  /// Changes of one author, each with some operations on records of its own.
  private func changes(
    _ number: Int, _ operations: Int, seen: FrontierDifference = .none, of type: TypeID,
    _ body: Operation.Body
  ) -> [Change] {
    let author = Author(device: Identifier(high: 1, low: 1), incarnation: 1)
    return (0..<number).map { place in
      let key = RecordKey(type: type, id: Identifier(high: 2, low: UInt64(place)))
      return Change(
        dot: Dot(author: author, sequence: UInt64(place + 1)),
        previousHash: [UInt8](repeating: 0, count: 32), seen: seen, time: HybridTime(rawValue: 1),
        operations: [Operation](repeating: Operation(key, body), count: operations))
    }
  }

  /// The decoded bytes for each byte that a sealed file has at least.
  private func ratio(_ changes: [Change]) -> Double {
    let sealed = max(
      ChangeBatch.weight(of: changes), ChangeBatch.encode(changes).count / 16)
    return Double(changes.reduce(0) { $0 + $1.heldBytes }) / Double(sealed)
  }

  @Test("No shape of changes holds more decoded bytes than the check allows for its file")
  func shapes() {
    let register = FieldID(.register, 1)
    func fields(_ value: Value) -> Operation.Body {
      .event((1...64).map { EventField(FieldID(.register, UInt16($0)), value) })
    }
    let heads = (0..<1_000).map { number in
      CitedHead(
        author: Author(device: Identifier(high: 3, low: UInt64(number)), incarnation: 1),
        sequence: 1, hash: 0)
    }
    let seen = FrontierDifference(heads: heads)
    let long = String(repeating: "a", count: 500_000)
    let (type, event) = (TypeID.record(900), TypeID.event(901))
    let ratios = [
      ratio(changes(5_000, 0, of: type, .insert)),
      ratio(changes(5_000, 1, of: type, .insert)),
      ratio(changes(10, 5_000, of: type, .insert)),
      ratio(changes(10, 5_000, of: type, .assign(register, .null))),
      ratio(changes(10, 5_000, of: type, .assign(register, .text("sixteen letters.")))),
      ratio(changes(1, 1, of: type, .assign(register, .text(long)))),
      ratio(changes(20, 100, of: event, fields(.null))),
      ratio(changes(20, 100, of: event, fields(.text("sixteen letters.")))),
      ratio(changes(1, 1, seen: seen, of: type, .insert)),
    ]
    for (shape, ratio) in ratios.enumerated() {
      #expect(ratio <= Double(Cost.heldBytesPerByte), "shape \(shape)")
    }
    // The allowance is not so great that it says nothing.
    #expect((ratios.max() ?? 0) > Double(Cost.heldBytesPerByte) / 3)
  }
}
