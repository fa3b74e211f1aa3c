import HearthRelayProtocol
import HearthSync

// Who gives way under scarcity. A large crowd never displaces a single client.
extension RelayCore {
  // MARK: Strangers

  /// Ends a stranger's connection to make room for a newcomer.
  ///
  /// It ends one of an address that has clearly more strangers, so that no address keeps out
  /// others. Otherwise it ends the oldest stranger if that one had a fair time. A home, an office
  /// or a mobile network has some strangers behind one address when all reconnect at once. Only a
  /// number above that is a crowd.
  mutating func makeRoomForStranger(of address: [UInt8]) -> Bool {
    let own = strangers.count { sessions[$0]?.address == address }
    if let crowd = crowd(of: strangers), crowd.count > own + 1,
      crowd.count > configuration.fairStrangersPerAddress, let oldest = crowd.members.min()
    {
      return end(stranger: oldest)
    }
    guard let oldest = strangers.min(), let session = sessions[oldest],
      now >= session.connectedAt + configuration.handshakeMilliseconds / 10
    else { return false }
    return end(stranger: oldest)
  }

  private mutating func end(stranger id: RelaySessionID) -> Bool {
    counters.timeouts += 1
    end(id, RelayFault(.idle, "others wait: open a mailbox sooner"))
    return true
  }

  /// Returns the sessions of the addresses that have most of some sessions, and how many each has.
  private func crowd(
    of ids: Set<RelaySessionID>
  ) -> (members: [RelaySessionID], count: Int)? {
    var counts: [[UInt8]: Int] = [:]
    for id in ids { counts[sessions[id]?.address ?? [], default: 0] += 1 }
    guard let most = counts.values.max() else { return nil }
    return (ids.filter { counts[sessions[$0]?.address ?? []] == most }, most)
  }

  // MARK: Slow readers

  mutating func congest(_ id: RelaySessionID, _ isCongested: Bool) {
    guard sessions[id] != nil else { return }
    guard !isCongested else {
      if sessions[id]?.congestedAt == nil {
        sessions[id]?.congestedAt = now
        sessions[id]?.congestedSince = now
      }
      congested.insert(id)
      if congested.count > configuration.maximumCongested, let slowest = slowest() {
        counters.slowReaders += 1
        end(slowest, RelayFault(.slowReader, "too many sessions read slowly: read faster"))
      }
      return
    }
    congested.remove(id)
    sessions[id]?.congestedAt = nil
    let missed = sessions[id]?.channels.compactMap { number, channel in
      channel.open?.missedHead.map { (number, $0) }
    }
    for (number, head) in (missed ?? []).sorted(by: { $0.0 < $1.0 }) {
      update(id, number) {
        $0.missedHead = nil
        $0.holdsLast = false
      }
      counters.hints += 1
      send(id, push: .behind(channel: number, head: head))
    }
    pump(id)
  }

  /// Returns the session that has been congested longest.
  ///
  /// If one address has a quarter of all congested sessions, only its sessions are considered. A
  /// client that reads a little now and then to stay gains nothing. A client that has been
  /// connected long loses nothing.
  private func slowest() -> RelaySessionID? {
    guard let crowd = crowd(of: congested) else { return nil }
    let isMany = crowd.count > 1 && crowd.count * 4 >= congested.count
    return (isMany ? crowd.members : Array(congested)).min { left, right in
      let times = (sessions[left]?.congestedSince ?? 0, sessions[right]?.congestedSince ?? 0)
      return times.0 != times.1 ? times.0 < times.1 : left < right
    }
  }

  // MARK: Incomplete frames

  /// Records how much of a session's next frame is buffered, and ends a session if the total is too
  /// much.
  ///
  /// That session belongs to the address with most buffered bytes, and its frame has been arriving
  /// longest.
  mutating func hold(_ id: RelaySessionID, _ byteCount: Int) {
    guard let session = sessions[id] else { return }
    heldBytes += byteCount - session.heldBytes
    if byteCount < session.heldBytes || session.heldBytes == 0 { sessions[id]?.heldSince = now }
    sessions[id]?.heldBytes = byteCount
    if byteCount > 0 { holding.insert(id) } else { holding.remove(id) }
    while heldBytes > configuration.maximumHeldBytes, let longest = longestHolder() {
      counters.limited += 1
      end(
        longest, RelayFault(.unavailable, "too much arrives at once", retryAfterMilliseconds: 5_000)
      )
    }
  }

  private func longestHolder() -> RelaySessionID? {
    var held: [[UInt8]: Int] = [:]
    for id in holding {
      held[sessions[id]?.address ?? [], default: 0] += sessions[id]?.heldBytes ?? 0
    }
    let most = held.values.max() ?? 0
    return holding.filter { held[sessions[$0]?.address ?? []] == most }.min { left, right in
      let times = (sessions[left]?.heldSince ?? 0, sessions[right]?.heldSince ?? 0)
      return times.0 != times.1 ? times.0 < times.1 : left < right
    }
  }
}
