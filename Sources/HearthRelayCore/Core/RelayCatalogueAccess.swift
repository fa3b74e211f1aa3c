import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// Who may do what in a catalogue: anybody reads it, the publisher writes it, every entry is
/// checked.
enum RelayCatalogueAccess {
  /// Returns whether a request fits the kind of mailbox and the session's right.
  ///
  /// Sends a fault if not.
  static func permits(
    _ call: RelayCall, _ open: RelayChannel.Open, in state: inout RelayState
  ) -> Bool {
    let fault: RelayFault?
    if let publisher = open.publisher {
      fault = self.fault(of: call, open, publisher, in: &state)
    } else if case .query = call.message {
      fault = RelayFault(.unsupported, "only catalogues accept queries by field")
    } else {
      fault = nil
    }
    guard let fault else { return true }
    state.fail(call.session, call.request, fault)
    return false
  }

  private static func fault(
    of call: RelayCall, _ open: RelayChannel.Open, _ publisher: SigningPublicKey,
    in state: inout RelayState
  ) -> RelayFault? {
    switch call.message {
    case .list, .fetch, .fetchAfter, .query: return faultOfWork(10, call.session, in: &state)
    case .put(_, let items) where open.authority != .reader:
      return fault(of: items, call.session, open.mailbox, publisher, in: &state)
    case .remove, .rotate, .subscribe, .unsubscribe:
      return open.authority != .reader
        ? nil : RelayFault(.notAllowed, "a reader may not write or subscribe")
    default:
      return RelayFault(
        .notAllowed, "only a catalogue's publisher writes it, and stays the same")
    }
  }

  private static func fault(
    of items: [RelayPut], _ id: RelaySessionID, _ catalogue: Identifier,
    _ publisher: SigningPublicKey, in state: inout RelayState
  ) -> RelayFault? {
    guard items.count <= PublicLimits.maximumBatchItems else {
      return RelayFault(
        .tooLarge, "a catalogue takes \(PublicLimits.maximumBatchItems) entries at once")
    }
    if let fault = faultOfWork(items.count, id, in: &state) { return fault }
    guard items.allSatisfy({ PublicEntry.isRight($0, of: catalogue, by: publisher) }) else {
      state.counters.refusals += 1
      return RelayFault(
        .notAllowed, "an entry is not signed by the catalogue's publisher, or misnamed")
    }
    return nil
  }

  private static func faultOfWork(
    _ work: Int, _ id: RelaySessionID, in state: inout RelayState
  ) -> RelayFault? {
    let wait = state.catalogueWait(id, work)
    return wait == 0
      ? nil
      : RelayFault(
        .rateLimited, "too many requests to catalogues", retryAfterMilliseconds: wait)
  }
}
