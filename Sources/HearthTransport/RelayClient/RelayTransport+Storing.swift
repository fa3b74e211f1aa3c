import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Storing entries in mailboxes and removing them.
extension RelayTransport {
  func store(_ puts: [RelayPut], in access: MailboxAccess) async throws {
    guard !puts.isEmpty else { return }
    try await client.open(access)
    let stored = try await put(puts, access.mailbox)
    note(puts, stored, access.mailbox)
    let taken = zip(puts, stored).filter { $1.outcome == .conflict }.map(\.0)
    guard !taken.isEmpty else { return }
    Probe.nameTaken.hit()
    // A key holder stored other bytes under a name that contains a digest. Those bytes are worth
    // nothing to anybody.
    try await remove(taken.map(\.name), in: access)
    let again = try await put(taken, access.mailbox)
    guard !again.contains(where: { $0.outcome == .conflict }) else {
      throw TransportError(
        .nameTaken, place: place, message: "other bytes are stored under a name of this device",
        remedy: "sync again; if that does not help, make new keys with `hearth device revoke` or "
          + "`member remove` for the device or person at fault")
    }
    note(taken, again, access.mailbox)
  }

  private func put(_ puts: [RelayPut], _ mailbox: Identifier) async throws -> [RelayStored] {
    do {
      let byteCount = puts.reduce(0) { $0 + $1.blob.count }
      let reply = try await reply(mailbox, moving: .put(puts), .giving, atMost: byteCount)
      guard case .stored(let stored) = reply else {
        throw client.wrongAnswer()
      }
      report(meter.give(files: puts.count, bytes: byteCount))
      return stored
    } catch let error as TransportError where error.code == .tooLarge && puts.count > 1 {
      let half = puts.count / 2
      return try await put(Array(puts[..<half]), mailbox) + put(Array(puts[half...]), mailbox)
    }
  }

  /// Advances the known log by the stored entries, as long as no entries of others lie between
  /// them.
  private func note(_ puts: [RelayPut], _ stored: [RelayStored], _ mailbox: Identifier) {
    for (put, stored) in zip(puts, stored) where stored.outcome == .stored {
      let header = RelayHeader(of: put, at: stored.position)
      guard client.append(header, to: mailbox) else { break }
    }
  }

  /// Removes segments, as many per request as it holds.
  ///
  /// Only a manager may remove what others stored. This device never repeats a removal that the
  /// relay has refused, not even in later rounds.
  package func remove(_ names: [SegmentName]) async throws {
    for (zoneTag, group) in Dictionary(grouping: names, by: \.zoneTag).sorted(by: {
      $0.key < $1.key
    }) {
      try await removeOnce(
        group.map { (RelayName.segment($0).bytes, $0.digest) }, in: client.access(zoneTag))
    }
  }

  /// Removes chunks of attachments as segments are removed, and other blobs one by one.
  package func remove(_ names: [BlobName]) async throws {
    let chunks = names.filter { $0.kind == .attachment }
    for (zoneTag, group) in Dictionary(grouping: chunks, by: \.scope).sorted(by: {
      $0.key < $1.key
    }) {
      try await removeOnce(
        group.map { (RelayName.attachment($0).bytes, $0.digest) }, in: client.access(zoneTag))
    }
    for name in names where name.kind != .attachment { try await remove(name) }
  }

  /// Removes entries, except those whose removal the relay has refused before.
  ///
  /// A device that is no manager asks for as many at once as it remembers refusals: a member may
  /// store more that others should remove, and each would be asked for again in each sync.
  func removeOnce(
    _ entries: [(name: [UInt8], digest: Identifier)], in access: MailboxAccess
  ) async throws {
    let isManager = try await client.open(access).opened.rank == .manager
    let refused = isManager ? [] : Set(try notes.refusedRemovals(in: access.mailbox))
    let wanted = entries.filter { !refused.contains($0.digest) }
      .prefix(isManager ? Int.max : RelayNotes.maximumRefusedRemovals)
    var news: [Identifier] = []
    for start in stride(from: 0, to: wanted.count, by: RelayLimits.maximumBatchItems) {
      let batch = wanted[start..<min(wanted.count, start + RelayLimits.maximumBatchItems)]
      let positions = try await remove(batch.map(\.name), in: access)
      news += zip(batch, positions).filter { $1 == 0 }.map(\.0.digest)
    }
    if !isManager, !news.isEmpty { try notes.note(refusedRemovals: news, in: access.mailbox) }
  }

  @discardableResult
  func remove(_ names: [[UInt8]], in access: MailboxAccess) async throws -> [UInt64] {
    try await client.open(access)
    guard case .removed(let positions) = try await client.reply(access.mailbox, .remove(names))
    else {
      throw client.wrongAnswer()
    }
    for (name, position) in zip(names, positions) where position > 0 {
      let header = RelayHeader(removing: name, at: position)
      guard client.append(header, to: access.mailbox) else { break }
    }
    return positions
  }
}
