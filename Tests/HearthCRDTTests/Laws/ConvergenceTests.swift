import HearthCRDT
import TestSupport
import Testing

private let title = FieldID(.register, 1)
private let cost = FieldID(.history, 2)
private let count = FieldID(.counter, 3)
private let tags = FieldID(.set, 4)

/// The record type with every kind of field, as the law checker sees it.
private let record = ConvergentType<RecordState, Operation.Body>(
  empty: RecordState(),
  apply: { $1.apply($0, version: $2, past: $3) },
  join: { RecordState.joined($0, knowing: $1, $2, knowing: $3) },
  recode: recoded,
  fault: recordFault)

@Suite("Laws of convergence")
struct ConvergenceTests {
  /// The small vocabularies that all graphs are tried with.
  static let alphabets: [(name: String, actions: [[Operation.Body]])] = [
    ("register", [[.assign(title, .int(1))], [.assign(title, .int(2)), .assign(title, .null)]]),
    ("history", [[.assign(cost, .int(1))], [.assign(cost, .int(2)), .assign(cost, .int(3))]]),
    ("counter", [[.count(count, 1)], [.count(count, -7), .count(count, .max)]]),
    (
      "set",
      [
        [.include(tags, .text("a"))], [.exclude(tags, .text("a"))],
        [.exclude(tags, .text("a")), .include(tags, .text("a"))],
      ]
    ),
    ("life", [[.insert], [.delete], [.delete, .insert]]),
  ]

  @Test(
    "every graph of four changes by three authors converges, in every order, for",
    arguments: ["register", "history", "counter"])
  func small(name: String) throws {
    let alphabet = try #require(ConvergenceTests.alphabets.first { $0.name == name })
    record.checkAll(upTo: 4, authors: 2, alphabet: alphabet.actions)
    record.checkAll(upTo: 4, authors: 3, alphabet: alphabet.actions, clocks: [.stopped])
  }

  @Test(
    "every graph of four changes by two authors converges with three actions, for",
    arguments: ["set", "life"])
  func smallTwoAuthors(name: String) throws {
    let alphabet = try #require(ConvergenceTests.alphabets.first { $0.name == name })
    record.checkAll(
      upTo: 4, authors: 2, alphabet: alphabet.actions, clocks: [.backwards, .stopped])
    record.checkAll(
      upTo: 4, authors: 3, alphabet: Array(alphabet.actions.prefix(2)), clocks: [.stopped])
  }

  @Test("every graph of five changes by two authors converges, for a register and a life")
  func five() {
    record.checkAll(
      upTo: 5, authors: 2, alphabet: [[.assign(title, .int(1))]], clocks: [.backwards])
    record.checkAll(upTo: 5, authors: 2, alphabet: [[.insert], [.delete]], clocks: [.stopped])
  }

  @Test("every graph of three changes by three authors converges with all kinds of operations")
  func mixed() {
    let alphabet: [[Operation.Body]] = [
      [.insert], [.delete], [.delete, .assign(title, .int(1))], [.assign(title, .text("x"))],
      [.assign(cost, .int(5)), .delete], [.count(count, 2)], [.include(tags, .int(1)), .insert],
      [.include(tags, .int(1)), .exclude(tags, .int(1))],
    ]
    record.checkAll(upTo: 3, authors: 3, alphabet: alphabet, clocks: [.backwards])
  }

  @Test("long runs of five authors and 200 changes converge", arguments: 0..<6)
  func long(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let run = CausalRun<Operation.Body>.random(authors: 5, changes: 200, using: &random) { random in
      (0..<random.below(3) + 1).map { _ in
        switch random.below(12) {
        case 0: .insert
        case 1: .delete
        case 2, 3: .count(count, Int64(random.below(9)) - 4)
        case 4, 5: .include(tags, .int(Int64(random.below(4))))
        case 6: .exclude(tags, .int(Int64(random.below(4))))
        case 7: .assign(cost, .int(Int64(random.below(99))))
        default: .assign(FieldID(.register, UInt16(random.below(3)) + 10), random.value())
        }
      }
    }
    record.check(run, seed: UInt64(seed), rounds: 4)
  }

  @Test("a life converges by itself")
  func life() {
    let life = ConvergentType<Life, Operation.Body>(
      empty: Life(),
      apply: { body, life, version, past in
        if body == .delete { life.delete(version.dot, past: past) } else { life.write(version.dot) }
      },
      join: { left, _, right, _ in left.joined(with: right) },
      recode: nil, fault: { _, _, _ in nil })
    life.checkAll(upTo: 4, authors: 3, alphabet: [[.insert], [.delete]], clocks: [.stopped])
  }

  @Test("events converge to the same set with the same causes, and code to the same bytes")
  func events() {
    typealias Events = [Version: EventState]
    let type = TypeID.event(3, keepsCause: true)
    let events = ConvergentType<Events, Int>(
      empty: [:],
      apply: { number, events, version, past in
        events[version] = EventState(
          version: version, cause: past,
          fields: [
            EventField(title, .int(Int64(number))), EventField(FieldID(.register, 9), .null),
          ])
      },
      join: { left, _, right, _ in left.merging(right) { mine, _ in mine } },
      recode: { events, authors in
        let table = AuthorTable(authors)
        var (first, second, again) = (ByteWriter(), ByteWriter(), Events())
        for version in events.keys.sorted() {
          let start = first.count
          events[version]?.encode(into: &first, authors: table, type: type)
          var reader = ByteReader(first.bytes, in: start..<first.count)
          let event = try EventState(from: &reader, authors: table, type: type)
          try reader.finish()
          event.encode(into: &second, authors: table, type: type)
          again[version] = event
        }
        return (again, first.bytes, second.bytes)
      },
      fault: { events, run, part in
        let changes = run.changes(in: part)
        let isSame = changes.allSatisfy { events[$0.version]?.cause == $0.past }
        return isSame && events.count == changes.count ? nil : "not the changes that were made"
      })
    events.checkAll(upTo: 4, authors: 3, alphabet: [[1]], clocks: [.stopped])
  }
}
