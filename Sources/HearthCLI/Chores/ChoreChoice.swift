import HearthCRDT
import Household

/// The chore that a typed name means.
struct ChoreChoice {
  /// The chores that a command is about.
  enum Scope {
    /// Those that are not archived.
    case current
    /// All; an archived one only if no other fits.
    case all
    /// All; an archived one first.
    case archivedFirst
  }

  let state: HouseholdState
  let scope: Scope

  /// The most matches of which the open ones are looked for.
  private static let mostLookedAt = 50
  private static let shownMatches = 10

  /// Returns the chore of a title, or of at least eight digits of its id.
  ///
  /// If several fit equally well and one of them is open, it is that one: a finished "Buy milk"
  /// does not stand in the way of the next.
  ///
  /// - Throws: a failure that lists the candidates, or suggests the nearest titles.
  func find(_ text: String) throws -> ChoreView {
    guard !text.allSatisfy(\.isWhitespace) else {
      throw CommandFailure(
        .usage, "the chore's name is empty", hint: "see `hearth list` for the chores")
    }
    let digits = text.lowercased()
    let isID = digits.utf8.count >= 8 && digits.allSatisfy(\.isHexDigit)
    if !isID, let view = try exact(ShownText.normal(text)) { return view }
    let titles = try state.chores.titles(includingArchived: true)
    if isID {
      let found = titles.filter { $0.id.hex.hasPrefix(digits) && holds($0) }
      if let first = found.first, found.count == 1 { return try view(first, text) }
    }
    for isArchived in order {
      switch NameMatch(text, among: titles.filter { $0.isArchived == isArchived }, name: \.title) {
      case .one(let chore): return try view(chore, text)
      case .several(let found): return try open(among: found, text)
      case .none: continue
      }
    }
    throw missing(text, titles)
  }

  /// Whether each part of the chores in turn is archived.
  private var order: [Bool] {
    switch scope {
    case .current: [false]
    case .all: [false, true]
    case .archivedFirst: [true, false]
    }
  }

  private func holds(_ chore: ChoreTitle) -> Bool { scope != .current || !chore.isArchived }

  /// Returns the only chore of exactly this title in the first part, from an index.
  private func exact(_ title: String) throws -> ChoreView? {
    let found = try state.chores.titles(equalTo: title, includingArchived: true)
      .filter { $0.isArchived == order[0] }
    guard let only = found.first, found.count == 1 else { return nil }
    return try view(only, title)
  }

  private func view(_ chore: ChoreTitle, _ text: String) throws -> ChoreView {
    guard let view = try state.chores.chore(chore.id) else { throw ChoreChoice.none(text, "") }
    return view
  }

  /// Returns the only open one of several.
  private func open(among found: [ChoreTitle], _ text: String) throws -> ChoreView {
    if found.count <= ChoreChoice.mostLookedAt {
      let open = try found.compactMap { try state.chores.chore($0.id) }.filter { $0.next != nil }
      if let only = open.first, open.count == 1 { return only }
    }
    let sorted = found.sorted { ($0.title, $0.id) < ($1.title, $1.id) }
    let shown = sorted.prefix(ChoreChoice.shownMatches)
    let list = shown.map { "  \($0.id.hex.prefix(8))  \(Style.safe($0.title))" }
    let more = found.count > shown.count ? "\n  and \(found.count - shown.count) more" : ""
    throw CommandFailure(
      .failed,
      "\(ShownText.quoted(text)) fits \(found.count) chores:\n"
        + list.joined(separator: "\n") + more, hint: "write more of the title, or the id")
  }

  /// The failure for a name that fits none of the scope.
  private func missing(_ text: String, _ titles: [ChoreTitle]) -> CommandFailure {
    let digits = text.lowercased()
    let hidden = titles.filter { !holds($0) }
    var archived: ChoreTitle?
    if case .one(let chore) = NameMatch(text, among: hidden, name: \.title) { archived = chore }
    let byID = hidden.filter { digits.utf8.count >= 8 && $0.id.hex.hasPrefix(digits) }
    if byID.count == 1 { archived = byID.first }
    if let archived {
      return CommandFailure(
        .failed, "\(ShownText.quoted(archived.title)) is archived",
        hint: "`hearth restore \(archived.id.hex.prefix(8))` brings it back")
    }
    guard case .none(let nearest) = NameMatch(text, among: titles.filter(holds), name: \.title),
      !nearest.isEmpty
    else { return ChoreChoice.none(text, "see `hearth list --all`") }
    return ChoreChoice.none(
      text,
      "did you mean " + nearest.map { ShownText.quoted($0.title) }.joined(separator: " or ") + "?")
  }

  private static func none(_ text: String, _ hint: String) -> CommandFailure {
    CommandFailure(
      .failed, "there is no chore \(ShownText.quoted(text))", hint: hint.isEmpty ? nil : hint)
  }
}
