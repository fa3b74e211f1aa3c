import TestSupport
import Testing

@testable import HearthCRDT

@Suite("Bytes of states")
struct StateCodecTests {
  static let table = AuthorTable((1...3).map(author).sorted())
  let title = FieldID(.register, 1)
  let note = FieldID(.register, 2)

  /// A record with a few writes of each kind by three authors, some concurrent.
  func randomState(_ random: inout SplitMix64) -> RecordState {
    var state = RecordState()
    var known = [Frontier](repeating: Frontier(), count: 4)
    for _ in 0..<random.below(12) {
      let number = random.below(3) + 1
      let dot = Dot(author: author(number), sequence: known[number][author(number)] + 1)
      let version = Version(dot: dot, time: HybridTime(rawValue: random.next()))
      let body: Operation.Body =
        switch random.below(10) {
        case 9: .edit(FieldID(.text, 1), random.ownEdit())
        case 0: .delete
        case 1: .insert
        case 2: .assign(random.field(.history), random.value())
        case 3: .count(random.field(.counter), 3)
        case 4: .include(random.field(.set), random.value())
        case 5: .exclude(FieldID(.set, 1), random.value())
        default: .assign(FieldID(.register, UInt16(random.below(3)) + 1), random.value())
        }
      state.apply(body, version: version, past: known[number])
      known[number].advance(dot.author, to: dot.sequence)
    }
    return state
  }

  func encoded(_ state: RecordState, _ values: RecordState.Values = .all) -> [UInt8] {
    var writer = ByteWriter()
    state.encode(into: &writer, authors: StateCodecTests.table, values: values)
    return writer.bytes
  }

  func decoded(
    _ bytes: [UInt8], _ values: RecordState.Values = .all
  ) throws(CodecError) -> RecordState {
    var reader = ByteReader(bytes)
    let state = try RecordState(from: &reader, authors: StateCodecTests.table, values: values)
    try reader.finish()
    return state
  }

  @Test("a state without its shown values is whole again once they are supplied")
  func exceptShown() throws {
    let values = RecordState.Values.exceptShown { $0 == FieldID(.register, 1) }
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      let state = randomState(&random)
      #expect(try decoded(encoded(state)) == state, "seed \(seed)")
      var partial = try decoded(encoded(state, values), values)
      if case .register(let register) = state[title] {
        guard case .register(let stripped) = partial[title] else {
          Issue.record("the register is gone, seed \(seed)")
          continue
        }
        #expect(stripped.isPartial && stripped.others == register.others, "seed \(seed)")
        #expect(partial.shown(title) == nil, "seed \(seed)")
        if let value = register.shown.value { partial.supply(value, to: title) }
      }
      #expect(partial == state, "seed \(seed)")
      partial.supply(.text("late"), to: title)
      #expect(partial == state, "a value that is there stays, seed \(seed)")
    }
  }

  @Test("a concurrent write asks for the shown value, a later write does not")
  func needsShownValue() throws {
    let values = RecordState.Values.exceptShown { _ in true }
    let first = Version(dot: Dot(author: author(1), sequence: 1), time: HybridTime(rawValue: 5))
    let second = Version(dot: Dot(author: author(2), sequence: 1), time: HybridTime(rawValue: 9))
    var state = RecordState()
    state.apply(.assign(title, .int(1)), version: first, past: Frontier())
    var partial = try decoded(encoded(state, values), values)
    let write = Operation.Body.assign(title, .int(2))
    #expect(!partial.needsShownValue(for: write, past: frontier((1, 1))))
    #expect(!partial.needsShownValue(for: .assign(note, .null), past: Frontier()))
    #expect(partial.needsShownValue(for: write, past: Frontier()))
    partial.supply(.int(1), to: title)
    partial.apply(write, version: second, past: Frontier())
    state.apply(write, version: second, past: Frontier())
    #expect(partial == state)
    #expect(partial.shown(title) == .int(2))
  }

  @Test("every truncation and every trailing byte of a state is refused")
  func truncation() {
    for seed in 0..<100 {
      var random = SplitMix64(seed: UInt64(seed))
      let bytes = encoded(randomState(&random))
      for count in 0..<bytes.count {
        let error = codecError { _ = try decoded(Array(bytes.prefix(count))) }
        #expect(error != nil, "seed \(seed)")
      }
      #expect(codecError { _ = try decoded(bytes + [0]) }?.code == .trailingBytes)
    }
  }

  @Test("mutated states never trap, and what is accepted has no other spelling")
  func mutations() throws {
    var random = SplitMix64(seed: 77)
    let sources = (0..<60).map { _ in encoded(randomState(&random)) }
    var accepted = 0
    for round in 0..<30_000 {
      let bytes = random.mutated(random.pick(sources))
      guard let state = try? decoded(bytes) else { continue }
      accepted += 1
      if encoded(state) != bytes { Issue.record("a second spelling in round \(round): \(bytes)") }
    }
    #expect(accepted > 100)
  }

  @Test("a version that no field names is refused")
  func unusedVersion() {
    // One version, no life flags, no fields.
    #expect(codecError { _ = try decoded([1, 0, 1, 2, 0, 0]) }?.code == .notCanonical)
    #expect(codecError { _ = try decoded([0, 0, 0]) } == nil)
  }

  @Test("two siblings of one author, or siblings in another order, are refused")
  func siblings() {
    // Versions (0,1) (0,2) (1,1) at time 1, writes told; field 1: one sibling, then values null.
    func state(_ shown: UInt8, _ others: [UInt8]) -> [UInt8] {
      [3, 0, 1, 2, 0, 2, 0, 1, 1, 0, 0, 2, 1, UInt8(others.count), shown, 0]
        + others.flatMap { [$0, 0] } + [2, UInt8(others.count), shown, 0]
        + others.flatMap { [$0, 0] }
    }
    #expect(codecError { _ = try decoded(state(1, [0])) }?.code == .notCanonical)
    #expect(codecError { _ = try decoded(state(2, [0, 1])) }?.code == .notCanonical)
    #expect(codecError { _ = try decoded(state(0, [2])) }?.code == .notCanonical)
    #expect(codecError { _ = try decoded(state(2, [2])) }?.code == .notCanonical)
    // Versions (0,1) and (0,2) alone, both named: only their author is wrong.
    let twins: [UInt8] = [2, 0, 1, 2, 0, 2, 2, 0, 1, 1, 1, 1, 0, 0, 0]
    #expect(codecError { _ = try decoded(twins) }?.item == "siblings")
    let oneEach: [UInt8] = [2, 0, 1, 2, 1, 2, 2, 0, 1, 1, 1, 1, 0, 0, 0]
    #expect(codecError { _ = try decoded(oneEach) } == nil)
    // (0,1) is left over here, which only the end shows.
    #expect(codecError { _ = try decoded(state(2, [1])) }?.item == "versions")
  }

  @Test("a history whose entry replaced what is no entry, or itself through others, is refused")
  func replaced() {
    func state(_ replaced: [[Dot]]) -> RecordState {
      let entries = replaced.enumerated().map { place, dots in
        History.Entry(
          version: Version(
            dot: Dot(author: author(place + 1), sequence: 1), time: HybridTime(rawValue: 1)),
          value: .int(Int64(place)), replaced: dots)
      }
      var life = Life()
      for entry in entries { life.write(entry.version.dot) }
      return RecordState(
        life: life,
        sortedEntries: [.init(id: FieldID(.history, 1), field: .history(History(entries)))])
    }
    func dot(_ number: Int, _ sequence: UInt64 = 1) -> Dot {
      Dot(author: author(number), sequence: sequence)
    }
    let good: [[[Dot]]] = [
      [[], [dot(1)], [dot(2)]], [[dot(3)], [dot(3)], []], [[], [], [dot(1), dot(2)]],
    ]
    for replaced in good {
      #expect(codecError { _ = try decoded(encoded(state(replaced))) } == nil)
    }
    let bad: [[[Dot]]] = [
      [[], [dot(1, 2)], []], [[dot(3, 9)], [], []], [[dot(1)], [], []],
      [[dot(2)], [dot(1)], []], [[dot(2)], [dot(3)], [dot(1)]],
    ]
    for replaced in bad {
      let error = codecError { _ = try decoded(encoded(state(replaced))) }
      #expect(error?.code == .notCanonical && error?.item == "replaced", "\(replaced)")
    }
  }

  @Test("a record with more fields than any schema has is written and read alike")
  func manyFields() throws {
    var state = RecordState()
    for number in 1...2_000 {
      let version = Version(
        dot: Dot(author: author(1), sequence: UInt64(number)), time: HybridTime(rawValue: 1))
      state.apply(
        .assign(FieldID(.register, UInt16(number)), .int(1)), version: version,
        past: frontier((1, UInt64(number - 1))))
    }
    #expect(try decoded(encoded(state)) == state)
  }

  @Test("length bombs are refused before memory is asked for")
  func bombs() {
    let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0x7f]
    let bombs: [[UInt8]] = [
      huge, [0, 0] + huge, [0, 0, 1, 1] + huge, [0, 0, 1, 0x81, 0x80, 0x02] + huge,
      [0, 0, 1, 0x81, 0x80, 0x03] + huge, [0, 1] + huge,
    ]
    for bomb in bombs {
      let error = codecError { _ = try decoded(bomb) }
      #expect(error?.code == .truncated || error?.code == .beyondLimit, "\(bomb)")
    }
  }

  @Test("events of both sorts come back, truncated ones do not")
  func events() throws {
    for keepsCause in [true, false] {
      let type = TypeID.event(7, keepsCause: keepsCause)
      var random = SplitMix64(seed: 4)
      for _ in 0..<100 {
        let fields = (1...4).map { EventField(FieldID(.register, $0), random.value()) }
        let event = EventState(
          version: Version(
            dot: Dot(author: author(2), sequence: 3), time: HybridTime(rawValue: random.next())),
          cause: keepsCause ? frontier((1, 9), (2, 2)) : nil, fields: fields)
        var writer = ByteWriter()
        event.encode(into: &writer, authors: StateCodecTests.table, type: type)
        var reader = ByteReader(writer.bytes)
        let again = try EventState(from: &reader, authors: StateCodecTests.table, type: type)
        try reader.finish()
        #expect(again == event)
        for count in 0..<writer.count {
          var reader = ByteReader(Array(writer.bytes.prefix(count)))
          let error = codecError {
            _ = try EventState(from: &reader, authors: StateCodecTests.table, type: type)
          }
          #expect(error != nil)
        }
      }
    }
  }
}
