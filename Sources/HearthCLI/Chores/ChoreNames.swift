import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Resolves typed names.
enum ChoreNames {
  /// Returns the chore of a title, or of at least eight digits of its id; see ``ChoreChoice``.
  static func chore(
    _ text: String, in state: HouseholdState, of scope: ChoreChoice.Scope = .current
  ) throws -> ChoreView {
    try ChoreChoice(state: state, scope: scope).find(text)
  }

  /// Returns the chores of several typed words: the one that they fit together, else one for each.
  ///
  /// - Throws: also if two of the words mean the same chore. The failure for words of which none
  ///   means a chore names all of them.
  static func chores(_ words: [String], in state: HouseholdState) throws -> [ChoreView] {
    let phrase = words.joined(separator: " ")
    guard words.count > 1 else { return [try chore(phrase, in: state)] }
    let titles = try state.chores.titles(includingArchived: false)
    guard case .none(let nearest) = NameMatch(phrase, among: titles, name: \.title) else {
      return [try chore(phrase, in: state)]
    }
    var found: [ChoreView] = []
    for word in words {
      let one: ChoreView
      do {
        one = try chore(word, in: state)
      } catch {
        // A mistyped title is likelier than several chores of which one is unknown.
        guard nearest.isEmpty else { throw ChoreNames.missing(phrase, nearest) }
        throw fits(words, in: state, among: titles) ? error : unknown(words, among: titles)
      }
      guard !found.contains(where: { $0.id == one.id }) else {
        throw CommandFailure(
          .usage, "\(ShownText.quoted(one.title)) is named twice", hint: "name each chore once")
      }
      found.append(one)
    }
    return found
  }

  /// Whether at least one of several words means a chore, or more than one.
  private static func fits(
    _ words: [String], in state: HouseholdState, among titles: [ChoreTitle]
  ) -> Bool {
    words.contains { word in
      guard case .none = NameMatch(word, among: titles, name: \.title) else { return true }
      return (try? chore(word, in: state)) != nil
    }
  }

  /// The failure for words of which none means a chore: it names them all, as they were typed.
  private static func unknown(
    _ words: [String], among titles: [ChoreTitle]
  ) -> CommandFailure {
    var nearest: [ChoreTitle] = []
    for word in words {
      guard case .none(let own) = NameMatch(word, among: titles, name: \.title) else { continue }
      for title in own where !nearest.contains(where: { $0.id == title.id }) {
        nearest.append(title)
      }
    }
    return missing(words.joined(separator: " "), nearest)
  }

  private static func missing(_ phrase: String, _ nearest: [ChoreTitle]) -> CommandFailure {
    CommandFailure(
      .failed, "there is no chore \(ShownText.quoted(phrase))",
      hint: nearest.isEmpty
        ? "see `hearth list --all`"
        : "did you mean " + nearest.map { ShownText.quoted($0.title) }.joined(separator: " or ")
          + "?")
  }

  /// Returns the person of a name or of digits of the id; a merged person resolves to the other
  /// one.
  ///
  /// - Parameters:
  ///   - gate: the household's members and their roles.
  ///   - isToWork: whether the person gets a chore, or is the doer of work. If so, readers and
  ///     former members are refused. Their earlier points can still be queried.
  static func person(
    _ text: String, in state: HouseholdState, _ gate: RoleGate, isToWork: Bool = false
  ) throws -> PersonChoice {
    guard !text.allSatisfy(\.isWhitespace) else {
      throw CommandFailure(
        .usage, "the person's name is empty", hint: "see `hearth member` for everybody")
    }
    let written = try state.people.all().map { PersonChoice(id: $0.id, name: $0.name) }
    let known = Set(written.map(\.id))
    let (people, former) = (gate.membership.people, gate.membership.formerPeople)
    let others = (people + former).map(PersonChoice.init).filter { !known.contains($0.id) }
    let roles = Dictionary(uniqueKeysWithValues: people.map { ($0.id, $0.role) })
    switch one(
      of: PersonChoice.find(text, among: written + others, isPresent: { roles[$0.id] != nil }),
      written + others, state.people.merges)
    {
    case .one(let person):
      let hasRecord = known.contains(person.id)
      if hasRecord, !isToWork { return person }
      if let refusal = refusal(of: person, roles[person.id], hasRecord, in: gate.household) {
        throw refusal
      }
      return person
    case .several(let found): throw PersonChoice.several(text, found)
    case .none(let nearest):
      throw CommandFailure(
        .failed, "there is no person \(ShownText.quoted(text)) in this household",
        hint: nearest.isEmpty
          ? "see `hearth member` for everybody"
          : "did you mean " + RoleGate.either(nearest.map { ShownText.quoted($0.name) }) + "?")
    }
  }

  /// The same match with merged people resolved: several may be one.
  private static func one(
    of match: NameMatch<PersonChoice>, _ everybody: [PersonChoice], _ merges: PersonMerges
  ) -> NameMatch<PersonChoice> {
    func one(_ choice: PersonChoice) -> PersonChoice {
      let id = merges.one(choice.id)
      return everybody.first { $0.id == id } ?? PersonChoice(id: id, name: choice.name)
    }
    switch match {
    case .one(let choice): return .one(one(choice))
    case .several(let found):
      var different: [PersonChoice] = []
      for choice in found.map(one) where !different.contains(choice) { different.append(choice) }
      guard let only = different.first, different.count == 1 else { return .several(different) }
      return .one(only)
    case .none: return match
    }
  }

  /// The reason why a person cannot do chores; nil for those who can.
  private static func refusal(
    of person: PersonChoice, _ role: Role?, _ hasRecord: Bool, in household: String
  ) -> CommandFailure? {
    let (name, place) = (Style.safe(person.name), Style.safe(household))
    guard let role else {
      return CommandFailure(
        .failed, "\(name) does not belong to \(place) any more",
        hint: "see `hearth member` for everybody; `hearth invite` lets somebody join again")
    }
    if role == .reader {
      return CommandFailure(
        .failed, "\(name) is a reader of \(place) and does no chores",
        hint: "an admin can change that: `hearth member role \(ShellText.word(name)) child`")
    }
    guard !hasRecord else { return nil }
    return CommandFailure(
      .failed,
      "\(name) is \(RoleWords.a(role)) of \(place), but no device of \(name) has confirmed "
        + "this yet",
      hint: "`hearth sync` on a device of \(name), then here")
  }

  /// Returns the titles of chores with the person as assignee, in the rotation, or on the next day.
  static func left(by person: PersonID, in context: HouseholdContext) async throws -> [String] {
    try await context.read { state in
      try state.chores.all(includingArchived: false).filter { chore in
        switch chore.assignment {
        case .person(person): return true
        case .rotation(let people, _) where people.contains(person): return true
        default: return chore.next?.assignee == person
        }
      }.map(\.title)
    }
  }

  /// The number of chores that a leaving person leaves behind, with the remedy; nil if there are
  /// none.
  ///
  /// - Parameter name: the person; nil for the reader.
  static func words(onChores titles: [String], leftBy name: String?) -> String? {
    guard !titles.isEmpty else { return nil }
    let named = titles.prefix(shownTitles).map { ShownText.quoted($0) }.joined(separator: ", ")
    let more = titles.count > shownTitles ? " and \(titles.count - shownTitles) more" : ""
    let owner = name.map { Style.safe($0) + "'s" } ?? "yours"
    let way = "`hearth assign CHORE PERSON --always`, or `hearth edit CHORE --rotate NAME,NAME`"
    return "\(Words.count(titles.count, "chore")) \(titles.count == 1 ? "is" : "are") still "
      + "\(owner): \(named)\(more); "
      + (name == nil ? "the others reassign them with \(way)" : "reassign them with \(way)")
  }

  private static let shownTitles = 5

  /// Returns all names by id.
  static func names(in state: HouseholdState) throws -> [PersonID: String] {
    Dictionary(try state.people.all().map { ($0.id, $0.name) }) { first, _ in first }
  }

  /// An assignment in words.
  static func words(_ assignment: Assignment, _ names: [PersonID: String]) -> String {
    func name(_ id: PersonID) -> String { names[id] ?? String(id.hex.prefix(8)) }
    switch assignment {
    case .nobody: return ""
    case .person(let id): return name(id)
    case .rotation(let ids, _): return ids.map(name).joined(separator: " → ")
    }
  }
}
