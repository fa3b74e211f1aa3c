import HearthCRDT
import HearthRelayProtocol
import HearthSync

// What was said before on a line, so that packed frames need not say it again.
extension RelayCore {
  /// The plain form of what a session asks, as its line is read: before anything is judged or
  /// waits, so that what becomes of a put changes nothing in what the next one may repeat.
  ///
  /// - Returns: the request and how much of it waits in memory from here on; nil where a packed
  ///   put fits nothing that was said before, after which the session is gone.
  mutating func plain(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int
  ) -> (frame: RelayFrame<RelayRequest>, byteCount: Int)? {
    switch frame.message {
    case .put(let channel, let items):
      update(id, channel) { $0.lastPut = $0.lastPut.after(items) }
      return (frame, byteCount)
    case .putPacked(let channel, let items):
      // Without a mailbox the request comes to nothing, and is answered so in its turn.
      guard let base = sessions[id]?.channels[channel]?.open?.lastPut else {
        return (frame, byteCount)
      }
      do {
        let puts = try base.unpack(items)
        update(id, channel) { $0.lastPut = base.after(puts) }
        let plain = puts.reduce(0) { $0 + $1.name.count + $1.blob.count }
        return (
          RelayFrame(request: frame.request, .put(channel: channel, items: puts)),
          max(byteCount, plain)
        )
      } catch {
        counters.malformed += 1
        end(id, RelayFault(.malformed, "a packed put fits nothing before it: \(error.item)"))
        return nil
      }
    default: return (frame, byteCount)
    }
  }

  /// A push of entries that follow each other, packed after the last one that was told before
  /// where that is possible and shorter.
  func pushTail(
    _ entries: [RelayEntry], after last: (position: UInt64, base: RelayPackingBase)?
  ) -> RelayPushTail {
    guard let last, let first = entries.first?.header.position, first == last.position + 1,
      entries.allSatisfy({ $0.header.kind == .put && $0.header.isLive })
    else { return RelayPushTail(entries) }
    let puts = entries.map {
      RelayPut(name: $0.header.name, isReplaceable: $0.header.isReplaceable, blob: $0.blob)
    }
    guard last.base.packs(puts) else { return RelayPushTail(entries) }
    return RelayPushTail(last.base.pack(puts), from: first)
  }
}
