import HearthCrypto
import HearthRelayProtocol
import HearthSync

extension RelayTransport {
  func words(_ failure: RelayFailure) -> TransportError { RelayWords(place: place).words(failure) }

  func refused() -> TransportError { RelayWords(place: place).refused() }

  func inconsistent(_ reason: String) -> TransportError {
    RelayWords(place: place).inconsistent(reason)
  }
}

/// A relay's failures in words for people.
struct RelayWords {
  /// Host and port.
  let place: String

  func words(_ failure: RelayFailure) -> TransportError {
    switch failure {
    case .unreachable(let reason):
      TransportError(
        .relayUnreachable, place: place,
        message: "the relay \(place) cannot be reached: \(reason)",
        remedy: "nothing is lost; sync again when the relay is back")
    case .certificate:
      TransportError(
        .relayCertificate, place: place,
        message: "the server at \(place) is not the relay of this address: its certificate is "
          + "another one",
        remedy: "stop unless the relay's operator explains it; then add its new address and remove "
          + "this one")
    case .untrusted(let reason):
      TransportError(
        .relayCertificate, place: place,
        message: "this device does not trust the relay \(place): \(reason)",
        remedy: "check this device's clock and authorities, then tell the relay's operator")
    case .refused, .unregistered: refused()
    case .struckOff: struckOff()
    case .unlisted(let key): unlisted(key)
    case .tokenUsedUp: tokenUsedUp()
    case .protocolBroken(let reason):
      TransportError(
        .relayInconsistent, place: place,
        message: "the relay \(place) violates the protocol: \(reason)",
        remedy: "check that it is a Hearth relay of a compatible version")
    case .fault(let fault): words(fault)
    }
  }

  private func words(_ fault: RelayFault) -> TransportError {
    let code: TransportError.Code =
      switch fault.code {
      case .refused: .relayRefused
      case .tooLarge: .tooLarge
      case .quotaExceeded, .shareExceeded: .relayMailboxFull
      case .relayFull: .relayFull
      case .unavailable, .goingAway, .idle, .slowReader: .relayUnreachable
      default: .relayFault
      }
    let remedy =
      switch fault.code {
      case .unsupportedVersion: "update this program or the relay"
      case .quotaExceeded, .shareExceeded:
        "an owner or admin of the household can clear what nobody can open: `hearth transport "
          + "repair`; or ask the relay's operator for more room, or use another relay"
      case .relayFull: "ask its operator for more room, or use another relay"
      case .tooManyChildren:
        "wait until older invitations are 90 days old, or ask its operator for a token"
      case .rateLimited, .tooMany: "sync again in a while"
      case .malformed, .wrongState: "report this as a fault of Hearth"
      default: "sync again later"
      }
    return TransportError(
      code, place: place, message: "the relay \(place) refuses: \(fault.message)", remedy: remedy)
  }

  func refused() -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not admit this device: the access key was changed and "
        + "nobody has listed this device, or there is no mailbox and the relay's operator lets "
        + "nobody register",
      remedy: "ask an owner or admin of the household to sync and, if that does not help, to run "
        + "`hearth transport repair`; or ask the relay's operator for a token, then `hearth "
        + "transport add relay ADDRESS --token TOKEN`")
  }

  func struckOff() -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not admit this device: a manager of the mailbox there "
        + "removed it",
      remedy: "ask an owner or admin of the household; if you were not removed, one of them "
        + "repairs the relay with `hearth transport repair`")
  }

  func tokenUsedUp() -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not accept this token any more: all mailboxes that it "
        + "allows were made",
      remedy:
        "ask the relay's operator for another, then `hearth transport add relay ADDRESS --token "
        + "TOKEN`; no token admits a device that was removed")
  }

  /// - Parameter key: the key that the operator has to list.
  func unlisted(_ key: [UInt8]) -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not admit this device: it was removed, or the relay's "
        + "operator has not listed its key",
      remedy: "ask a member of the household; to be listed, send this line to the relay's "
        + "operator, then sync again: hearth-relay token --allow \(Hex.encode(key))")
  }

  func inconsistent(_ reason: String) -> TransportError {
    TransportError(
      .relayInconsistent, place: place, message: "the relay \(place) contradicts itself: \(reason)",
      remedy: "sync again; if that does not help, use another relay or a folder")
  }
}
