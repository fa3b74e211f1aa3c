import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The files of a shape: deeds whose numbers a search chooses.
extension HostileMember {
  private static let rules = [
    "v1;mode=calendar;from=0001-01-01;freq=daily;every=1;wkst=mo",
    "v1;mode=calendar;from=1900-01-01;freq=daily;every=1;wkst=mo;count=100000",
    "v1;mode=calendar;from=2020-02-29;freq=yearly;every=400;wkst=mo",
    "v1;mode=calendar;from=2000-01-01;freq=monthly;every=1;on=5mo;wkst=mo",
  ]

  /// The files of a shape, in the order in which an honest program would have written them.
  package mutating func files(of shape: HostileShape) throws -> [HostileFile] {
    switch shape.kind {
    case .set: return try setBomb(elements: shape.number, shape.measure)
    case .history:
      return try historyBomb(
        values: shape.number, perFile: min(shape.perFile, Limits.maximumSegmentChanges))
    case .edits: return try textBomb(edits: shape.number, shape.measure)
    case .gap:
      let files = min(shape.size, 150)
      let each = max(
        1, min(shape.number, 350_000 / files, shape.perChange * Limits.maximumSegmentChanges))
      return try gapBomb(files: files, Measure(perChange: shape.perChange, perFile: each))
    case .fields: return try fields(shape)
    case .titles: return try titles(shape)
    case .schedules: return try schedules(shape)
    case .texts: return try texts(shape)
    case .toggles: return try toggles(shape)
    case .lives:
      return try lives(min(shape.number, 300), part: 0, announcing: shape.variant % 2 == 0)
    case .completions, .skips: return try happenings(shape)
    case .moves: return try moves(shape)
    case .settings: return try settings(shape)
    case .control: return try operations(shape)
    case .citations: return try citations(shape)
    }
  }

  /// Many fields of one record.
  private mutating func fields(_ shape: HostileShape) throws -> [HostileFile] {
    let key = ownRecord
    let count = min(shape.size, 15_000)
    return try bomb(shape.number, shape.measure) { place in
      let field = FieldID(.register, UInt16(1_000 + place % count))
      return Operation(key, .assign(field, .int(Int64(place))))
    }
  }

  /// One field of many records.
  private mutating func titles(_ shape: HostileShape) throws -> [HostileFile] {
    let ids = records(min(shape.size, shape.number, 4_000))
    let type = HouseholdSchema.chore
    return try bomb(shape.number, shape.measure) { place in
      Operation(
        RecordKey(type: type, id: ids[place % ids.count]),
        .assign(FieldID(.register, 1), .text("Chore")))
    }
  }

  /// Chores whose rules reach far.
  private mutating func schedules(_ shape: HostileShape) throws -> [HostileFile] {
    let rule = shape.pick(HostileMember.rules)
    let ids = records(min(shape.number, 1_000))
    let type = HouseholdSchema.chore
    return try bomb(ids.count * 2, shape.measure) { place in
      Operation(
        RecordKey(type: type, id: ids[place / 2]),
        place % 2 == 0
          ? .assign(FieldID(.register, 1), .text("Chore \(place / 2)"))
          : .assign(FieldID(.history, 8), .text(rule)))
    }
  }

  /// Long texts, of letters or of marks that join the letter before them.
  private mutating func texts(_ shape: HostileShape) throws -> [HostileFile] {
    let byteCount = min(shape.size, 256 * 1_024)
    let count = max(1, min(shape.number, HostileShape.maximumTextBytes / byteCount))
    let start = dice.letters(min(byteCount, 512))
    let mark = shape.pick(["\u{301}", "a", "\u{1f468}\u{200d}", "\u{202e}"])
    let text =
      start + String(repeating: mark, count: (byteCount - start.utf8.count) / mark.utf8.count)
    let ids = records(count)
    let type = HouseholdSchema.chore
    return try bomb(count, Measure(perChange: 1, perFile: max(1, 500_000 / byteCount))) {
      Operation(RecordKey(type: type, id: ids[$0]), .assign(FieldID(.register, 1), .text(text)))
    }
  }

  /// One element that is put into a set and taken out of it, or one record that comes and goes.
  private mutating func toggles(_ shape: HostileShape) throws -> [HostileFile] {
    let isSet = shape.variant % 2 == 0
    let key = isSet ? ownRecord : RecordKey(type: HouseholdSchema.chore, id: identifier())
    let field = HostileMember.unknownField(.set)
    return try bomb(shape.number, shape.measure) { place in
      switch (isSet, place % 2) {
      case (true, 0): Operation(key, .include(field, .int(1)))
      case (true, _): Operation(key, .exclude(field, .int(1)))
      case (false, 0): Operation(key, .insert)
      case (false, _): Operation(key, .delete)
      }
    }
  }

  /// Work, or skips, of chores of one's own: of one occurrence, of one after the other, or of such
  /// as the rule does not have.
  private mutating func happenings(_ shape: HostileShape) throws -> [HostileFile] {
    let chores = try ownChores(shape)
    let (ids, today) = (chores.ids, Int(nowMilliseconds / 86_400_000))
    let isSkip = shape.kind == .skips
    let doer = person
    let files = try eventBomb(shape.number, shape.eventMeasure) { member, place, index in
      let day = Int64(today - (shape.variant % 3 == 0 ? 0 : place % 4_000))
      let key = day * 32 + (shape.variant % 3 == 2 ? 7 : 0)
      let chore = ids[place % ids.count]
      return isSkip
        ? member.skipping(of: chore, key: key, day: day, because: "Own", at: index)
        : member.completion(of: chore, key: key, day: day, by: doer, at: index)
    }
    return chores.files + files
  }

  /// Occurrences of chores of one's own that are moved to other days, or to other people.
  private mutating func moves(_ shape: HostileShape) throws -> [HostileFile] {
    let chores = try ownChores(shape)
    let (ids, today) = (chores.ids, Int64(nowMilliseconds / 86_400_000))
    let (zone, doer) = (zone, person)
    let type = HouseholdSchema.occurrence
    let files = try bomb(shape.number, shape.measure) { place in
      let chore = ids[place / 3 % ids.count]
      let number = today * 32 + Int64(place / 3 / ids.count % max(1, shape.size)) * 32
      var name = ByteWriter(capacity: 32)
      name.identifier(chore)
      name.signed(number)
      let key = RecordKey(type: type, id: naturalID(in: zone, type: type, key: name.bytes))
      switch place % 3 {
      case 0: return Operation(key, .assign(FieldID(.register, 1), .bytes(chore.bytes)))
      case 1: return Operation(key, .assign(FieldID(.register, 2), .int(number)))
      default:
        return shape.variant % 2 == 0
          ? Operation(key, .assign(FieldID(.history, 3), .int(today + Int64(place % 4_000))))
          : Operation(key, .assign(FieldID(.history, 4), .bytes(doer.bytes)))
      }
    }
    return chores.files + files
  }

  /// Settings that there are, with values that nothing can use, or very many that there are not.
  private mutating func settings(_ shape: HostileShape) throws -> [HostileFile] {
    let known = ["time-zone", "week-start", "name", "duplicate", "strict"]
    let zone = zone
    let type = HouseholdSchema.setting
    let value = String(repeating: "x", count: min(shape.size, 4_096))
    return try bomb(shape.number, shape.measure) { place in
      let name = shape.variant % 2 == 0 ? known[place / 2 % known.count] : "s\(place / 2)"
      let key = RecordKey(type: type, id: naturalID(in: zone, type: type, key: Array(name.utf8)))
      return place % 2 == 0
        ? Operation(key, .assign(FieldID(.register, 1), .text(name)))
        : Operation(key, .assign(FieldID(.history, 2), .text(value)))
    }
  }

  /// Operations of the control zone that every role may write, or that count for nothing.
  private mutating func operations(_ shape: HostileShape) throws -> [HostileFile] {
    let number = min(shape.number, 20_000)
    let ids = records(min(shape.size, ControlLimits.maximumItems)).sorted()
    switch shape.variant % 6 {
    case 0: return try heartbeats(number, shape.eventMeasure, naming: 0)
    case 1:
      let each = Measure(perChange: 1, perFile: max(1, 10_000 / min(shape.size, 4_000)))
      return try heartbeats(min(number, 500), each, naming: min(shape.size, 4_000))
    case 2:
      return try controlBomb(number, shape.eventMeasure) { _, place in
        .unknown(kind: UInt8(200 + place % 50))
      }
    case 3:
      let each = Measure(perChange: 1, perFile: max(1, 20_000 / ids.count))
      return try controlBomb(min(number, 500), each) { _, _ in .confirm(ids) }
    case 4:
      return try controlBomb(number, shape.eventMeasure) { _, place in
        .inviteClose(invite: ids[place % ids.count])
      }
    default:
      let people = (membership.people.map(\.id) + ids).sorted()
      return try controlBomb(number, shape.eventMeasure) { _, place in
        .removeMember(
          person: people[place % people.count], cut: Cut(entries: []))
      }
    }
  }

  /// Changes that cite who does not exist, what others have yet to write, or what they wrote
  /// without its past.
  private mutating func citations(_ shape: HostileShape) throws -> [HostileFile] {
    let key = ownRecord
    let count = min(shape.size, Limits.maximumAuthors - 1)
    let number = max(1, min(shape.number, Limits.maximumSegmentItems / count, 5_000))
    let perFile = max(1, min(shape.perFile, 10_000 / count))
    let others = heads.filter { $0.author.device != device }
    var files: [HostileFile] = []
    var changes: [Change] = []
    for place in 0..<number {
      let insert = [Operation(key, .insert)]
      switch shape.variant % 3 {
      case 0:
        let nobody = (0..<count).map { number in
          Author(device: Identifier(high: 2, low: UInt64(number)), incarnation: 1 << 32)
        }
        let invented = Frontier(nobody.map { ($0, UInt64(place + 1)) })
        changes.append(change(insert, citing: invented))
      case 1:
        let next = others.prefix(count).map { ($0.author, $0.sequence + UInt64(place + 1)) }
        changes.append(change(insert, citing: Frontier(next)))
      default:
        let one = others.dropFirst(place % max(1, others.count)).prefix(1)
        let owned = Frontier(one.map { ($0.author, $0.sequence) })
        changes.append(change(insert, owning: owned))
      }
      if changes.count == perFile {
        files.append(try seal(changes))
        changes = []
      }
    }
    if !changes.isEmpty { files.append(try seal(changes)) }
    return files
  }

  /// Chores of one's own with a rule, for what happens to them.
  private mutating func ownChores(
    _ shape: HostileShape
  ) throws -> (ids: [RecordID], files: [HostileFile]) {
    let ids = records(min(shape.size, 200))
    let rule = HostileMember.rules[0]
    var changes: [Change] = []
    for (place, id) in ids.enumerated() {
      let key = RecordKey(type: HouseholdSchema.chore, id: id)
      changes.append(
        change(
          chore(id, title: "Own \(place)", note: "")
            + [Operation(key, .assign(FieldID(.history, 8), .text(rule)))]))
    }
    return (ids, [try seal(changes)])
  }

  /// So many fresh ids of records, at least one.
  private mutating func records(_ count: Int) -> [RecordID] {
    (0..<max(1, count)).map { _ in identifier() }
  }
}
