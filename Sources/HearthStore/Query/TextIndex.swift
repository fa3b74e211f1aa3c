import HearthCRDT
import HearthSync

/// The full-text index of one record type: a table of FTS5, which triggers keep in step.
///
/// Tables of records have no row numbers, so a second table gives each record one. Each text has a
/// row of its own: FTS5 reads all of a row anew when a part of it changes, so in one row whoever
/// changes a title would make everybody read the long text beside it.
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
  /// How many texts a record has.
  private var width: Int { source.lookups.texts.count }

  // MARK: Searching

  /// A search for the records of a zone that contain all words of a text.
  ///
  /// The search for one word comes first: in another order SQLite would search once for each
  /// record. Several words may be in several texts, so each is searched on its own.
  ///
  /// - Returns: SQL that selects ids; its parameters are the first search, the zone, and the rest.
  func search(_ text: String) throws -> (sql: String, first: String, rest: [String]) {
    var words = try TextIndex.words(of: text)
    if width == 1, !words.isEmpty { words = [words.joined(separator: " ")] }
    let other = " AND r.number IN (SELECT rowid / \(width) FROM \(base) WHERE \(base) MATCH ?)"
    let others = repeatElement(other, count: max(0, words.count - 1)).joined()
    let sql =
      "SELECT r.id FROM \(base) f CROSS JOIN \(numbers) r WHERE f.\(base) MATCH ? "
      + "AND r.number = f.rowid / \(width) AND r.zone = ?\(others)"
    // An empty search finds nothing; FTS5 would refuse an empty text.
    return (sql, words.first ?? "\"\"", Array(words.dropFirst()))
  }

  /// The text of a person as searches: each word may be only a beginning.
  private static func words(of text: String) throws -> [String] {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count <= maximumWords else {
      throw StoreError(.tooLarge, "the search has more than \(maximumWords) words")
    }
    // The index has words alone: a dash on its own would be in no text.
    return words.filter { $0.unicodeScalars.contains(where: isPartOfWords) }
      .map { "\"" + $0.filter { $0 != "\"" && $0 != "\0" } + "\"*" }
  }

  /// Whether words contain a character: a letter, a number, or one for private use.
  private static func isPartOfWords(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber, .privateUse:
      true
    default: false
    }
  }

  // MARK: The tables

  /// The statements that create the index and fill it.
  func creation() throws -> [String] {
    let table = TypeTable.quoted(source.table.schema.name)
    let names = try source.lookups.texts.map { TypeTable.quoted(try source.declared($0).name) }
    let tables = [
      """
      CREATE TABLE \(numbers)(
        number INTEGER PRIMARY KEY, zone INTEGER NOT NULL, id BLOB NOT NULL, UNIQUE(zone, id))
      """,
      "CREATE VIRTUAL TABLE \(base) USING fts5(words, tokenize = 'unicode61')",
      "INSERT INTO \(numbers)(zone, id) SELECT zone, id FROM \(table)",
    ]
    let fillings = names.enumerated().map { place, name in
      """
      INSERT INTO \(base)(rowid, words) SELECT r.number * \(width) + \(place), t.\(name)
        FROM \(table) t JOIN \(numbers) r ON r.zone = t.zone AND r.id = t.id
        WHERE typeof(t.\(name)) = 'text'
      """
    }
    return tables + fillings + triggerCreation(table, names)
  }

  private func triggerCreation(_ table: String, _ names: [String]) -> [String] {
    let isChanged = names.map { "old.\($0) IS NOT new.\($0)" }
    let additions = names.enumerated().map { place, name in adding(name, at: place) }
    let changes = names.enumerated().map { place, name in
      removing(at: place, if: isChanged[place]) + adding(name, at: place, if: isChanged[place])
    }
    let removals = names.indices.map { removing(at: $0) }
    let columns = names.joined(separator: ", ")
    return [
      """
      CREATE TRIGGER \(triggers[0]) AFTER INSERT ON \(table) BEGIN
        INSERT INTO \(numbers)(zone, id) VALUES(new.zone, new.id);
      \(additions.joined())END
      """,
      """
      CREATE TRIGGER \(triggers[1]) AFTER UPDATE OF \(columns) ON \(table)
        WHEN \(isChanged.joined(separator: " OR ")) BEGIN
      \(changes.joined())END
      """,
      """
      CREATE TRIGGER \(triggers[2]) AFTER DELETE ON \(table) BEGIN
      \(removals.joined())  DELETE FROM \(numbers) WHERE zone = old.zone AND id = old.id;
      END
      """,
    ]
  }

  /// A statement of a trigger that adds a text; a value of another kind has no words.
  private func adding(_ name: String, at place: Int, if condition: String = "1") -> String {
    "  INSERT INTO \(base)(rowid, words) SELECT \(rowID(of: "new", at: place)), new.\(name) "
      + "WHERE \(condition) AND typeof(new.\(name)) = 'text';\n"
  }

  /// A statement of a trigger that removes a text.
  private func removing(at place: Int, if condition: String = "1") -> String {
    "  DELETE FROM \(base) WHERE rowid = \(rowID(of: "old", at: place)) AND \(condition);\n"
  }

  /// The number of a record's text in the index.
  private func rowID(of row: String, at place: Int) -> String {
    "(SELECT number FROM \(numbers) WHERE zone = \(row).zone AND id = \(row).id) * \(width) "
      + "+ \(place)"
  }

  /// The statements that remove the index.
  var removal: [String] {
    triggers.map { "DROP TRIGGER IF EXISTS \($0)" }
      + ["DROP TABLE IF EXISTS \(base)", "DROP TABLE IF EXISTS \(numbers)"]
  }

  /// The name of the fact that holds the definition of the index that exists.
  var fact: Fact<[UInt8]> { Fact(bytes: "text.\(source.table.schema.id.rawValue)").asCache }
}
