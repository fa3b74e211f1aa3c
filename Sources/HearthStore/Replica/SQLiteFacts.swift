import HearthSync

/// The facts about a node.
///
/// Each has a digest of its name and bytes. A damaged fact is an error, unless it is a cache: then
/// it counts as missing, and its owner works it out again.
package struct SQLiteFacts: FactStore {
  let connection: Connection

  package func bytes(of name: String) throws -> [UInt8]? {
    try connection.run {
      let statement = try connection.statement(
        "SELECT value, digest FROM hearth_facts WHERE name = ?")
      try statement.bind(name)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      let bytes = statement.blob(0)
      if statement.blob(1) == RowDigest.of(fact: name, bytes) { return bytes }
      guard !FactNames.isCache(name) else { return nil }
      throw StoreError(
        .corrupt,
        "the value \"\(name)\" in the node's database is damaged: keep a copy of the home folder, "
          + "then join again")
    }
  }

  package func setBytes(of name: String, to bytes: [UInt8]?) throws {
    try connection.run {
      if let bytes {
        try connection.statement(
          "INSERT OR REPLACE INTO hearth_facts(name, value, digest) VALUES(?, ?, ?)"
        )
        .bind(name).bind(bytes).bind(RowDigest.of(fact: name, bytes)).execute()
      } else {
        try connection.statement("DELETE FROM hearth_facts WHERE name = ?").bind(name).execute()
      }
    }
  }

  /// Returns the names of the damaged facts, in order.
  package func damaged() throws -> [String] {
    try connection.run {
      let statement = try connection.statement(
        "SELECT name, value, digest FROM hearth_facts ORDER BY name")
      defer { statement.reset() }
      var names: [String] = []
      while try statement.step() {
        let name = statement.text(0)
        if statement.blob(2) != RowDigest.of(fact: name, statement.blob(1)) { names.append(name) }
      }
      return names
    }
  }

  /// Removes the damaged facts that their owners work out again.
  package func removeDamagedCaches() throws {
    for name in try damaged() where FactNames.isCache(name) { try setBytes(of: name, to: nil) }
  }
}
