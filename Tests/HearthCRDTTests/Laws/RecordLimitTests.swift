import HearthCRDT
import TestSupport
import Testing

private let title = FieldID(.register, 1)
private let note = FieldID(.register, 300)
private let cost = FieldID(.history, 2)
private let tags = FieldID(.set, 4)
private let others = FieldID(.set, 5)

/// Limits so small that short runs come to them.
///
/// No author of a run is in a first incarnation.
private let small = RecordLimits(
  first: .init(units: 99, historyValues: 99), further: .init(units: 99, historyValues: 99),
  later: .init(units: 2, historyValues: 2), unitBytes: 4, freeFieldNumber: 255)

/// A device in its first incarnation.
private func firstAuthor(_ number: Int) -> Author {
  Author.first(of: DeviceID(high: 0x4845_4152, low: UInt64(number)))
}

/// A record whose changes count as a whole: an action is all that a change does.
private func limited(_ limits: RecordLimits) -> ConvergentType<RecordState, [Operation.Body]> {
  ConvergentType(
    empty: RecordState(),
    apply: { bodies, state, version, past in
      guard limits.admit(bodies, of: version.dot, within: limits.later, to: state) else { return }
      for body in bodies { state.apply(body, version: version, past: past, limits: limits) }
    },
    join: { RecordState.joined($0, knowing: $1, $2, knowing: $3) },
    recode: recoded,
    fault: { state, run, knowledge in
      recordFault(state, counted(run, limits), knowledge)
    })
}

/// The run without the changes that pass a limit, by the definition: each author's log from its
/// start.
private func counted(
  _ run: CausalRun<[Operation.Body]>, _ limits: RecordLimits
) -> CausalRun<Operation.Body> {
  var used: [Author: [FieldID: Int]] = [:]
  var histories: [Author: [FieldID: Set<UInt64>]] = [:]
  return CausalRun(
    changes: run.changes.map { change in
      let author = change.version.dot.author
      let bodies = change.actions.flatMap { $0 }
      var mine = used[author, default: [:]]
      var written = histories[author, default: [:]]
      for body in bodies {
        if case .assign(let id, _) = body, id.kind == .history {
          written[id, default: []].insert(change.version.dot.sequence)
        }
        let (field, cost, isAdded) = price(of: body, limits)
        guard let field, cost > 0 else { continue }
        let before = mine[field, default: 0]
        mine[field] = isAdded ? before + cost : max(before, cost)
      }
      let fits =
        mine.reduce(0) { $0 + ($1.key.kind == .text ? $1.value / 256 : $1.value) }
        <= Int(limits.later.units)
        && written.values.allSatisfy { $0.count <= limits.later.historyValues }
      if fits { (used[author], histories[author]) = (mine, written) }
      return RunChange(
        version: change.version, past: change.past, actions: fits ? bodies : [])
    })
}

private func price(
  of action: Operation.Body, _ limits: RecordLimits
) -> (FieldID?, Int, Bool) {
  func bytes(_ value: Value) -> Int {
    (value.text?.utf8.count ?? value.bytes?.count ?? 0) / limits.unitBytes
  }
  func far(_ id: FieldID) -> Int {
    id.rawValue & (id.kind == .text ? 0x1fff : 0x3fff) > limits.freeFieldNumber ? 1 : 0
  }
  return switch action {
  case .assign(let id, let value): (id, bytes(value) + far(id), id.kind == .history)
  case .count(let id, _): (id, far(id), false)
  case .include(let id, let value): (id, 1 + bytes(value), true)
  case .edit(let id, .insert(let text, _)):
    (id, 16 + text.unicodeScalars.count + 256 * far(id), true)
  case .edit(let id, .erase(let span)): (id, 16 + span.count / 16 + 256 * far(id), true)
  case .insert, .delete, .exclude, .event: (nil, 0, false)
  }
}

/// A record that is changed where a check looks on.
private final class Record {
  var state = RecordState()

  func apply(
    _ body: Operation.Body, version: Version, past: Frontier, isFurther: Bool = false
  ) -> Bool {
    let limits = RecordLimits.standard
    let room = limits.room(of: version.dot.author, isFurther: isFurther)
    guard limits.admit([body], of: version.dot, within: room, to: state) else { return false }
    state.apply(body, version: version, past: past)
    return true
  }
}

@Suite("Limits on what one author puts into a record")
struct RecordLimitTests {
  static let alphabets: [(name: String, actions: [[Operation.Body]])] = [
    (
      "set",
      [
        [.include(tags, .text("a")), .include(tags, .int(2))], [.exclude(tags, .text("a"))],
        [.include(others, .text("12345678"))],
      ]
    ),
    ("history", [[.assign(cost, .int(1))], [.assign(cost, .text("1234")), .delete]]),
    (
      "long values",
      [
        [.assign(title, .text("1234"))], [.assign(title, .text("12345678"))],
        [.assign(note, .null)],
      ]
    ),
  ]

  @Test(
    "every graph of four changes converges where the limits cut, in every order, for",
    arguments: ["set", "history", "long values"])
  func everyGraph(name: String) throws {
    let actions = try #require(RecordLimitTests.alphabets.first { $0.name == name }).actions
    let alphabet = actions.map { [$0] }
    limited(small).checkAll(upTo: 4, authors: 2, alphabet: alphabet, clocks: [.backwards])
    limited(small).checkAll(upTo: 3, authors: 3, alphabet: alphabet, clocks: [.stopped])
  }

  @Test("long runs of five authors converge where the limits cut", arguments: 0..<6)
  func long(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    var limits = small
    limits.later.units = 9
    limits.later.historyValues = 5
    let run = CausalRun<[Operation.Body]>.random(authors: 5, changes: 200, using: &random) {
      random in
      let bodies = (0..<random.below(3) + 1).map { _ -> Operation.Body in
        let text = Value.text(String(repeating: "x", count: random.below(12)))
        return switch random.below(12) {
        case 10:
          .edit(
            FieldID(.text, UInt16(random.below(2)) + 255),
            .insert(String(repeating: "y", count: random.below(400) + 1), .start))
        case 11:
          .edit(
            FieldID(.text, 255),
            .erase(
              TextSpan(
                first: TextPlace(
                  dot: Dot(
                    author: runAuthor(random.below(5)), sequence: UInt64(random.below(9)) + 1),
                  offset: random.below(300)),
                count: random.below(3_000) + 1)))
        case 0: .insert
        case 1: .delete
        case 2: .count(FieldID(.counter, UInt16(random.below(4)) + 254), 1)
        case 3, 4: .include(tags, .int(Int64(random.below(40))))
        case 5: .exclude(tags, .int(Int64(random.below(40))))
        case 6: .assign(cost, text)
        default: .assign(FieldID(.register, UInt16(random.below(4)) + 254), text)
        }
      }
      return [bodies]
    }
    limited(limits).check(run, seed: UInt64(seed), rounds: 4)
  }

  private func version(_ sequence: UInt64, _ number: Int = 1) -> Version {
    Version(
      dot: Dot(author: firstAuthor(number), sequence: sequence),
      time: HybridTime(milliseconds: 1_000 + sequence))
  }

  private func past(_ sequence: UInt64) -> Frontier {
    Frontier([(firstAuthor(1), sequence - 1)])
  }

  @Test("An author gives the sets of a record 4,096 elements, and not one more; others go on")
  func elements() {
    #expect(Limits.maximumRecordUnits == 4_096)
    let record = Record()
    for number in 0..<4_096 {
      #expect(
        record.apply(
          .include(number % 2 == 0 ? tags : others, .int(Int64(9_000 - number))),
          version: version(1), past: past(1)))
    }
    let full = record.state
    #expect(!record.apply(.include(tags, .int(1)), version: version(2), past: past(2)))
    #expect(record.state == full)
    // What was taken away again was given all the same.
    #expect(record.apply(.exclude(tags, .int(9_000)), version: version(2), past: past(2)))
    #expect(!record.apply(.include(tags, .int(9_000)), version: version(3), past: past(3)))
    #expect(record.state.elements(tags).count == 2_047)
    #expect(record.apply(.assign(title, .int(1)), version: version(3), past: past(3)))
    #expect(record.apply(.include(tags, .int(1)), version: version(1, 2), past: Frontier()))
    #expect(record.state.elements(tags).count == 2_048)
    #expect(record.state.charges.total(of: firstAuthor(1)) == 4_096)
    #expect(record.state.charges.total(of: firstAuthor(2)) == 1)
  }

  @Test("Values up to 255 bytes are free, 256 take a unit; the longest of all fits")
  func values() {
    #expect(Limits.recordUnitBytes == 256)
    let record = Record()
    func assign(_ count: Int, _ field: FieldID, at sequence: UInt64) -> Bool {
      record.apply(
        .assign(field, .bytes([UInt8](repeating: 7, count: count))), version: version(sequence),
        past: past(sequence))
    }
    #expect(assign(255, title, at: 1))
    #expect(record.state.charges.isEmpty)
    #expect(assign(256, title, at: 2))
    #expect(record.state.charges.total(of: firstAuthor(1)) == 1)
    #expect(assign(Limits.maximumValueBytes, title, at: 3))
    #expect(assign(1, title, at: 4))
    #expect(record.state.charges.total(of: firstAuthor(1)) == 2_048)
    #expect(assign(Limits.maximumValueBytes, FieldID(.register, 2), at: 5))
    #expect(!assign(256, FieldID(.register, 3), at: 6))
    #expect(assign(255, FieldID(.register, 3), at: 7))
    #expect(assign(Limits.maximumValueBytes, title, at: 8))
  }

  @Test("Fields up to number 255 are free, the next take a unit each")
  func fields() {
    #expect(Limits.freeFieldNumber == 255)
    let record = Record()
    for number in 1...255 as ClosedRange<UInt16> {
      #expect(
        record.apply(
          .assign(FieldID(.register, number), .int(1)), version: version(1), past: past(1)))
    }
    #expect(record.state.charges.isEmpty)
    for number in 256..<4_352 as Range<UInt16> {
      #expect(
        record.apply(.count(FieldID(.counter, number), 1), version: version(1), past: past(1)))
    }
    #expect(!record.apply(.count(FieldID(.counter, 4_352), 1), version: version(1), past: past(1)))
    #expect(record.apply(.count(FieldID(.counter, 4_351), 1), version: version(2), past: past(2)))
    #expect(record.state.entries.count == 255 + 4_096)
  }

  @Test("An author gives the texts of a record a mebibyte of edits, and not one more")
  func texts() {
    let record = Record()
    let (notes, more) = (FieldID(.text, 7), FieldID(.text, 8))
    func insert(_ count: Int, _ field: FieldID, at sequence: UInt64, by number: Int = 1) -> Bool {
      record.apply(
        .edit(field, .insert(String(repeating: "x", count: count), .start)),
        version: version(sequence, number), past: number == 1 ? past(sequence) : Frontier())
    }
    // An insertion weighs 16 and its characters; the first 255 of a text are free.
    #expect(insert(239, notes, at: 1))
    #expect(record.state.charges.total(of: firstAuthor(1)) == 0)
    #expect(insert(1_048_576 - 255 - 16, notes, at: 2))
    #expect(record.state.charges.total(of: firstAuthor(1)) == 4_096)
    #expect(insert(255 - 16, notes, at: 3))
    #expect(!insert(1, notes, at: 4))
    #expect(insert(239, more, at: 4))
    #expect(!insert(1, more, at: 5))
    // Erasures weigh too.
    func erase(_ count: Int) -> Bool {
      record.apply(
        .edit(
          notes,
          .erase(TextSpan(first: TextPlace(dot: version(2).dot, offset: 0), count: count))),
        version: version(5), past: past(5))
    }
    #expect(!erase(1_048_576))
    #expect(!erase(16))
    #expect(insert(1, notes, at: 1, by: 2))
  }

  @Test("An author gives a history 1,024 values, and not one more; others go on")
  func histories() {
    #expect(Limits.maximumHistoryValues == 1_024)
    let record = Record()
    for sequence in 1...1_024 as ClosedRange<UInt64> {
      #expect(
        record.apply(
          .assign(cost, .int(Int64(sequence))), version: version(sequence), past: past(sequence)))
    }
    #expect(!record.apply(.assign(cost, .int(0)), version: version(1_025), past: past(1_025)))
    #expect(record.state.shown(cost) == .int(1_024))
    #expect(record.apply(.assign(cost, .int(0)), version: version(1_024), past: past(1_024)))
    #expect(record.state.shown(cost) == .int(0))
    #expect(
      record.apply(
        .assign(cost, .int(5)), version: version(1, 2),
        past: Frontier([(firstAuthor(1), UInt64(1_024))])))
    #expect(record.state.shown(cost) == .int(5))
  }

  @Test("A further device of a person has 1,024 units, and as many values of a history as any")
  func furtherDevices() {
    #expect(Limits.maximumFurtherRecordUnits == 1_024)
    let record = Record()
    func apply(_ body: Operation.Body, at sequence: UInt64, isFurther: Bool = true) -> Bool {
      record.apply(
        body, version: version(sequence), past: past(sequence), isFurther: isFurther)
    }
    for number in 1...1_024 as ClosedRange<UInt64> {
      #expect(apply(.include(tags, .int(Int64(number))), at: number))
    }
    #expect(!apply(.include(tags, .int(0)), at: 1_025))
    #expect(apply(.include(tags, .int(0)), at: 1_025, isFurther: false))
    for number in 1...1_024 as ClosedRange<UInt64> {
      #expect(apply(.assign(cost, .int(1)), at: 1_025 + number))
    }
    #expect(!apply(.assign(cost, .int(1)), at: 2_050))
    let later = Author(device: firstAuthor(1).device, incarnation: 2 << 32)
    for isFurther in [false, true] {
      #expect(
        RecordLimits.standard.room(of: later, isFurther: isFurther) == RecordLimits.standard.later)
    }
  }

  @Test("A device has one first incarnation; each other has 256 units and 64 values of a history")
  func laterIncarnations() throws {
    let device = DeviceID(high: 7, low: 0x1111_2222_dead_beef)
    let first = Author.first(of: device)
    #expect(first.isFirst && first.life == 1 && first.incarnation == 0x1_dead_beef)
    let others: [UInt64] = [0, 1, 0x1_dead_beee, 0x1_0000_0000, 0x2_dead_beef, .max]
    for incarnation in others {
      let author = Author(device: device, incarnation: incarnation)
      #expect(!author.isFirst)
      let record = Record()
      func apply(_ body: Operation.Body, at sequence: UInt64) -> Bool {
        record.apply(
          body,
          version: Version(
            dot: Dot(author: author, sequence: sequence), time: HybridTime(milliseconds: 1)),
          past: Frontier([(author, sequence - 1)]))
      }
      for number in 1...256 as ClosedRange<UInt64> {
        #expect(apply(.include(tags, .int(Int64(number))), at: number))
      }
      #expect(!apply(.include(tags, .int(0)), at: 257))
      for number in 1...64 as ClosedRange<UInt64> {
        #expect(apply(.assign(cost, .int(1)), at: 257 + number))
      }
      #expect(!apply(.assign(cost, .int(1)), at: 322))
      #expect(apply(.assign(title, .int(1)), at: 322))
    }
  }

  @Test("What was used up is read back alone where it can have come about")
  func charges() throws {
    func decode(_ charges: [UInt8], of author: Author = firstAuthor(1)) throws {
      var reader = ByteReader([0, 5, 1, 0, 1] + charges + [0])
      _ = try RecordState(from: &reader, authors: AuthorTable([author]), values: .all)
      try reader.finish()
    }
    var most = ByteWriter()
    most.varint(4_096)
    var more = ByteWriter()
    more.varint(4_097)
    let field: [UInt8] = [1]
    try decode([1, 0] + most.bytes + field)
    #expect(throws: CodecError.self) { try decode([1, 0] + more.bytes + field) }
    // What a later incarnation put in under the rule before.
    try decode([1, 0] + most.bytes + field, of: runAuthor(1))
    #expect(throws: CodecError.self) { try decode([2, 0] + most.bytes + [1, 0, 1, 2]) }
    #expect(throws: CodecError.self) { try decode([0]) }
    #expect(throws: CodecError.self) { try decode([2, 0, 1, 2, 0, 1, 2]) }
  }
}
