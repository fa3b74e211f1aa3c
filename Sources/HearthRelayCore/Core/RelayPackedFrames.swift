import HearthCRDT
import HearthRelayProtocol

/// Packed frames, which need not repeat earlier bytes of the connection.
enum RelayPackedFrames {
  /// Unpacks a session's request as soon as it is read.
  ///
  /// This happens before the request is judged or queued, so that the outcome of a put does not
  /// affect the base of the next one.
  ///
  /// - Returns: the request and its size in memory from now on; nil if a packed put does not match
  ///   the previous one, after which the session is gone.
  static func unpacked(_ call: RelayCall, in state: inout RelayState) -> RelayCall? {
    let id = call.session
    switch call.message {
    case .put(let channel, let items):
      state.sessions.update(id, channel) { $0.lastPut = $0.lastPut.after(items) }
      return call
    case .putPacked(let channel, let items):
      // Without an open mailbox the request fails, and is answered so in its turn.
      guard let base = state.sessions[id]?.channels[channel]?.open?.lastPut else { return call }
      do {
        let puts = try base.unpack(items)
        state.sessions.update(id, channel) { $0.lastPut = base.after(puts) }
        let plain = puts.reduce(0) { $0 + $1.name.count + $1.blob.count }
        return RelayCall(
          session: id, request: call.request, message: .put(channel: channel, items: puts),
          byteCount: max(call.byteCount, plain))
      } catch {
        state.counters.malformed += 1
        state.end(
          id, RelayFault(.malformed, "a packed put does not fit what precedes it: \(error.item)"))
        return nil
      }
    default: return call
    }
  }

  /// Returns a push of consecutive entries, packed against the last reported entry if that is
  /// possible and shorter.
  static func pushTail(
    _ entries: [RelayEntry], after last: RelaySubscribers.LastEntry?
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
