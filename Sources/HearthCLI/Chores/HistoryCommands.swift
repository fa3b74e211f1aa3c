import ArgumentParser
import Hearth
import HearthCRDT
import Household

extension EntryDocument {
  /// Prints entries as a table.
  static func printTable(_ entries: [EntryDocument]) {
    let rows = entries.map {
      [$0.day, $0.title, $0.who, String($0.points), $0.kind, String($0.event.prefix(12))]
    }
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

/// `hearth history`.
struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the entries, newest first, by pages.")
  @OptionGroup var common: CommonOptions
  @Option(help: "The cursor at the end of the previous page.") var page: String?

  private struct Document: Encodable {
    let entries: [EntryDocument]
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
        entries: page.entries.map { EntryDocument($0, names) }, next: page.next,
        arrivedEarlier: page.arrivedEarlier)
    }
    if common.json { return try Output.json(document) }
    EntryDocument.printTable(document.entries)
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
    commandName: "export", abstract: "Export all chores and entries as JSON, or entries as CSV.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "The entries as comma-separated values (RFC 4180).") var csv = false

  private struct Document: Encodable {
    let chores: [ChoreDocument]
    let entries: [EntryDocument]
  }

  func run() async throws {
    guard csv != common.json else {
      throw CommandFailure(.usage, "the format is missing", hint: "--json or --csv")
    }
    let document = try await HouseholdContext.open(common).read { state in
      let names = try ChoreNames.names(in: state)
      return Document(
        chores: try state.chores.all(includingArchived: true).map { ChoreDocument($0, names) },
        entries: try state.ledger.entries(of: nil).map { EntryDocument($0, names) })
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
