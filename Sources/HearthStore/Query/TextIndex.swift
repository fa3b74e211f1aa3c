import HearthCRDT
import HearthSync

/// The full-text index of one record type: a table of FTS5, which triggers keep in step.
///
/// Tables of records have no row numbers, so a second table gives each record one.
struct TextIndex {
  private let source: QueryTable

  /// The most words of one search.
  static let maximumWords = 64

  init(_ source: QueryTable) {
    self.source = source
  }

  private var base: String { "hearth_text_\(source.table.schema.id.rawValue)" }
  private var numbers: String { base + "_rows" }
  private var triggers: [String] { ["insert", "update", "delete"].map { "\(base)_\($0)" } }

  /// Selects the ids of the records of a zone that match; the parameters are words and zone.
  ///
  /// The search comes first: in the other order SQLite would search once for each record.
  var selectMatches: String {
    "SELECT r.id FROM \(base) f CROSS JOIN \(numbers) r "
      + "WHERE f.\(base) MATCH ? AND r.number = f.rowid AND r.zone = ?"
  }

  /// The text of a person as a search: all words must occur, and each may be only a beginning.
  static func query(_ text: String) throws -> String {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count <= maximumWords else {
      throw StoreError(.tooLarge, "the search has more than \(maximumWords) words")
    }
    // An empty search finds nothing; FTS5 would refuse it.
    guard !words.isEmpty else { return "\"\"" }
    return words.map { "\"" + $0.filter { $0 != "\"" && $0 != "\0" } + "\"*" }
      .joined(separator: " ")
  }

  /// The statements that create the index and fill it.
  func creation() throws -> [String] {
    let table = TypeTable.quoted(source.table.schema.name)
    let columns = source.lookups.texts.map { "f\($0.rawValue & 0x3fff)" }
    let names = try source.lookups.texts.map { TypeTable.quoted(try source.declared($0).name) }
    let list = columns.joined(separator: ", ")
    func values(_ row: String) -> String { names.map { "\(row).\($0)" }.joined(separator: ", ") }
    let number = "(SELECT number FROM \(numbers) WHERE zone = old.zone AND id = old.id)"
    let isChanged = names.map { "old.\($0) IS NOT new.\($0)" }.joined(separator: " OR ")
    let changes = zip(columns, names).map { "\($0) = new.\($1)" }.joined(separator: ", ")
    return [
      """
      CREATE TABLE \(numbers)(
        number INTEGER PRIMARY KEY, zone INTEGER NOT NULL, id BLOB NOT NULL, UNIQUE(zone, id))
      """,
      "CREATE VIRTUAL TABLE \(base) USING fts5(\(list), tokenize = 'unicode61')",
      "INSERT INTO \(numbers)(zone, id) SELECT zone, id FROM \(table)",
      """
      INSERT INTO \(base)(rowid, \(list)) SELECT r.number, \(values("t"))
        FROM \(table) t JOIN \(numbers) r ON r.zone = t.zone AND r.id = t.id
      """,
      """
      CREATE TRIGGER \(triggers[0]) AFTER INSERT ON \(table) BEGIN
        INSERT INTO \(numbers)(zone, id) VALUES(new.zone, new.id);
        INSERT INTO \(base)(rowid, \(list)) VALUES(last_insert_rowid(), \(values("new")));
      END
      """,
      """
      CREATE TRIGGER \(triggers[1]) AFTER UPDATE ON \(table) WHEN \(isChanged) BEGIN
        UPDATE \(base) SET \(changes) WHERE rowid = \(number);
      END
      """,
      """
      CREATE TRIGGER \(triggers[2]) AFTER DELETE ON \(table) BEGIN
        DELETE FROM \(base) WHERE rowid = \(number);
        DELETE FROM \(numbers) WHERE zone = old.zone AND id = old.id;
      END
      """,
    ]
  }

  /// The statements that remove the index.
  var removal: [String] {
    triggers.map { "DROP TRIGGER IF EXISTS \($0)" }
      + ["DROP TABLE IF EXISTS \(base)", "DROP TABLE IF EXISTS \(numbers)"]
  }

  /// The name of the fact that holds the definition of the index that exists.
  var fact: Fact<[UInt8]> { Fact(bytes: "text.\(source.table.schema.id.rawValue)").asCache }
}
