import HearthCRDT
import TestSupport
import Testing

private let title = FieldID(.register, 1)
private let cost = FieldID(.history, 2)
private let count = FieldID(.counter, 3)
private let tags = FieldID(.set, 4)
private let notes = FieldID(.text, 5)

/// A character that the author of a number inserted with its change of a number, or did not.
private func place(_ author: Int, _ sequence: UInt64, _ offset: Int = 0) -> TextPlace {
  TextPlace(dot: Dot(author: runAuthor(author), sequence: sequence), offset: offset)
}

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
    (
      "text",
      [
        [.edit(notes, .insert("ab", .start))],
        [
          .edit(notes, .insert("c", .behind(place(0, 1)))),
          .edit(notes, .insert("d", .before(place(1, 1)))),
        ],
        [
          .edit(notes, .erase(TextSpan(first: place(0, 1), count: 2))),
          .edit(notes, .erase(TextSpan(first: place(1, 2), count: 1))),
        ],
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
    arguments: ["set", "text", "life"])
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
      [.include(tags, .int(1)), .exclude(tags, .int(1))], [.edit(notes, .insert("x", .start))],
      [.edit(notes, .insert("y", .behind(place(0, 1)))), .delete],
    ]
    record.checkAll(upTo: 3, authors: 3, alphabet: alphabet, clocks: [.backwards])
  }

  @Test("long runs of five authors and 200 changes converge", arguments: 0..<6)
  func long(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let run = CausalRun<Operation.Body>.random(authors: 5, changes: 200, using: &random) { random in
      (0..<random.below(3) + 1).map { _ in
        switch random.below(16) {
        case 12: .edit(notes, .insert(random.pick(["p", "qr", "stu"]), .start))
        case 13:
          .edit(notes, .insert("v", .before(place(random.below(5), UInt64(random.below(40)) + 1))))
        case 14:
          .edit(notes, .insert("w", .behind(place(random.below(5), UInt64(random.below(40)) + 1))))
        case 15:
          .edit(
            notes,
            .erase(
              TextSpan(
                first: place(random.below(5), UInt64(random.below(40)) + 1, random.below(2)),
                count: random.below(3) + 1)))
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
