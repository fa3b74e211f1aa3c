import HearthCRDT

/// The assignees of a chore: the value of one field, so that two edits never mix (rules R5 and
/// R18).
package enum Assignment: Hashable, Sendable {
  /// Anybody may do it.
  case nobody
  /// Always this person.
  case person(PersonID)
  /// These people in turn; the order matters and is part of the one value.
  case rotation([PersonID], RotationKind)

  /// The most people of a rotation.
  package static let maximumPeople = 64

  /// The canonical text that is replicated.
  package var text: String {
    switch self {
    case .nobody: "nobody"
    case .person(let person): "person \(person.hex)"
    case .rotation(let people, let kind):
      "rotation \(kind.rawValue) \(people.map(\.hex).joined(separator: ","))"
    }
  }

  /// Reads canonical text; nil for other text, which a newer version may have written.
  package init?(text: String) {
    let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    switch (words.first, words.count) {
    case ("nobody", 1): self = .nobody
    case ("person", 2):
      guard let person = PersonID(hex: words[1]) else { return nil }
      self = .person(person)
    case ("rotation", 3):
      guard words[2].utf8.count <= Assignment.maximumPeople * 33,
        let kind = RotationKind(rawValue: words[1])
      else { return nil }
      let parts = words[2].split(separator: ",", omittingEmptySubsequences: false)
      let people = parts.compactMap { PersonID(hex: String($0)) }
      guard people.count == parts.count, Assignment.areValid(people) else { return nil }
      self = .rotation(people, kind)
    default: return nil
    }
    guard self.text == text else { return nil }
  }

  /// Whether these people can take turns: one to ``maximumPeople``, each only once.
  static func areValid(_ people: [PersonID]) -> Bool {
    (1...maximumPeople).contains(people.count) && Set(people).count == people.count
  }

  /// Whether the person is assigned; without an assignment everybody is.
  func includes(_ person: PersonID) -> Bool {
    switch self {
    case .nobody: true
    case .person(let one): one == person
    case .rotation(let people, _): people.contains(person)
    }
  }
}

/// The kind of rotation (rule R18); every kind picks the same person on every device.
package enum RotationKind: String, CaseIterable, Sendable {
  /// By the ordinal of the occurrence: order[ordinal mod n].
  case byDate = "date"
  /// The next person after the one who was last credited.
  case byTurn = "turn"
  /// The person with the fewest credits in the 28 days up to the due day; on a tie, the least id.
  case leastDone = "least"
  /// By a hash of chore and occurrence.
  case random
}

/// The key of an occurrence within its chore: a number that is the same on every device (rule R6).
///
/// One-off chores have the single key 0. Calendar rules have the key of the original date and slot.
/// Chains of a rule that counts from completion have the place in the chain.
package struct OccurrenceKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The replicated number.
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The key of a calendar occurrence.
  package init(_ occurrence: Occurrence) { rawValue = Int64(occurrence.key) }

  /// The only occurrence of a one-off chore.
  package static let once = OccurrenceKey(rawValue: 0)

  /// A whole day, for work under a rule that this version cannot read.
  ///
  /// No occurrence has this key: a slot of a day is less than 24.
  static func wholeDay(_ day: CivilDate) -> OccurrenceKey {
    OccurrenceKey(rawValue: Int64(day.dayNumber) * 32 + 31)
  }

  /// A place in a chain that counts from completion: the number done, and the number skipped since.
  ///
  /// No place equals ``once``, so a chore whose rule is changed keeps them apart.
  static func chain(done: Int, skipped: Int) -> OccurrenceKey {
    OccurrenceKey(rawValue: (Int64(done) + 1) * 64 + Int64(min(skipped, maximumSkipped)))
  }

  /// The most links of a chain that can be skipped in a row.
  static let maximumSkipped = 63

  /// The original date and slot, for calendar rules.
  package var occurrence: Occurrence? {
    Int(exactly: rawValue).flatMap { key in
      (Int64(Int32.min)...Int64(Int32.max)).contains(Int64(key)) ? try? Occurrence(key: key) : nil
    }
  }

  /// The number in decimal.
  package var description: String { String(rawValue) }

  /// Chronological order among keys of one rule.
  package static func < (left: OccurrenceKey, right: OccurrenceKey) -> Bool {
    left.rawValue < right.rawValue
  }
}
