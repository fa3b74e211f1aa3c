import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync
import Household

extension EntryDocument {
  /// Prints entries as a table, with skips in their places between them.
  static func printTable(_ entries: [EntryDocument], _ skips: [SkipDocument] = []) {
    var rows: [[String]] = []
    var left = skips[...]
    for entry in entries {
      while let skip = left.first, skip.order > entry.order {
        rows.append(skip.row)
        left = left.dropFirst()
      }
      rows.append(entry.row)
    }
    rows += left.map(\.row)
    let late = entries.flatMap { entry in
      entry.late.map { "\(entry.day) \(Style.safe(entry.title)): \($0.words)" }
    }
    Output.print(
      Table(
        headers: ["DAY", "CHORE", "WHO", "POINTS", "KIND", "ENTRY"], rows: rows, rightAligned: [3]
      ).text)
    for line in late { Output.print(line) }
  }

  /// A late adjustment in words.
  static func words(_ late: LateBooking) -> String { LateDocument(late).words }
}

extension EntryDocument {
  /// Its line in the history.
  fileprivate var row: [String] {
    [day, title, who, String(points), kind, String(event.prefix(12))]
  }

  /// Its place in the history, which begins with the greatest.
  fileprivate var order: (String, UInt64, String) { (day, milliseconds, event) }
}

extension SkipDocument {
  /// Its line in the history, with the skipped day, if that is another one, and the reason.
  fileprivate var row: [String] {
    let which = occurrence.map { $0 == day ? "" : " \($0)" } ?? ""
    return [
      day, title, person, "", "skipped\(which)" + (reason.isEmpty ? "" : ": \(reason)"),
      String(event.prefix(12)),
    ]
  }

  /// Its place in the history, which begins with the greatest.
  fileprivate var order: (String, UInt64, String) { (day, milliseconds, event) }
}

/// `hearth history`.
struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List completions and skips, newest first, by pages.")
  @OptionGroup var common: CommonOptions
  @Option(help: "The cursor at the end of the previous page.") var page: String?

  private struct Document: Encodable {
    let entries: [EntryDocument]
    /// The skips between them that were not taken back.
    let skips: [SkipDocument]
    let next: String?
    let arrivedEarlier: Int
  }

  func run() async throws {
    let cursor = page
    let household = try await HouseholdContext.open(common)
    let limit = try await household.display().pageSize
    let document = try await household.read { state in
      let names = try ChoreNames.names(in: state)
      let page = try state.ledger.history(after: cursor, limit: limit)
      return Document(
        entries: page.entries.map { EntryDocument($0, names) },
        skips: try state.skips.entries(on: page).map { SkipDocument($0, names) },
        next: page.next, arrivedEarlier: page.arrivedEarlier)
    }
    if common.json { return try Output.json(document) }
    EntryDocument.printTable(document.entries, document.skips)
    if document.arrivedEarlier > 0 {
      Output.note(
        "\(document.arrivedEarlier) earlier "
          + (document.arrivedEarlier == 1 ? "entry" : "entries")
          + " arrived since the previous page; see them with `hearth history`")
    }
    if let next = document.next { Output.note("more: hearth history --page \(next)") }
  }
}

/// `hearth export`.
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Export the whole household as JSON, or completions as CSV.",
    discussion: """
      The JSON document has the people, the household's settings, all chores, completions and
      skips. The table of comma-separated values has the completions alone.
      """)
  @OptionGroup var common: CommonOptions
  @Flag(help: "The entries as comma-separated values (RFC 4180).") var csv = false

  private struct Document: Encodable {
    struct Household: Encodable {
      let name, id: String
    }
    struct Person: Encodable {
      let id, name: String
      let email: String?
      let createdMilliseconds: UInt64
    }
    let household: Household
    let people: [Person]
    /// The household's settings that are set, by key.
    let settings: [String: String]
    let chores: [ChoreDocument]
    let entries: [EntryDocument]
    /// Also those that were taken back.
    let skips: [SkipDocument]
  }

  func run() async throws {
    guard csv != common.json else {
      throw CommandFailure(.usage, "the format is missing", hint: "--json or --csv")
    }
    let context = try await HouseholdContext.open(common)
    let (name, id) = (context.zone.name, context.zone.id.hex)
    let document = try await context.read { state in
      let names = try ChoreNames.names(in: state)
      let settings = try state.storedSettings.all().map { ($0.key, $0.value) }
      return Document(
        household: Document.Household(name: name, id: id),
        people: try state.people.all().map {
          Document.Person(
            id: $0.id.hex, name: $0.name, email: $0.email,
            createdMilliseconds: $0.createdMilliseconds)
        },
        settings: Dictionary(settings) { first, _ in first },
        chores: try state.chores.all(includingArchived: true).map { ChoreDocument($0, names) },
        entries: try state.ledger.entries(of: nil).map { EntryDocument($0, names) },
        skips: try state.skips.entries().map { SkipDocument($0, names) })
    }
    if common.json { return try Output.json(document) }
    var lines = ["day,chore,person,points,kind,recorded_by,event"]
    for entry in document.entries {
      let cells = [
        entry.day, entry.title, entry.person, String(entry.points), entry.kind, entry.by,
        entry.event,
      ]
      lines.append(cells.map(ExportCommand.cell).joined(separator: ","))
    }
    Output.data(lines.joined(separator: "\r\n") + "\r\n")
  }

  /// A cell, quoted if needed; an apostrophe precedes one that a spreadsheet would run as a
  /// formula.
  static func cell(_ text: String) -> String {
    let plain = text.first.map { "=+-@\t\r".contains($0) } ?? false ? "'" + text : text
    guard plain.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else {
      return plain
    }
    return "\"" + plain.replacing("\"", with: "\"\"") + "\""
  }
}
