import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// A relay's failures in words for people.
package struct RelayWords {
  /// What a device knows of its place at a mailbox, whatever the relay says.
  enum Tie {
    /// It belongs there no more, by the members' log.
    case former
    /// It has had the mailbox open before.
    case known
    /// It has never had the mailbox open.
    case new
  }

  /// Host and port.
  let place: String
  let tie: Tie

  /// Chooses words for a device that has never had the mailbox open.
  package init(place: String) {
    self.init(place: place, tie: .new)
  }

  init(place: String, tie: Tie) {
    self.place = place
    self.tie = tie
  }

  /// The problem that a relay still accepts replaced keys.
  package var oldKeysProblem: TransportProblem {
    TransportProblem(
      place: place,
      fault: "it still accepts the keys from before a removal: a removed device can fetch sealed "
        + "files there, but read nothing new in them. The relay is too full to change the keys: "
        + "the handoff to devices that are away needs room",
      remedy: "ask the relay's operator for more room, then sync", hidesData: true)
  }

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
    case .refused, .unregistered, .struckOff, .unlisted, .tokenUsedUp: notAdmitted(failure)
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

  func refused() -> TransportError { notAdmitted(.refused) }

  private func notAdmitted(_ failure: RelayFailure) -> TransportError {
    let why = reason(of: failure)
    return TransportError(
      .relayRefused, place: place,
      message: "the relay \(place) does not admit this device: \(why.reason)", remedy: why.remedy)
  }

  /// Why a relay does not admit this device, and what to do about it.
  ///
  /// A relay says the same of mailboxes that do not exist and of those that no key of this device
  /// opens, so that it gives nothing away. What this device knows itself tells them apart.
  private func reason(of failure: RelayFailure) -> (reason: String, remedy: String) {
    let admin = "ask an owner or admin of the household to sync"
    switch (failure, tie) {
    case (_, .former):
      return (
        "it no longer belongs to the household",
        "`hearth status` tells who ended that; ask an owner or admin for a new invitation if that "
          + "was a mistake"
      )
    case (.struckOff, _):
      return (
        "a manager of the mailbox there removed it",
        "ask an owner or admin of the household; if you were not removed, one of them repairs the "
          + "relay with `hearth transport repair`"
      )
    case (_, .known):
      let or = right(against: failure).map { "; if the relay has lost its data, \($0)" } ?? ""
      return (
        "the access key was changed, and this device is not on the mailbox's list",
        "\(admin) and, if that does not help, to run `hearth transport repair`\(or)"
      )
    default:
      let cause: String? =
        switch failure {
        case .unlisted: "the relay's operator has not listed its key"
        case .unregistered: "the relay's operator lets nobody make one without a token"
        case .tokenUsedUp: "its token has made all mailboxes that it allows"
        default: nil
        }
      guard let cause, let right = right(against: failure) else {
        return (
          "none of its keys opens the mailbox",
          "\(admin) and, if that does not help, to run `hearth transport repair`"
        )
      }
      return (
        "none of its keys opens a mailbox of the household there, and \(cause)",
        "if others of the household use this relay, \(admin); if not, \(right)"
      )
    }
  }

  /// How to get the right to make mailboxes that a relay denies; nil if it denied none.
  private func right(against failure: RelayFailure) -> String? {
    switch failure {
    case .unlisted(let key):
      "send this line to the relay's operator, then sync again: hearth-relay token --allow "
        + Hex.encode(key)
    case .unregistered, .tokenUsedUp:
      "ask the relay's operator for a token, then `hearth transport add relay ADDRESS --token "
        + "TOKEN`"
    default: nil
    }
  }

  func inconsistent(_ reason: String) -> TransportError {
    TransportError(
      .relayInconsistent, place: place, message: "the relay \(place) contradicts itself: \(reason)",
      remedy: "sync again; if that does not help, use another relay or a folder")
  }
}
