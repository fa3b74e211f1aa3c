import HearthCRDT
import TestSupport

/// The device of a small number.
func device(_ number: Int) -> DeviceID {
  DeviceID(high: UInt64(number) &* 0x0102_0304_0506_0708, low: UInt64(number))
}

/// The author of a small number.
func author(_ number: Int) -> Author {
  Author(device: device(number), incarnation: 1 << 32 | UInt64(number))
}

/// A frontier of authors by small number.
func frontier(_ marks: (Int, UInt64)...) -> Frontier {
  Frontier(marks.map { (author($0.0), $0.1) })
}

extension SplitMix64 {
  /// A value of any kind, with a liking for the edges.
  mutating func value() -> Value {
    switch below(8) {
    case 0: .null
    case 1: .bool(oneIn(2))
    case 2: .int(Int64(below(200)) - 100)
    case 3: .int(pick([.min, .max, 0, -1, 1 << 40]))
    case 4: .text("")
    case 5:
      .text(pick(["Dishes", "Ünï", "e\u{301}", "👩‍👧", "\u{0}", "take out the bins before nine"]))
    case 6: .bytes([])
    default: .bytes((0..<below(40)).map { _ in UInt8(truncatingIfNeeded: next()) })
    }
  }

  /// An identifier, now and then one of few.
  mutating func identifier() -> Identifier {
    oneIn(3) ? Identifier(high: next(), low: next()) : Identifier(high: 7, low: UInt64(below(5)))
  }

  /// A field number of a kind.
  mutating func field(_ kind: FieldKind) -> FieldID {
    FieldID(kind, oneIn(20) ? UInt16(below(8191)) + 1 : UInt16(below(9)) + 1)
  }

  /// A well-formed operation of any code.
  mutating func operation() -> Operation {
    let type = TypeID.record(UInt16(below(3)) + 1)
    let key = RecordKey(type: type, id: identifier())
    switch below(9) {
    case 8: return Operation(key, .edit(field(.text), edit()))
    case 0: return Operation(key, .insert)
    case 1: return Operation(key, .delete)
    case 2: return Operation(key, .count(field(.counter), oneIn(9) ? .max : Int64(below(9)) - 4))
    case 3: return Operation(key, .include(field(.set), value()))
    case 4: return Operation(key, .exclude(field(.set), value()))
    case 5:
      let numbers = Set((0..<below(6)).map { _ in UInt16(below(40)) + 1 }).sorted()
      return Operation(
        RecordKey(type: .event(UInt16(below(3)) + 1, keepsCause: oneIn(2)), id: identifier()),
        .event(numbers.map { EventField(FieldID(.register, $0), value()) }))
    case 6: return Operation(key, .assign(field(.history), value()))
    default: return Operation(key, .assign(field(.register), value()))
    }
  }

  /// An edit of a text that names a change of somebody else.
  mutating func edit() -> TextEdit {
    let place = TextPlace(
      dot: Dot(author: author(12 + below(3)), sequence: UInt64(below(300)) + 1),
      offset: oneIn(9) ? Limits.maximumTextCharacters : below(40))
    return switch below(4) {
    case 0: .insert("Milk", .start)
    case 1: .insert("ü", .before(place))
    case 2: .insert("and 🍎", .behind(place))
    default: .erase(TextSpan(first: place, count: below(9) + 1))
    }
  }

  /// An edit of a text that names a change of one of the first three authors.
  mutating func ownEdit() -> TextEdit {
    let place = TextPlace(
      dot: Dot(author: author(below(3) + 1), sequence: UInt64(below(6)) + 1), offset: below(3))
    return switch below(4) {
    case 0: .insert("Milk", .start)
    case 1: .insert("ü", .before(place))
    case 2: .insert("🍎", .behind(place))
    default: .erase(TextSpan(first: place, count: below(3) + 1))
    }
  }

  /// A difference over a few of twelve authors, beyond what was cited before.
  mutating func difference(beyond cited: inout Frontier) -> FrontierDifference {
    guard oneIn(3) else { return .none }
    let known = cited
    for _ in 0..<below(5) {
      let other = author(below(12))
      cited.advance(other, to: known[other] + UInt64(below(300)) + 1)
    }
    return FrontierDifference(
      heads: (cited.news(since: known, atMost: .max) ?? Frontier()).entries.map {
        CitedHead(author: $0.author, sequence: $0.sequence, hash: next())
      })
  }

  /// Consecutive changes of one author.
  mutating func batch(count: Int, operations most: Int = 6) -> [Change] {
    let first = oneIn(10) ? Frontier.maximumSequence - UInt64(count - 1) : UInt64(below(999)) + 1
    let author = author(below(3))
    var time: UInt64 = 1_700_000_000_000 << 16
    var (seen, controlSeen) = (Frontier(), Frontier())
    return (0..<count).map { place in
      time = oneIn(30) ? next() : time &+ UInt64(below(90_000)) << 16
      return Change(
        dot: Dot(author: author, sequence: first + UInt64(place)),
        previousHash: (0..<32).map { _ in UInt8(truncatingIfNeeded: next()) },
        seen: difference(beyond: &seen), controlSeen: difference(beyond: &controlSeen),
        time: HybridTime(rawValue: time),
        schemaVersion: oneIn(20) ? .max : 3,
        operations: (0..<below(most + 1)).map { _ in operation() })
    }
  }
}

/// The canonical bytes of a change.
func canonical(_ change: Change) -> [UInt8] {
  var writer = ByteWriter()
  change.encode(into: &writer)
  return writer.bytes
}
