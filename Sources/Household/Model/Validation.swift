import HearthCRDT

/// The bounds on people's input, checked before anything is written.
enum Validation {
  static let titleCharacters = 1...200
  static let nameCharacters = 1...80
  static let tagCharacters = 1...40
  static let maximumTags = 32
  static let maximumNoteBytes = 16 * 1024
  static let maximumReasonBytes = 1024
  static let maximumEmailBytes = 254
  static let points = 0...100_000
  /// The number of past days for which work may be entered (rule R9).
  static let maximumDaysBack = 7
  /// The number of days before its due day in which an occurrence may be done or skipped.
  static let maximumDaysAhead = 366
  /// The most bytes of a character: longer ones are piles of combining marks.
  private static let maximumBytesPerCharacter = 32

  /// Whether the text is not blank and has a permitted number of characters.
  static func isText(_ text: String, characters: ClosedRange<Int>) -> Bool {
    text.utf8.count <= characters.upperBound * maximumBytesPerCharacter
      && characters.contains(text.count) && !text.allSatisfy(\.isWhitespace)
      && !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }
  }

  static func title(_ text: String) throws(HouseholdError) {
    guard isText(text, characters: titleCharacters) else {
      throw HouseholdError(
        .badTitle,
        "a chore's title cannot be \(quoted(text)); use 1 to 200 characters on one line, "
          + "not only spaces")
    }
  }

  static func name(_ text: String) throws(HouseholdError) {
    guard isText(text, characters: nameCharacters) else {
      throw HouseholdError(
        .badName,
        "a person cannot be called \(quoted(text)); use 1 to 80 characters on one line, not only "
          + "spaces")
    }
  }

  static func note(_ text: String) throws(HouseholdError) {
    guard text.utf8.count <= maximumNoteBytes else {
      throw HouseholdError(
        .badNote,
        "the note has \(text.utf8.count) bytes; shorten it to at most \(maximumNoteBytes)")
    }
  }

  static func points(_ points: Int) throws(HouseholdError) {
    guard self.points.contains(points) else {
      throw HouseholdError(
        .badPoints, "a chore cannot be worth \(points) points; use 0 to 100000")
    }
  }

  static func tags(_ tags: [String]) throws(HouseholdError) {
    guard tags.count <= maximumTags else {
      throw HouseholdError(
        .badTags, "a chore cannot have \(tags.count) tags; use at most \(maximumTags)")
    }
    for tag in tags where !isText(tag, characters: tagCharacters) {
      throw HouseholdError(.badTags, "\(quoted(tag)) cannot be a tag; use 1 to 40 characters")
    }
  }

  static func assignment(_ assignment: Assignment) throws(HouseholdError) {
    guard case .rotation(let people, _) = assignment, !Assignment.areValid(people) else { return }
    throw HouseholdError(
      .badAssignment,
      "a rotation of \(people.count) people cannot work; name 1 to \(Assignment.maximumPeople), "
        + "each of them once")
  }

  static func doneDay(_ day: CivilDate, today: CivilDate) throws(HouseholdError) {
    let back = day.days(until: today)
    guard back >= 0 else {
      throw HouseholdError(
        .badDay, "\(day) is in the future (today is \(today)); enter work once it is done")
    }
    guard back <= maximumDaysBack else {
      throw HouseholdError(
        .badDay,
        "\(day) is \(back) days ago; work can be entered up to \(maximumDaysBack) days late")
    }
  }
}
