import Foundation
import GRDB
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The public catalogues of a node in a separate file: the last good copy of each, offline.
///
/// The file has no secrets, and all of its content can be fetched again. It is separate from the
/// replica, so damage to it harms no household. A copy is replaced in one transaction or not at
/// all. Confined to one executor at a time.
package final class CatalogueStore {
  /// The part of the file.
  package enum Shelf: Int, Sendable {
    /// The catalogues of other publishers.
    case followed = 0
    /// This node's own catalogues: the last version that it signed.
    case own = 1
  }

  private let connection: Connection

  private static let applicationID = 0x4852_5443

  /// Opens the file, and creates it if it does not exist.
  ///
  /// - Throws: `StoreError`.
  package init(path: String) throws {
    var configuration = Configuration()
    configuration.label = "hearth-catalogues"
    configuration.busyMode = .timeout(2)
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA synchronous = EXTRA")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.execute(sql: "PRAGMA cache_size = -2000")
    }
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      let migrator = CatalogueStore.migrator()
      guard try !queue.read(migrator.hasBeenSuperseded) else {
        throw StoreError(
          .newerFormat, "\(path) was written by a newer version of this program: update it")
      }
      try migrator.migrate(queue)
      connection = try Connection(queue: queue)
    } catch let error as StoreError {
      throw error
    } catch let error as DatabaseError {
      throw StoreError(
        error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB ? .corrupt : .io,
        "the catalogues in \(path) cannot be opened: move the file aside, then follow them again",
        cause: error)
    }
  }

  private static func migrator() -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("0001-catalogues") { database in
      for statement in version1 { try database.execute(sql: statement) }
    }
    return migrator
  }

  private static let version1 = [
    "PRAGMA application_id = \(applicationID)",
    """
    CREATE TABLE catalogues(
      shelf INTEGER NOT NULL, id BLOB NOT NULL, address TEXT NOT NULL, folder TEXT,
      head BLOB, generation BLOB, position INTEGER NOT NULL, checked_at INTEGER NOT NULL,
      problem TEXT, is_followed INTEGER NOT NULL, greatest BLOB,
      PRIMARY KEY(shelf, id)) WITHOUT ROWID
    """,
    """
    CREATE TABLE records(
      shelf INTEGER NOT NULL, catalogue BLOB NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
      bytes BLOB NOT NULL, PRIMARY KEY(shelf, catalogue, type, id)) WITHOUT ROWID
    """,
    """
    CREATE TABLE targets(
      catalogue BLOB NOT NULL, place TEXT NOT NULL, PRIMARY KEY(catalogue, place)) WITHOUT ROWID
    """,
  ]

  /// Closes the file; no other call may follow.
  package func close() throws { try connection.close() }

  // MARK: Catalogues

  /// Returns the catalogues of a shelf, in order of name and id.
  package func catalogues(_ shelf: Shelf) throws -> [KeptCatalogue] {
    try connection.run {
      let row = try connection.statement(
        """
        SELECT address, folder, head, generation, position, checked_at, problem, greatest
          FROM catalogues WHERE shelf = ? AND is_followed = 1
        """
      ).bind(shelf.rawValue)
      var found: [KeptCatalogue] = []
      while try row.step() { found.append(try CatalogueStore.kept(row)) }
      return found.sorted {
        ($0.address.catalogue.name, $0.address.catalogue.id)
          < ($1.address.catalogue.name, $1.address.catalogue.id)
      }
    }
  }

  /// Returns one catalogue; nil if it is absent, or no longer followed unless `evenForgotten` is
  /// set.
  package func catalogue(
    _ id: Identifier, _ shelf: Shelf, evenForgotten: Bool = false
  ) throws -> KeptCatalogue? {
    try connection.run {
      let row = try connection.statement(
        """
        SELECT address, folder, head, generation, position, checked_at, problem, greatest
          FROM catalogues WHERE shelf = ? AND id = ? AND is_followed >= ?
        """
      ).bind(shelf.rawValue).bind(id).bind(evenForgotten ? 0 : 1)
      defer { row.reset() }
      return try row.step() ? try CatalogueStore.kept(row) : nil
    }
  }

  private static func kept(_ row: Statement) throws -> KeptCatalogue {
    do {
      var kept = KeptCatalogue(
        address: try CatalogueAddress(row.text(0)), folder: row.isNull(1) ? nil : row.text(1))
      kept.head = row.isNull(2) ? nil : try SignedPublicHead(decoding: row.blob(2)).head
      if !row.isNull(3), let generation = Identifier(bytes: row.blob(3)) {
        kept.cursor = RelayCursor(generation: generation, position: row.uint(4))
      }
      kept.checkedAt = row.uint(5)
      kept.problem = row.isNull(6) ? nil : row.text(6)
      kept.greatest = row.isNull(7) ? nil : try SignedPublicHead(decoding: row.blob(7)).head
      return kept
    } catch {
      throw StoreError(
        .corrupt, "the file of catalogues is damaged: move it aside, then follow them again",
        cause: error)
    }
  }

  /// Saves a catalogue's metadata; head and records stay as they are.
  package func note(_ kept: KeptCatalogue, _ shelf: Shelf) throws {
    try connection.transaction {
      let row = try connection.statement(
        """
        INSERT INTO catalogues(
          shelf, id, address, folder, generation, position, checked_at, problem, is_followed)
          VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1)
          ON CONFLICT(shelf, id) DO UPDATE SET address = ?3, folder = ?4, generation = ?5,
            position = ?6, checked_at = ?7, problem = ?8, is_followed = 1
        """
      ).bind(shelf.rawValue).bind(kept.address.catalogue.id).bind(kept.address.description)
      if let folder = kept.folder { try row.bind(folder) } else { try row.bindNull() }
      if let cursor = kept.cursor { try row.bind(cursor.generation) } else { try row.bindNull() }
      try row.bind(kept.cursor?.position ?? 0).bind(kept.checkedAt)
      if let problem = kept.problem { try row.bind(problem) } else { try row.bindNull() }
      try row.execute()
    }
  }

  /// Forgets a catalogue and its copy.
  ///
  /// The greatest version stays known, so that following the catalogue again accepts no older one.
  package func forget(_ id: Identifier, _ shelf: Shelf) throws {
    try connection.transaction {
      try connection.statement("DELETE FROM records WHERE shelf = ? AND catalogue = ?")
        .bind(shelf.rawValue).bind(id).execute()
      try connection.statement(
        """
        UPDATE catalogues SET is_followed = 0, head = NULL, generation = NULL, position = 0,
          checked_at = 0, problem = NULL WHERE shelf = ? AND id = ?
        """
      ).bind(shelf.rawValue).bind(id).execute()
    }
  }

  // MARK: Copies

  /// Replaces the previous version with a whole new one, in one transaction.
  package func replace(
    _ catalogue: PublicCatalogue, of kept: KeptCatalogue, _ shelf: Shelf
  ) throws {
    let id = kept.address.catalogue.id
    try connection.transaction {
      try note(kept, shelf)
      var old = try bytes(of: id, shelf)
      for record in catalogue.records {
        let before = old.removeValue(forKey: record.record.path)
        guard before != record.bytes else { continue }
        try connection.statement(
          """
          INSERT OR REPLACE INTO records(shelf, catalogue, type, id, bytes) VALUES(?, ?, ?, ?, ?)
          """
        ).bind(shelf.rawValue).bind(id).bind(record.record.path.type)
          .bind(record.record.path.id).bind(record.bytes).execute()
      }
      for path in old.keys.sorted() {
        try connection.statement(
          "DELETE FROM records WHERE shelf = ? AND catalogue = ? AND type = ? AND id = ?"
        ).bind(shelf.rawValue).bind(id).bind(path.type).bind(path.id).execute()
      }
      try connection.statement(
        "UPDATE catalogues SET head = ?1, greatest = ?1 WHERE shelf = ?2 AND id = ?3"
      ).bind(catalogue.head.bytes).bind(shelf.rawValue).bind(id).execute()
    }
  }

  /// Returns the stored bytes of the copy; damaged ones are replaced like any others.
  private func bytes(of id: Identifier, _ shelf: Shelf) throws -> [PublicKeyPath: [UInt8]] {
    let row = try connection.statement(
      "SELECT type, id, bytes FROM records WHERE shelf = ? AND catalogue = ?"
    ).bind(shelf.rawValue).bind(id)
    var found: [PublicKeyPath: [UInt8]] = [:]
    while try row.step() {
      found[PublicKeyPath(type: row.text(0), id: row.text(1))] = row.blob(2)
    }
    return found
  }

  /// Returns the records of the copy, in order of type and id.
  package func records(
    of id: Identifier, _ shelf: Shelf, type: String? = nil
  ) throws -> [SignedPublicRecord] {
    try connection.run {
      let filter = type == nil ? "" : "AND type = ?"
      let row = try connection.statement(
        """
        SELECT bytes FROM records WHERE shelf = ? AND catalogue = ? \(filter) ORDER BY type, id
        """
      ).bind(shelf.rawValue).bind(id)
      if let type { try row.bind(type) }
      var found: [SignedPublicRecord] = []
      while try row.step() { found.append(try CatalogueStore.decode(row.blob(0))) }
      return found
    }
  }

  /// Returns the whole copy after verifying it again; nil if there is none.
  ///
  /// - Throws: `StoreError.corrupt` if the file does not contain what was stored.
  package func copy(of id: Identifier, _ shelf: Shelf) throws -> PublicCatalogue? {
    guard let kept = try catalogue(id, shelf) else { return nil }
    let head: [UInt8]? = try connection.run {
      let row = try connection.statement("SELECT head FROM catalogues WHERE shelf = ? AND id = ?")
        .bind(shelf.rawValue).bind(id)
      defer { row.reset() }
      return try row.step() && !row.isNull(0) ? row.blob(0) : nil
    }
    guard let head else { return nil }
    do {
      return try PublicCatalogue(
        of: kept.address.catalogue, head: SignedPublicHead(decoding: head),
        records: try records(of: id, shelf))
    } catch {
      throw StoreError(
        .corrupt,
        "the copy of the catalogue \(kept.address.catalogue.name) is damaged: fetch it again",
        cause: error)
    }
  }

  private static func decode(_ bytes: [UInt8]) throws -> SignedPublicRecord {
    do {
      return try SignedPublicRecord(decoding: bytes)
    } catch {
      throw StoreError(
        .corrupt,
        "a record in the file of catalogues is damaged: move the file aside, then "
          + "follow them again", cause: error)
    }
  }

  // MARK: Publishing targets

  /// Returns the targets to which this node publishes one of its catalogues.
  package func targets(of id: Identifier) throws -> [String] {
    try connection.run {
      let row = try connection.statement(
        "SELECT place FROM targets WHERE catalogue = ? ORDER BY place"
      ).bind(id)
      var found: [String] = []
      while try row.step() { found.append(row.text(0)) }
      return found
    }
  }

  /// Adds a publishing target.
  package func addTarget(_ place: String, of id: Identifier) throws {
    try connection.transaction {
      try connection.statement("INSERT OR IGNORE INTO targets(catalogue, place) VALUES(?, ?)")
        .bind(id).bind(place).execute()
    }
  }
}
