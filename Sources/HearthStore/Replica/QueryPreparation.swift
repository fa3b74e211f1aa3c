import HearthCRDT
import HearthSync

/// Creates the indexes that a program declares, and removes those that it no longer declares.
struct QueryPreparation {
  let connection: Connection
  let facts: SQLiteFacts

  func prepare(_ sources: [QueryTable]) throws {
    for source in sources {
      try prepareIndexes(of: source)
      try prepareTexts(of: source)
    }
  }

  private func prepareIndexes(of source: QueryTable) throws {
    var wanted: [String: String] = [:]
    for fields in source.lookups.indexes {
      wanted[source.indexName(fields)] = try source.createIndex(fields)
    }
    let present = try connection.statement(
      "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? "
        + "AND name LIKE 'hearth\\_index\\_%' ESCAPE '\\' ORDER BY name")
    try present.bind(source.table.schema.name)
    var others: [String] = []
    while try present.step() {
      let name = present.text(0)
      if wanted[name] == present.text(1) { wanted[name] = nil } else { others.append(name) }
    }
    for name in others { try connection.execute("DROP INDEX \(TypeTable.quoted(name))") }
    for name in wanted.keys.sorted() {
      if let sql = wanted[name] { try connection.execute(sql) }
    }
    if !others.isEmpty || !wanted.isEmpty { connection.forgetStatements() }
  }

  private func prepareTexts(of source: QueryTable) throws {
    let index = TextIndex(source)
    let statements = source.lookups.texts.isEmpty ? [] : try index.creation()
    let definition = Array(statements.joined(separator: ";\n").utf8)
    guard try facts.value(of: index.fact) ?? [] != definition else { return }
    for statement in index.removal + statements { try connection.execute(statement) }
    try facts.set(index.fact, to: definition.isEmpty ? nil : definition)
    connection.forgetStatements()
  }
}
