import HearthCRDT
import HearthSync

/// The chunks of attachments that a replica knows.
///
/// The bytes have a table of their own, so that the list of chunks is read without them.
package struct SQLiteAttachments: AttachmentStore {
  let connection: Connection
  let zones: SQLiteZones

  package func chunks(
    of zone: ZoneID, after digest: Identifier?, atMost limit: Int
  ) throws -> [KnownChunk] {
    try connection.run {
      let statement = try connection.statement(
        "SELECT digest, size, released FROM hearth_attachments WHERE zone = ? AND digest > ? "
          + "ORDER BY digest LIMIT ?")
      // No digest is below the empty one.
      try statement.bind(try zones.number(of: zone)).bind(digest?.bytes ?? []).bind(limit)
      var chunks: [KnownChunk] = []
      while try statement.step() {
        chunks.append(
          KnownChunk(
            digest: try statement.identifier(0), byteCount: max(0, Int(statement.int(1))),
            releasedMilliseconds: statement.isNull(2) ? nil : statement.uint(2)))
      }
      return chunks
    }
  }

  package func bytes(of digest: Identifier, in zone: ZoneID) throws -> [UInt8]? {
    try connection.run {
      let statement = try connection.statement(
        "SELECT bytes FROM hearth_attachment_bytes WHERE zone = ? AND digest = ?")
      try statement.bind(try zones.number(of: zone)).bind(digest)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      let bytes = statement.blob(0)
      // Damaged bytes count as missing: a transport may have whole ones.
      return segmentDigest(bytes) == digest ? bytes : nil
    }
  }

  package func save(_ chunk: SealedChunk, in zone: ZoneID) throws {
    let number = try zones.number(of: zone)
    try connection.statement(
      """
      INSERT OR REPLACE INTO hearth_attachments(zone, digest, size, released) VALUES(?, ?, ?, NULL)
      """
    )
    .bind(number).bind(chunk.digest).bind(chunk.bytes.count).execute()
    try connection.statement(
      "INSERT OR REPLACE INTO hearth_attachment_bytes(zone, digest, bytes) VALUES(?, ?, ?)"
    )
    .bind(number).bind(chunk.digest).bind(chunk.bytes).execute()
  }

  package func note(_ digests: [Identifier], in zone: ZoneID) throws {
    let number = try zones.number(of: zone)
    for digest in digests {
      try connection.statement(
        """
        INSERT OR IGNORE INTO hearth_attachments(zone, digest, size, released)
        VALUES(?, ?, 0, NULL)
        """
      )
      .bind(number).bind(digest).execute()
    }
  }

  package func release(
    _ digests: [Identifier], at milliseconds: UInt64?, in zone: ZoneID
  ) throws {
    let number = try zones.number(of: zone)
    for digest in digests {
      let statement = try connection.statement(
        "UPDATE hearth_attachments SET released = ? WHERE zone = ? AND digest = ?")
      if let milliseconds {
        try statement.bind(milliseconds)
      } else {
        try statement.bindNull()
      }
      try statement.bind(number).bind(digest).execute()
    }
  }

  package func drop(_ digest: Identifier, in zone: ZoneID) throws {
    let number = try zones.number(of: zone)
    try connection.statement("UPDATE hearth_attachments SET size = 0 WHERE zone = ? AND digest = ?")
      .bind(number).bind(digest).execute()
    try connection.statement("DELETE FROM hearth_attachment_bytes WHERE zone = ? AND digest = ?")
      .bind(number).bind(digest).execute()
  }

  package func forget(_ digests: [Identifier], in zone: ZoneID) throws {
    let number = try zones.number(of: zone)
    for digest in digests {
      try drop(digest, in: zone)
      try connection.statement("DELETE FROM hearth_attachments WHERE zone = ? AND digest = ?")
        .bind(number).bind(digest).execute()
    }
  }
}
