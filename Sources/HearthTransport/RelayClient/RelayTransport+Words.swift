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
        remedy: "nothing is lost; sync again when it is there")
    case .certificate:
      TransportError(
        .relayCertificate, place: place,
        message: "whoever answers at \(place) is not the relay of this address: its certificate "
          + "is another one",
        remedy: "do not go on unless its operator says why; then add its new address and remove "
          + "this one")
    case .untrusted(let reason):
      TransportError(
        .relayCertificate, place: place,
        message: "the relay \(place) is not talked to: \(reason)",
        remedy: "look at this device's clock and authorities, then tell its operator")
    case .refused, .unregistered: refused()
    case .struckOff: struckOff()
    case .unlisted(let key): unlisted(key)
    case .tokenUsedUp: tokenUsedUp()
    case .protocolBroken(let reason):
      TransportError(
        .relayInconsistent, place: place,
        message: "the relay \(place) does not keep to the protocol: \(reason)",
        remedy: "look whether it is a Hearth relay of a version that fits")
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
        "an owner or admin of the household clears what nobody can open with `hearth transport "
          + "repair`; else ask the relay's operator for more room, or use another relay"
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
      message: "the relay \(place) does not let this device in: the access key was changed and "
        + "nobody has listed this device, or there is no mailbox and the relay's operator lets "
        + "nobody register",
      remedy: "ask an owner or admin of the household to sync, and if that does not help to run "
        + "`hearth transport repair`; or ask who runs the relay for a token, then `hearth "
        + "transport add relay ADDRESS --token TOKEN`")
  }

  func struckOff() -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not let this device in: it was removed, says a manager of "
        + "the mailbox there",
      remedy: "ask an owner or admin of the household; if you were not removed, one of them puts "
        + "the relay right with `hearth transport repair`")
  }

  func tokenUsedUp() -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not take this token any more: it was good for a number of "
        + "mailboxes, and as many were made",
      remedy:
        "ask who runs the relay for another, then `hearth transport add relay ADDRESS --token "
        + "TOKEN`; a device that was removed is not let in by any token")
  }

  /// - Parameter key: the key that the operator has to list.
  func unlisted(_ key: [UInt8]) -> TransportError {
    TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not let this device in: it was removed, or the relay's "
        + "operator has not listed its key",
      remedy: "ask a member of the household; to be listed, give this line to who runs the relay, "
        + "then sync again: hearth-relay token --allow \(Hex.encode(key))")
  }

  func inconsistent(_ reason: String) -> TransportError {
    TransportError(
      .relayInconsistent, place: place, message: "the relay \(place) contradicts itself: \(reason)",
      remedy: "sync again; if it stays, use another relay or a folder")
  }
}
