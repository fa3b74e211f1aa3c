import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Copying another log into a file: rows stay as they are, with their positions and chains.
extension SQLiteRelayLog {
  /// Copies a mailbox without its entries.
  ///
  /// - Returns: the number of its row.
  package func takeOver(_ mailbox: RelayMailbox, day: UInt32) throws(RelayError) -> Int64 {
    try administer { database throws(RelayError) in
      let row = try database.statement(
        """
        INSERT INTO mailboxes(name, kind, generation, access_key, access_generation, head, chain,
          used_bytes, quota_bytes, day, roster) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
      ).bind(mailbox.name.bytes).bind(Int64(mailbox.kind.rawValue))
        .bind(mailbox.head.generation.bytes).bind(mailbox.accessKey)
        .bind(mailbox.accessGeneration).bind(mailbox.head.position).bind(mailbox.chain.array)
        .bind(mailbox.usedBytes)
      if let quota = mailbox.quotaBytes { try row.bind(quota) } else { try row.bindNull() }
      try row.bind(Int64(day)).bind(mailbox.roster.encoded).execute()
      return try database.number("SELECT last_insert_rowid()")
    }
  }

  /// Copies a mailbox's parent, once both exist.
  package func takeOver(_ parent: RelayParent, of mailbox: Identifier) throws(RelayError) {
    try administer { database throws(RelayError) in
      try SQLiteRelayFamily(database: database).adopt(mailbox, by: parent)
    }
  }

  /// Copies entries, each with the chain after it.
  ///
  /// Records of a catalogue are indexed.
  package func takeOver(
    _ entries: [(RelayEntry, Bytes32, seat: Int64)], into mailbox: Int64, of kind: RelayMailboxKind
  ) throws(RelayError) {
    try administer { database throws(RelayError) in
      let catalogue = SQLiteCatalogue(database: database)
      for (entry, chain, seat) in entries {
        let header = entry.header
        if header.isLive {
          try database.statement("INSERT INTO blobs(bytes) VALUES(?)").bind(entry.blob).execute()
        }
        try database.statement(
          """
          INSERT INTO entries(mailbox, position, flags, name, size, digest, chain, seat, blob)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, \(header.isLive ? "last_insert_rowid()" : "NULL"))
          """
        ).bind(mailbox).bind(header.position)
          .bind(Int64(header.kind.rawValue | (header.isReplaceable ? 2 : 0))).bind(header.name)
          .bind(Int64(header.byteCount)).bind(header.digest.array).bind(chain.array).bind(seat)
          .execute()
        guard kind == .catalogue, header.isLive else { continue }
        try catalogue.index(
          name: header.name, blob: entry.blob, position: header.position, mailbox)
      }
    }
  }
}
