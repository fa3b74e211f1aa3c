import HearthCRDT
import HearthSync
import Household

/// What a seed makes a hostile member write: parameters of the deeds, mutated.
extension HostileMember {
  /// Files of a shape that follows from the dice, and what it is in words.
  ///
  /// - Parameter scale: the most operations of one shape; so a run can be kept short.
  package mutating func shape(scale: Int) throws -> (files: [HostileFile], words: String) {
    let perChange = dice.magnitude(upTo: min(scale, Limits.maximumOperations))
    let perFile = min(
      perChange * dice.magnitude(upTo: Limits.maximumSegmentChanges),
      Limits.maximumSegmentItems)
    let measure = Measure(perChange: perChange, perFile: perFile)
    let number = dice.magnitude(upTo: scale)
    let sized = "of \(number) operations, \(perChange) a change, \(measure.perFile) a file"
    switch dice.below(8) {
    case 0: return (try setBomb(elements: number, measure), "a set \(sized)")
    case 1:
      return (try historyBomb(values: number, perFile: perFile), "a history \(sized)")
    case 2:
      let files = dice.magnitude(upTo: max(1, min(150, scale / max(1, number))))
      return (
        try gapBomb(files: files, Measure(perChange: perChange, perFile: number)),
        "\(files) gaps before \(number) writes each, \(perChange) a change"
      )
    case 3: return try registers(number, measure, sized)
    case 4: return try schedules(number, measure)
    case 5: return try texts(number, measure)
    case 6: return try toggles(number, measure, sized)
    default:
      let many = dice.magnitude(upTo: min(300, scale))
      return (try lives(many, part: 0, announcing: true), "a chore in each of \(many) lives")
    }
  }

  /// Many fields of one record, or one field of many records.
  private mutating func registers(
    _ number: Int, _ measure: Measure, _ sized: String
  ) throws -> (files: [HostileFile], words: String) {
    let isOne = dice.below(2) == 0
    let key = ownRecord
    let type = HouseholdSchema.chore
    let ids = isOne ? [] : (0..<min(number, 4_000)).map { _ in identifier() }
    let files = try bomb(number, measure) { place in
      let field = FieldID(.register, UInt16(1_000 + place % 15_000))
      return isOne
        ? Operation(key, .assign(field, .int(Int64(place))))
        : Operation(
          RecordKey(type: type, id: ids[place % ids.count]),
          .assign(FieldID(.register, 1), .text("Chore")))
    }
    return (files, (isOne ? "fields of one record " : "titles of \(ids.count) chores ") + sized)
  }

  /// Chores whose rules reach far.
  private mutating func schedules(
    _ number: Int, _ measure: Measure
  ) throws -> (files: [HostileFile], words: String) {
    let rules = [
      "v1;mode=calendar;from=0001-01-01;freq=daily;every=1;wkst=mo",
      "v1;mode=calendar;from=1900-01-01;freq=daily;every=1;wkst=mo;count=100000",
      "v1;mode=calendar;from=2020-02-29;freq=yearly;every=400;wkst=mo",
      "v1;mode=calendar;from=2000-01-01;freq=monthly;every=1;on=5mo;wkst=mo",
    ]
    let rule = dice.pick(rules)
    let count = min(number, 2_000)
    let type = HouseholdSchema.chore
    let ids = (0..<max(1, count / 2)).map { _ in identifier() }
    let files = try bomb(ids.count * 2, measure) { place in
      Operation(
        RecordKey(type: type, id: ids[place / 2]),
        place % 2 == 0
          ? .assign(FieldID(.register, 1), .text("Chore \(place / 2)"))
          : .assign(FieldID(.history, 8), .text(rule)))
    }
    return (files, "\(ids.count) chores with the rule \(rule)")
  }

  /// Long texts of few different letters.
  private mutating func texts(
    _ number: Int, _ measure: Measure
  ) throws -> (files: [HostileFile], words: String) {
    let byteCount = dice.magnitude(upTo: 256 * 1_024)
    let count = max(1, min(number, 8_000_000 / byteCount))
    let start = dice.letters(min(byteCount, 512))
    let text = start + String(repeating: "\u{301}", count: (byteCount - start.utf8.count) / 2)
    let type = HouseholdSchema.chore
    let ids = (0..<count).map { _ in identifier() }
    let files = try bomb(count, Measure(perChange: 1, perFile: max(1, 500_000 / byteCount))) {
      Operation(
        RecordKey(type: type, id: ids[$0]), .assign(FieldID(.register, 1), .text(text)))
    }
    return (files, "\(count) titles of \(byteCount) bytes")
  }

  /// One element that is put into a set and taken out of it, or one record that comes and goes.
  private mutating func toggles(
    _ number: Int, _ measure: Measure, _ sized: String
  ) throws -> (files: [HostileFile], words: String) {
    let isSet = dice.below(2) == 0
    let key = isSet ? ownRecord : RecordKey(type: HouseholdSchema.chore, id: identifier())
    let field = HostileMember.unknownField(.set)
    let files = try bomb(number, measure) { place in
      switch (isSet, place % 2) {
      case (true, 0): Operation(key, .include(field, .int(1)))
      case (true, _): Operation(key, .exclude(field, .int(1)))
      case (false, 0): Operation(key, .insert)
      case (false, _): Operation(key, .delete)
      }
    }
    return (files, (isSet ? "an element in and out " : "a record come and gone ") + sized)
  }
}
