import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Deeds that say what is not so.
extension HostileMember {
  /// What a change does to what somebody has not written yet.
  package enum Erasure: Sendable {
    /// Gives the chore another title.
    case rename
    /// Deletes the chore.
    case delete
    /// Takes a tag off.
    case exclude(tag: String)
  }

  /// The author of a person's latest changes here.
  /// - Throws: `HostileError` where nobody is called so.
  package func author(called name: String) throws -> LogHead {
    try latest(called: name, in: heads)
  }

  /// The author of a person's latest changes in the control zone.
  /// - Throws: `HostileError` where nobody is called so.
  package func controlAuthor(called name: String) throws -> LogHead {
    try latest(called: name, in: controlHeads)
  }

  private func latest(called name: String, in heads: [LogHead]) throws -> LogHead {
    let people = Set(
      (membership.people + membership.formerPeople).filter { $0.name == name }.map(\.id))
    let devices = Set(membership.allDevices.filter { people.contains($0.person) }.map(\.id))
    guard
      let head = heads.filter({ devices.contains($0.author.device) })
        .max(by: { ($0.sequence, $0.author) < ($1.sequence, $1.author) })
    else { throw HostileError("nobody called \(name) has written anything") }
    return head
  }

  /// The id of the person of a name.
  /// - Throws: `HostileError` where nobody is called so.
  package func person(called name: String) throws -> PersonID {
    guard let found = membership.people.first(where: { $0.name == name }) else {
      throw HostileError("nobody is called \(name)")
    }
    return found.id
  }

  /// A change that says it has seen the victim's next changes, and undoes what they will say of a
  /// chore.
  package mutating func future(
    of victim: Author, ahead: UInt64, over chore: RecordID, _ erasure: Erasure
  ) throws -> [HostileFile] {
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    let operation =
      switch erasure {
      case .rename: Operation(key, .assign(FieldID(.register, 1), .text("Erased")))
      case .delete: Operation(key, .delete)
      case .exclude(let tag): Operation(key, .exclude(FieldID(.set, 10), .text(tag)))
      }
    let reached = heads.first { $0.author == victim }?.sequence ?? 0
    return [try seal([change([operation], citing: Frontier([(victim, reached + ahead)]))])]
  }

  /// A change that cites somebody's latest change and does not own to have seen what that one had
  /// seen, so that it stands beside what it comes after.
  ///
  /// - Returns: nothing where this member's own log has owned to all of it already.
  package mutating func unseen(
    over chore: RecordID
  ) throws -> (files: [HostileFile], owned: Frontier)? {
    let past = head.past
    let victims = heads.filter { victim in
      guard victim.author.device != device, victim.sequence > past[victim.author] else {
        return false
      }
      let owned = past.joined(with: Frontier([(victim.author, victim.sequence)]))
      return victim.forkedAt == nil && !owned.covers(victim.seen)
    }
    guard !victims.isEmpty else { return nil }
    let victim = dice.pick(victims)
    let owned = past.joined(with: Frontier([(victim.author, victim.sequence)]))
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    let renamed = Operation(key, .assign(FieldID(.register, 1), .text("Unseen")))
    return ([try seal([change([renamed], owning: owned)])], owned)
  }

  /// One transaction of which a child may do a half: a chore gets another title and is done.
  package mutating func halfTransaction(
    on chore: RecordID, key: Int64, day: CivilDate
  ) throws -> [HostileFile] {
    let title = Operation(
      RecordKey(type: HouseholdSchema.chore, id: chore),
      .assign(FieldID(.register, 1), .text("Half a transaction")))
    let done = completion(of: chore, key: key, day: Int64(day.dayNumber), by: person, at: 1)
    return [try seal([change([title, done])])]
  }

  /// Completions on days to come, as somebody's work, written by a clock that is as far ahead:
  /// every second one of an occurrence that the chore does not have.
  ///
  /// - Parameter doer: who is said to have done it; the member itself if nil.
  package mutating func futureDone(
    of chore: RecordID, from day: CivilDate, number: Int, by doer: PersonID? = nil
  ) throws -> [HostileFile] {
    var changes: [Change] = []
    let now = nowMilliseconds
    defer { nowMilliseconds = now }
    for place in 0..<number {
      guard let date = day.adding(days: place) else { break }
      nowMilliseconds = UInt64(max(0, date.dayNumber)) * 86_400_000 + 43_200_000
      let key = Int64(date.dayNumber) * 32 + (place % 2 == 0 ? 0 : 7)
      changes.append(
        change([
          completion(
            of: chore, key: key, day: Int64(date.dayNumber), by: doer ?? person, at: 0)
        ]))
    }
    return [try seal(changes)]
  }

  /// Links of a chain that counts from completion, all of one day, each by one who has seen those
  /// before it.
  package mutating func links(
    of chore: RecordID, on day: CivilDate, number: Int
  ) throws -> [HostileFile] {
    var changes: [Change] = []
    let date = Int64(day.dayNumber)
    for _ in 0..<number {
      changes.append(change([completion(of: chore, key: nil, day: date, by: person, at: 0)]))
    }
    return [try seal(changes)]
  }

  /// A setting with any value.
  package mutating func setting(_ name: String, _ value: String) throws -> [HostileFile] {
    let type = HouseholdSchema.setting
    let key = RecordKey(
      type: type, id: naturalID(in: zone, type: type, key: Array(name.utf8)))
    return [
      try seal([
        change([
          Operation(key, .assign(FieldID(.register, 1), .text(name))),
          Operation(key, .assign(FieldID(.history, 2), .text(value))),
        ])
      ])
    ]
  }

  /// Marks that turn a terminal's lines around or hide what is said, wherever people see a text: a
  /// title, a note, a tag, a name, the household's name, the reason of a skip.
  package mutating func marks() throws -> [HostileFile] {
    let bad = "\u{2028}hearth: all is well\u{2029}\u{202e}\u{2066}\u{200b}\u{200f}\u{feff}\u{ad}"
    let named = Operation(ownRecord, .assign(FieldID(.register, 1), .text("Mal" + bad)))
    let id = identifier()
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    let titled =
      chore(id, title: "Milk" + bad, note: "Note" + bad)
      + [Operation(key, .include(FieldID(.set, 10), .text("tag" + bad)))]
    let skipped = identifier()
    var changes = [
      change([named]), change(titled),
      change(chore(skipped, title: "Skipped" + bad, note: "")),
    ]
    changes.append(
      change([
        skipping(
          of: skipped, key: OccurrenceKey.once.rawValue, day: Int64(nowMilliseconds / 86_400_000),
          because: "Because" + bad, at: 0)
      ]))
    return [try seal(changes)] + (try setting("name", "Home" + bad))
  }

  /// Somebody's work as the next change may have it at a place among its operations.
  func completion(
    of chore: RecordID, key: Int64?, day: Int64, by doer: PersonID, at index: Int
  ) -> Operation {
    let named = key.map { [EventField(FieldID(.register, 2), .int($0))] } ?? []
    return event(
      HouseholdSchema.completion, at: index,
      named + [
        EventField(FieldID(.register, 1), .bytes(chore.bytes)),
        EventField(FieldID(.register, 3), .bytes(doer.bytes)),
        EventField(FieldID(.register, 4), .int(day)),
        EventField(FieldID(.register, 5), .int(Int64(nowMilliseconds))),
        EventField(FieldID(.register, 6), .text("In advance")),
      ])
  }

  /// A skip as the next change may have it at a place among its operations.
  func skipping(
    of chore: RecordID, key: Int64, day: Int64, because reason: String, at index: Int
  ) -> Operation {
    event(
      HouseholdSchema.skip, at: index,
      [
        EventField(FieldID(.register, 1), .bytes(chore.bytes)),
        EventField(FieldID(.register, 2), .int(key)),
        EventField(FieldID(.register, 3), .text(reason)),
        EventField(FieldID(.register, 5), .int(day)),
      ])
  }
}
