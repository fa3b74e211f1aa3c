import HearthCRDT
import HearthRelayProtocol
import HearthSync

// Packed frames, which need not repeat earlier bytes of the connection.
extension RelayCore {
  /// Unpacks a session's request as soon as it is read.
  ///
  /// This happens before the request is judged or queued, so that the outcome of a put does not
  /// affect the base of the next one.
  ///
  /// - Returns: the request and its size in memory from now on; nil if a packed put does not match
  ///   the previous one, after which the session is gone.
  mutating func plain(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int
  ) -> (frame: RelayFrame<RelayRequest>, byteCount: Int)? {
    switch frame.message {
    case .put(let channel, let items):
      update(id, channel) { $0.lastPut = $0.lastPut.after(items) }
      return (frame, byteCount)
    case .putPacked(let channel, let items):
      // Without an open mailbox the request fails, and is answered so in its turn.
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
        end(id, RelayFault(.malformed, "a packed put does not fit what precedes it: \(error.item)"))
        return nil
      }
    default: return (frame, byteCount)
    }
  }

  /// Returns a push of consecutive entries, packed against the last reported entry if that is
  /// possible and shorter.
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
