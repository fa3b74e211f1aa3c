import HearthCRDT
import HearthRelayProtocol
import HearthSync

// Progress of long transfers.
extension RelayTransport {
  /// Resets the counts and reports progress to a listener from now on; nil ends the reports.
  package func report(to listener: TransferListener?) {
    self.listener = listener
    meter = TransferMeter(place: place)
  }

  func report(_ progress: TransferProgress?) {
    if let progress { listener?(progress) }
  }

  /// Fetches or stores blobs and reports progress meanwhile.
  ///
  /// - Parameter atMost: the total size of the blobs in bytes. Reports exclude the bytes around the
  ///   blobs and bytes repeated after a loss.
  func reply(
    _ mailbox: Identifier, moving question: RelayQuestion, _ direction: TransferProgress.Direction,
    atMost byteCount: Int
  ) async throws -> RelayReply {
    guard let listener, byteCount > TransferMeter.stepBytes else {
      return try await client.reply(mailbox, question)
    }
    let before = direction == .receiving ? meter.received : meter.given
    return try await client.reply(mailbox, question) { moved in
      listener(before.adding(bytes: min(moved, byteCount)))
    }
  }

  /// The size of a snapshot's first chunk, or the total size from a later chunk to the last.
  func byteCount(from name: BlobName) -> Int? {
    guard let mailbox = client.directory.zones[name.scope]?.mailbox,
      let index = client.index(of: mailbox)
    else { return nil }
    if name.index == 0 { return index.byteCount(of: RelayName.chunk(name).bytes) }
    return index.sortedNames.reduce(0) { sum, bytes in
      guard case .chunk(let other) = RelayName(bytes, zoneTag: name.scope),
        other.group == name.group, other.index >= name.index
      else { return sum }
      return sum + (index.byteCount(of: bytes) ?? 0)
    }
  }

  /// The total size of some segments; nil if none of their mailboxes is known.
  func byteCount(of names: [SegmentName]) -> Int? {
    guard let first = names.first, let mailbox = client.directory.zones[first.zoneTag]?.mailbox,
      let index = client.index(of: mailbox)
    else { return nil }
    return names.reduce(0) { $0 + (index.byteCount(of: RelayName.segment($1).bytes) ?? 0) }
  }
}
