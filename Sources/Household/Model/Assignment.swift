import HearthCRDT

/// Who is to do a chore: the value of one field, so that two edits never mix (rules R5 and R18).
package enum Assignment: Hashable, Sendable {
  /// Whoever likes.
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

  /// Reads canonical text; nil for anything else, which a newer version may have written.
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

  /// Whether these people can take turns: one to ``maximumPeople``, nobody twice.
  static func areValid(_ people: [PersonID]) -> Bool {
    (1...maximumPeople).contains(people.count) && Set(people).count == people.count
  }

  /// Whether the person is one of those assigned; everybody is where nobody is.
  func includes(_ person: PersonID) -> Bool {
    switch self {
    case .nobody: true
    case .person(let one): one == person
    case .rotation(let people, _): people.contains(person)
    }
  }
}

/// How turns are taken (rule R18); every kind names the same person on every device.
package enum RotationKind: String, CaseIterable, Sendable {
  /// The ordinal of the occurrence picks: order[ordinal mod n].
  case byDate = "date"
  /// The one after whoever was last credited.
  case byTurn = "turn"
  /// Whoever was credited least in the 28 days up to the due day; the lesser id among equals.
  case leastDone = "least"
  /// A hash of chore and occurrence picks.
  case random
}

/// Which occurrence of a chore, as a number that is the same on every device (rule R6).
///
/// One-off chores have the one key 0; calendar rules the key of the original date and slot; chains
/// counted from completion the place in the chain.
package struct OccurrenceKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number that is replicated.
  package let rawValue: Int64

  /// Takes the number as it is.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The key of a calendar occurrence.
  package init(_ occurrence: Occurrence) { rawValue = Int64(occurrence.key) }

  /// The only occurrence of a one-off chore.
  package static let once = OccurrenceKey(rawValue: 0)

  /// A place in a chain counted from completion: so many done, and so many skipped since.
  ///
  /// No place is ``once``, so that a chore whose rule is changed keeps them apart.
  static func chain(done: Int, skipped: Int) -> OccurrenceKey {
    OccurrenceKey(rawValue: (Int64(done) + 1) * 64 + Int64(min(skipped, maximumSkipped)))
  }

  /// How many links of a chain in a row can be skipped.
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
