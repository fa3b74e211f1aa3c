import HearthCRDT
import HearthSync
import Household

/// Deeds that are small on the wire and meant to be dear for whoever reads them.
extension HostileMember {
  /// How many letters an ordinary edit writes.
  private static let editedCharacters = 24

  /// How many characters one insertion of a long text has.
  private static let longestEdit = 500_000

  /// How much one change and one file of a bomb hold.
  package struct Measure: Sendable {
    /// Operations of one change.
    package var perChange: Int
    /// Operations of one file.
    package var perFile: Int

    package init(perChange: Int, perFile: Int) {
      self.perChange = max(1, perChange)
      self.perFile = max(1, perFile)
    }
  }

  /// A field of each kind that no program declares, so that any record can have it.
  package static func unknownField(_ kind: FieldKind) -> FieldID { FieldID(kind, 900) }

  /// The record of the member's own person, which everybody but readers may change.
  package var ownRecord: RecordKey { RecordKey(type: HouseholdSchema.person, id: person) }

  /// A set with so many elements in the own person's record.
  package mutating func setBomb(elements: Int, _ measure: Measure) throws -> [HostileFile] {
    let (key, field) = (ownRecord, HostileMember.unknownField(.set))
    return try bomb(elements, measure) { Operation(key, .include(field, .int(Int64($0)))) }
  }

  /// A history with so many values in the own person's record, one in each change.
  package mutating func historyBomb(values: Int, perFile: Int) throws -> [HostileFile] {
    let (key, field) = (ownRecord, HostileMember.unknownField(.history))
    return try bomb(values, Measure(perChange: 1, perFile: perFile)) {
      Operation(key, .assign(field, .int(Int64($0))))
    }
  }

  /// So many edits of a text in the own person's record: each insertion hangs before the one
  /// before, which makes the tree deep, and of a long insertion every other character is erased.
  package mutating func textBomb(edits: Int, _ measure: Measure) throws -> [HostileFile] {
    // A field that takes no units by its number, so that all of them go into edits.
    let (key, field) = (ownRecord, FieldID(.text, 200))
    return try eventBomb(edits, measure) { member, place, index in
      func character(_ offset: Int) -> TextPlace {
        TextPlace(dot: member.nextDot, offset: offset)
      }
      let long = String(repeating: "a", count: measure.perChange)
      let edit: TextEdit =
        switch index {
        case 0: .insert(long, .start)
        case _ where place % 2 == 0:
          .insert("b", .before(character(index < 3 ? 0 : long.utf8.count + index / 2 - 2)))
        default: .erase(TextSpan(first: character(index), count: 1))
        }
      return Operation(key, .edit(field, edit))
    }
  }

  /// A file of many operations that declares no work at all.
  package mutating func weightless(operations: Int) throws -> [HostileFile] {
    let key = ownRecord
    return [try seal([change((0..<operations).map { _ in Operation(key, .insert) })], weight: 0)]
  }

  /// Files that each follow a change which nobody will ever see.
  package mutating func gapBomb(files: Int, _ measure: Measure) throws -> [HostileFile] {
    let operation = Operation(ownRecord, .insert)
    var found: [HostileFile] = []
    for _ in 0..<files {
      skip(1)
      found += try bomb(measure.perFile, measure) { _ in operation }
    }
    return found
  }

  /// One record with so many fields of so many bytes, of which a little is chance, so that it
  /// compresses as far as a file may.
  package mutating func bigRecord(
    _ key: RecordKey, fields: Int, bytesEach: Int
  ) throws -> [HostileFile] {
    var found: [HostileFile] = []
    for number in 0..<fields {
      let start = dice.letters(min(bytesEach, 1_024))
      let text = start + String(repeating: "a", count: bytesEach - start.utf8.count)
      let field = FieldID(.register, UInt16(1_000 + number))
      found.append(try seal([change([Operation(key, .assign(field, .text(text)))])]))
    }
    return found
  }

  /// Files with one long text each, which follow a change that nobody will ever see.
  package mutating func longTextsBehindGap(files: Int, bytesEach: Int) throws -> [HostileFile] {
    skip(1)
    var found: [HostileFile] = []
    for _ in 0..<files { found += try bigRecord(ownRecord, fields: 1, bytesEach: bytesEach) }
    return found
  }

  /// Files of a suite to come.
  ///
  /// - Parameter isControl: whether they lie in the control zone.
  package mutating func newerSuite(
    files: Int, bytesEach: Int, isControl: Bool = false
  ) throws -> [HostileFile] {
    let next = (isControl ? herald.head : head).sequence + 1
    var found: [HostileFile] = []
    for number in 0..<files {
      found.append(
        try sealOfNewerSuite(
          byteCount: bytesEach, first: next + UInt64(number), isControl: isControl))
    }
    return found
  }

  /// A change in each of so many lives of this device: a chore, or nothing that is seen.
  ///
  /// - Parameters:
  ///   - part: lives of different parts are different ones.
  ///   - announces: whether each life tells the control log of itself first. What does not counts
  ///     nowhere and takes no place, so only the others can use up places.
  package mutating func lives(
    _ number: Int, part: Int, announcing announces: Bool, addingChores addsChores: Bool = true
  ) throws -> [HostileFile] {
    var found: [HostileFile] = []
    for life in 0..<number {
      begin(life: UInt64(2 + part * number + life))
      if announces { found.append(try announce()) }
      let operations =
        addsChores
        ? chore(title: "Life \(part)-\(life)", note: "") : [Operation(ownRecord, .insert)]
      found.append(try seal([change(operations)]))
    }
    return found
  }

  /// A text in the own person's record, to which each of so many lives adds all that it may.
  package mutating func longText(lives: Int) throws -> [HostileFile] {
    let (key, field) = (ownRecord, FieldID(.text, 200))
    var found: [HostileFile] = []
    for life in 0...lives {
      let units = life == 0 ? Limits.maximumRecordUnits : Limits.maximumLaterRecordUnits
      var rest = Int(units * Limits.textUnitWeight)
      if life > 0 {
        begin(life: UInt64(1 + life))
        found.append(try announce())
      }
      while rest > Limits.editWeight {
        let count = min(rest - Limits.editWeight, HostileMember.longestEdit)
        let start = dice.letters(count / 8)
        let text = start + String(repeating: "a", count: count - start.utf8.count)
        found.append(try seal([change([Operation(key, .edit(field, .insert(text, .start)))])]))
        rest -= count + Limits.editWeight
      }
    }
    return found
  }

  /// Two logs that cite each other by turns, so that neither goes on without the other.
  ///
  /// The first is one file, and the second a file for so many of its changes.
  package mutating func ladder(steps: Int, perFile: Int) throws -> [HostileFile] {
    begin(life: 2)
    var other = self
    other.begin(life: 3)
    var found = [try announce(), try other.announce()]
    let operation = [Operation(ownRecord, .insert)]
    var (left, right): ([Change], [Change]) = ([], [])
    for _ in 0..<min(steps, Limits.maximumSegmentChanges) {
      left.append(change(operation, following: other))
      right.append(other.change(operation, following: self))
    }
    found.append(try seal(left))
    for start in stride(from: 0, to: right.count, by: max(1, perFile)) {
      found.append(try other.seal(Array(right[start...].prefix(max(1, perFile)))))
    }
    return found
  }

  /// Ordinary files, as a phone that was offline brings them.
  ///
  /// Each has a chore and so many edits of its note, each a change of a few words. They are what
  /// the deeds are measured by.
  package mutating func honestChores(files: Int, edits: Int) throws -> [HostileFile] {
    var found: [HostileFile] = []
    for number in 0..<files {
      let key = RecordKey(type: HouseholdSchema.chore, id: identifier())
      var changes = [change(chore(key.id, title: "Honest \(number)", note: ""))]
      for _ in 0..<edits {
        let note = dice.letters(HostileMember.editedCharacters)
        changes.append(change([Operation(key, .assign(FieldID(.register, 2), .text(note)))]))
      }
      found.append(try seal(changes))
    }
    return found
  }

  /// What adds a chore.
  package mutating func chore(
    _ id: RecordID? = nil, title: String, note: String
  ) -> [Operation] {
    let key = RecordKey(type: HouseholdSchema.chore, id: id ?? identifier())
    var operations = [
      Operation(key, .assign(FieldID(.register, 1), .text(title))),
      Operation(key, .assign(FieldID(.history, 3), .int(1))),
      Operation(key, .assign(FieldID(.history, 5), .text("nobody"))),
      Operation(key, .assign(FieldID(.register, 12), .int(Int64(nowMilliseconds)))),
    ]
    if !note.isEmpty {
      operations.append(Operation(key, .assign(FieldID(.register, 2), .text(note))))
    }
    return operations
  }

  /// A fresh id of a record.
  package mutating func identifier() -> Identifier {
    Identifier(high: dice.next(), low: dice.next())
  }

  /// So many operations, cut into changes and files.
  package mutating func bomb(
    _ number: Int, _ measure: Measure, _ operation: (Int) -> Operation
  ) throws -> [HostileFile] {
    try eventBomb(number, measure) { _, place, _ in operation(place) }
  }

  /// So many operations, cut into changes and files, each made for a place among all and an index
  /// among those of its change, from which the ids of events follow.
  mutating func eventBomb(
    _ number: Int, _ measure: Measure, _ operation: (HostileMember, Int, Int) -> Operation
  ) throws -> [HostileFile] {
    try packed(
      number, measure, operation, into: { $0.change($1) }, sealedBy: { try $0.seal($1) })
  }

  /// So many parts of a log of any zone, cut into changes and files.
  ///
  /// - Parameters:
  ///   - part: makes a part for a place among all and an index among those of its change.
  ///   - change: makes the next change of the log.
  ///   - seal: seals consecutive changes into one file.
  mutating func packed<Part>(
    _ number: Int, _ measure: Measure, _ part: (HostileMember, Int, Int) -> Part,
    into change: (inout HostileMember, [Part]) -> Change,
    sealedBy seal: (HostileMember, [Change]) throws -> HostileFile
  ) throws -> [HostileFile] {
    var files: [HostileFile] = []
    var changes: [Change] = []
    var held = 0
    for start in stride(from: 0, to: number, by: measure.perChange) {
      let end = min(number, start + measure.perChange)
      let parts = (start..<end).map { part(self, $0, $0 - start) }
      if held > 0, held + parts.count > measure.perFile {
        files.append(try seal(self, changes))
        (changes, held) = ([], 0)
      }
      changes.append(change(&self, parts))
      held += parts.count
    }
    if !changes.isEmpty { files.append(try seal(self, changes)) }
    return files
  }
}
