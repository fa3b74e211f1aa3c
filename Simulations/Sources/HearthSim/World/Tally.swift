import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync

/// Records of no meaning that use every kind of field, so that each kind is tested by itself.
///
/// The household has no counter and hardly ever deletes; old programs write none of its records.
/// These do both. A `memo` is of a type that old programs do not know at all.
enum Tally {
  static let tally = TypeID.record(900)
  static let memo = TypeID.record(901)
  static let label = FieldID(.register, 1)
  static let note = FieldID(.register, 2)
  static let price = FieldID(.history, 3)
  static let total = FieldID(.counter, 4)
  static let marks = FieldID(.set, 5)
  static let body = FieldID(.text, 6)
  static let types = [tally, memo]

  static let schema: [RecordSchema] = [
    RecordSchema(tally, "tally", fields), RecordSchema(memo, "memo", fields),
  ]
  /// What a program of an earlier version knows of it.
  static let oldSchema: [RecordSchema] = [
    RecordSchema(tally, "tally", fields.filter { $0.id == label || $0.id == total })
  ]
  private static let fields = [
    FieldSchema(label, "label", .text), FieldSchema(note, "note", .text),
    FieldSchema(price, "price", .int), FieldSchema(total, "total", .int),
    FieldSchema(marks, "marks", .text), FieldSchema(body, "body", .text),
  ]

  /// The names that plans use: the last one is a memo.
  static let names = ["k0", "k1", "m0"]

  static func key(_ name: String, in zone: ZoneID) -> RecordKey {
    let type = name.hasPrefix("m") ? memo : tally
    return RecordKey(type: type, id: naturalID(in: zone, type: type, key: Array(name.utf8)))
  }

  /// The operations of a step: `tally NAME add 1 2` adds twice in one change.
  ///
  /// - Parameter text: What the device knows of the record's text.
  static func operations(
    _ step: Step, in zone: ZoneID, _ text: (RecordKey) throws -> TextSequence
  ) throws -> [Operation] {
    if step.words.count > 2, ["type", "cut"].contains(step.words[1]) {
      let key = key(step.words[0], in: zone)
      let edits = edits(step, TextOrder(try text(key)))
      return edits.isEmpty
        ? [Operation(key, .insert)] : edits.map { Operation(key, .edit(body, $0)) }
    }
    guard step.words.count > 3, step.words[1] == "add" else {
      return [try operation(step, in: zone)]
    }
    return step.words.dropFirst(2).map {
      Operation(key(step.words[0], in: zone), .count(total, Int64($0) ?? 1))
    }
  }

  /// The edits of `tally NAME type WORD PLACE`, before the word of that number or at the end, and
  /// of `tally NAME cut WORD`, the first that is shown, or `cut #2`, the second word.
  private static func edits(_ step: Step, _ order: TextOrder) -> [TextEdit] {
    let words = order.text.split(separator: " ").map { String($0.unicodeScalars) + " " }
    func start(_ number: Int) -> Int {
      words.prefix(number).reduce(0) { $0 + $1.unicodeScalars.count }
    }
    let word = "Canary-\(step.words[2]) "
    if step.words[1] == "type" {
      let place = step.words.count > 3 ? Int(step.words[3]) ?? 0 : words.count
      return [order.insertion(of: word, at: start(min(place, words.count)))]
    }
    let counted =
      step.words[2].hasPrefix("#") ? Int(step.words[2].dropFirst()).map { $0 - 1 } : nil
    guard let number = counted ?? words.firstIndex(of: word), words.indices.contains(number) else {
      return []
    }
    return order.erasure(of: start(number)..<start(number + 1))
  }

  /// The operation of a step `tally NAME WHAT VALUE`.
  private static func operation(_ step: Step, in zone: ZoneID) throws -> Operation {
    guard step.words.count >= 2 else { throw StepFailure("tally NAME WHAT VALUE") }
    let key = key(step.words[0], in: zone)
    let text = step.words.count > 2 ? step.words[2] : ""
    let number = Int64(text) ?? 1
    switch step.words[1] {
    case "label": return Operation(key, .assign(label, .text("Canary " + text)))
    case "note": return Operation(key, .assign(note, .text("Canary " + text)))
    case "price": return Operation(key, .assign(price, .int(number)))
    case "add": return Operation(key, .count(total, number))
    case "mark": return Operation(key, .include(marks, .text(text)))
    case "unmark": return Operation(key, .exclude(marks, .text(text)))
    case "delete": return Operation(key, .delete)
    case "touch": return Operation(key, .insert)
    case "bulk": return Operation(key, .assign(note, .text(noise(kibibytes: Int(number)))))
    default: throw StepFailure("a tally does not know \(step.words[1])")
    }
  }

  /// Text that does not compress below three quarters.
  private static func noise(kibibytes: Int) -> String {
    String(decoding: RandomBytes.make(kibibytes * 1_024).map { $0 & 63 + 48 }, as: UTF8.self)
  }
}

extension SimDevice {
  /// Writes a tally, as any program may.
  func writeTally(_ step: Step, at time: UInt64) throws -> Written {
    guard let home else { throw StepFailure("\(name) is in no household") }
    takeTurn()
    let now = clock.wall(at: time)
    let operations = try Tally.operations(step, in: home) { key in
      guard case .record(let state)? = try engine().store.records.record(key, in: home) else {
        return TextSequence()
      }
      return state.text(Tally.body)
    }
    guard !isOldBuild || operations.allSatisfy({ $0.key.type == Tally.tally }) else {
      throw StepFailure("\(name) runs a program that does not know memos")
    }
    return try withEngine { engine in
      let version = try engine.write(operations, to: home, nowMilliseconds: now)
      return Written(zone: home, version: version, operations: operations.count)
    }
  }
}
