import HearthSync

/// The facts about a node.
package struct SQLiteFacts: FactStore {
  let connection: Connection

  package func bytes(of name: String) throws -> [UInt8]? {
    try connection.run { _ in
      let statement = try connection.statement("SELECT value FROM hearth_facts WHERE name = ?")
      try statement.bind(name)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func setBytes(of name: String, to bytes: [UInt8]?) throws {
    try connection.run { _ in
      if let bytes {
        try connection.statement(
          "INSERT OR REPLACE INTO hearth_facts(name, value) VALUES(?, ?)"
        )
        .bind(name).bind(bytes).execute()
      } else {
        try connection.statement("DELETE FROM hearth_facts WHERE name = ?").bind(name).execute()
      }
    }
  }
}
