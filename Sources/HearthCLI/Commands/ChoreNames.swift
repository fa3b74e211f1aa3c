import Foundation
import HearthCRDT
import Household

/// Finds what a typed name means.
enum ChoreNames {
  /// The chore meant: by title, or by at least eight digits of its id.
  ///
  /// - Throws: a failure that lists the candidates, or suggests the nearest titles.
  static func chore(
    _ text: String, in book: HouseholdBook, includingArchived: Bool = false
  ) throws -> ChoreView {
    guard !text.allSatisfy(\.isWhitespace) else {
      throw CommandFailure(
        .usage, "the chore's name is empty", hint: "see `hearth list` for the chores")
    }
    func view(_ id: RecordID) throws -> ChoreView {
      guard let chore = try book.chore(id) else {
        throw CommandFailure(.failed, "there is no chore \(ShownText.quoted(text))")
      }
      return chore
    }
    let digits = text.lowercased()
    let isID = digits.utf8.count >= 8 && digits.allSatisfy(\.isHexDigit)
    if !isID {
      let same = try book.titles(
        equalTo: ShownText.normal(text), includingArchived: includingArchived)
      if let only = same.first, same.count == 1 { return try view(only.id) }
    }
    let titles = try book.titles(includingArchived: includingArchived)
    if isID {
      let found = titles.filter { $0.id.hex.hasPrefix(digits) }
      if let first = found.first, found.count == 1 { return try view(first.id) }
    }
    switch NameMatch(text, among: titles, name: \.title) {
    case .one(let chore): return try view(chore.id)
    case .several(let found):
      let sorted = found.sorted { ($0.title, $0.id) < ($1.title, $1.id) }
      let list = sorted.prefix(10).map { "  \($0.id.hex.prefix(8))  \(Style.safe($0.title))" }
      let more = found.count > 10 ? "\n  and \(found.count - 10) more" : ""
      throw CommandFailure(
        .failed,
        "\(ShownText.quoted(text)) fits \(found.count) chores:\n"
          + list.joined(separator: "\n") + more, hint: "write more of the title, or the id")
    case .none(let nearest):
      throw CommandFailure(
        .failed, "there is no chore \(ShownText.quoted(text))",
        hint: nearest.isEmpty
          ? "see `hearth list --all`"
          : "did you mean " + nearest.map { ShownText.quoted($0.title) }.joined(separator: " or ")
            + "?")
    }
  }

  /// The person meant, by name.
  static func person(_ text: String, in book: HouseholdBook) throws -> PersonView {
    guard !text.allSatisfy(\.isWhitespace) else {
      throw CommandFailure(
        .usage, "the person's name is empty", hint: "see `hearth member` for everybody")
    }
    switch NameMatch(text, among: try book.people(), name: \.name) {
    case .one(let person): return person
    case .several(let found):
      let list = found.map { ShownText.quoted($0.name) }.joined(separator: ", ")
      throw CommandFailure(.failed, "\(ShownText.quoted(text)) fits several people: \(list)")
    case .none(let nearest):
      throw CommandFailure(
        .failed, "there is no person \(ShownText.quoted(text)) in this household",
        hint: nearest.isEmpty
          ? "see `hearth leaderboard` for everybody"
          : "did you mean " + nearest.map { ShownText.quoted($0.name) }.joined(separator: " or ")
            + "?")
    }
  }

  /// Everybody's name by id.
  static func names(in book: HouseholdBook) throws -> [PersonID: String] {
    Dictionary(try book.people().map { ($0.id, $0.name) }) { first, _ in first }
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
