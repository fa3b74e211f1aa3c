import HearthCRDT
import HearthRelayProtocol
import HearthSync

// How far long transfers have got.
extension RelayTransport {
  /// Begins to count anew and tells a listener from now on; nil for nobody.
  package func report(to listener: TransferListener?) {
    self.listener = listener
    meter = TransferMeter(place: place)
  }

  func tell(_ progress: TransferProgress?) {
    if let progress { listener?(progress) }
  }

  /// Asks for blobs, or stores some; tells meanwhile what is on its way.
  ///
  /// - Parameter atMost: how many bytes the blobs have: what goes beside them, or once more after
  ///   a loss, is not told.
  func reply(
    _ mailbox: Identifier, moving question: RelayQuestion, _ direction: TransferProgress.Direction,
    atMost byteCount: Int
  ) throws -> RelayReply {
    guard let listener, byteCount > TransferMeter.stepBytes else {
      return try reply(mailbox, question)
    }
    let before = direction == .receiving ? meter.received : meter.given
    return try reply(mailbox, question) { moved in
      listener(before.adding(bytes: min(moved, byteCount)))
    }
  }

  /// How long the blobs of a snapshot's chunk and, from the second on, of those after it are.
  func byteCount(from name: BlobName) -> Int? {
    guard let mailbox = directory.zones[name.scope]?.mailbox, let index = indices[mailbox]?.index
    else { return nil }
    if name.index == 0 { return index.byteCount(of: RelayName.chunk(name).bytes) }
    return index.sortedNames.reduce(0) { sum, bytes in
      guard case .chunk(let other) = RelayName(bytes, zoneTag: name.scope),
        other.group == name.group, other.index >= name.index
      else { return sum }
      return sum + (index.byteCount(of: bytes) ?? 0)
    }
  }

  /// How long the blobs of some segments are together; nil where no mailbox of them is known.
  func byteCount(of names: [SegmentName]) -> Int? {
    guard let first = names.first, let mailbox = directory.zones[first.zoneTag]?.mailbox,
      let index = indices[mailbox]?.index
    else { return nil }
    return names.reduce(0) { $0 + (index.byteCount(of: RelayName.segment($1).bytes) ?? 0) }
  }
}
