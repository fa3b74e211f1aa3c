import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// Catalogues: anybody may open and read them, the publisher writes them, every entry is checked.
extension RelayCore {
  mutating func openPublic(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int,
    _ channel: Int, _ mailbox: Identifier
  ) {
    guard sessions[id]?.channels[channel] == nil else {
      fail(id, frame.request, RelayFault(.wrongState, "the channel is in use"))
      return
    }
    let wait = attemptWait(id)
    guard wait == 0 else {
      fail(
        id, frame.request,
        RelayFault(.rateLimited, "too many attempts", retryAfterMilliseconds: wait))
      return
    }
    sessions[id]?.channels[channel] = .lookingUp(mailbox)
    let ticket = ask(id, frame, byteCount, mailbox, .openPublic)
    let read = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil))
    effects.append(.read(ticket: ticket, RelayReadBox(read: read)))
  }

  /// Opens a catalogue.
  ///
  /// For anything else, answers as for a mailbox that does not exist.
  mutating func openedPublic(_ ticket: RelayTicket, _ mailbox: RelayMailbox?) {
    let id = ticket.session
    guard case .lookingUp? = sessions[id]?.channels[ticket.channel] else { return }
    sessions[id]?.channels[ticket.channel] = nil
    guard let mailbox, mailbox.kind == .catalogue else {
      refuse(id, ticket.request)
      return
    }
    if sessions[id]?.isTrusted == false, sessions[id]?.isReader == false {
      guard readers.count < configuration.maximumReaders else {
        counters.limited += 1
        fail(
          id, ticket.request,
          RelayFault(.tooMany, "too many read catalogues", retryAfterMilliseconds: 10_000))
        return
      }
      // Frames stay short, because a reader has nothing long to send.
      sessions[id]?.isReader = true
      readers.insert(id)
      strangers.remove(id)
    }
    enter(ticket, mailbox, .reader, [], .none)
  }

  /// Returns whether a request fits the kind of mailbox and the session's right.
  ///
  /// Sends a fault if not.
  mutating func mayAsk(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ open: RelayChannel.Open
  ) -> Bool {
    guard let publisher = open.publisher else {
      guard case .query = frame.message else { return true }
      fail(id, frame.request, RelayFault(.unsupported, "only catalogues accept queries by field"))
      return false
    }
    switch frame.message {
    case .list, .fetch, .fetchAfter, .query: return hasTime(id, frame.request, 10)
    case .put(_, let items) where open.authority != .reader:
      return mayPublish(id, frame.request, items, open.mailbox, publisher)
    case .remove, .rotate, .subscribe, .unsubscribe:
      if open.authority != .reader { return true }
      fail(
        id, frame.request, RelayFault(.notAllowed, "a reader may not write or subscribe"))
      return false
    default:
      fail(
        id, frame.request,
        RelayFault(.notAllowed, "only a catalogue's publisher writes it, and stays the same"))
      return false
    }
  }

  private mutating func mayPublish(
    _ id: RelaySessionID, _ request: UInt32, _ items: [RelayPut], _ catalogue: Identifier,
    _ publisher: SigningPublicKey
  ) -> Bool {
    guard items.count <= PublicLimits.maximumBatchItems else {
      fail(
        id, request,
        RelayFault(
          .tooLarge, "a catalogue takes \(PublicLimits.maximumBatchItems) entries at once"))
      return false
    }
    guard hasTime(id, request, items.count) else { return false }
    guard items.allSatisfy({ PublicEntry.isRight($0, of: catalogue, by: publisher) }) else {
      counters.refusals += 1
      fail(
        id, request,
        RelayFault(.notAllowed, "an entry is not signed by the catalogue's publisher, or misnamed"))
      return false
    }
    return true
  }

  private mutating func hasTime(_ id: RelaySessionID, _ request: UInt32, _ work: Int) -> Bool {
    let wait = catalogueWait(id, work)
    guard wait > 0 else { return true }
    fail(
      id, request,
      RelayFault(.rateLimited, "too many requests to catalogues", retryAfterMilliseconds: wait))
    return false
  }
}
