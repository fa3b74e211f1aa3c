/// Twelve digits, six and six, that the owners of two devices compare aloud.
///
/// Twelve digits are 40 bits. They are few enough to be read aloud, and they suffice because an
/// attacker cannot try several: (1) the initiator sends a commitment to its nonce, (2) the
/// responder answers with its nonce, (3) the initiator reveals its own. An attacker in the middle,
/// who presents own keys to each side, has to fix a nonce towards each side before seeing that
/// side's nonce. The digits of both sides then agree with probability 10^-12 (Vaudenay, "Secure
/// Communications over Insecure Channels Based on Short Authenticated Strings", 2005). Both
/// devices' keys must be known before the exchange begins.
///
/// The value has no clock, randomness or transport: pass it messages, and send the messages that it
/// returns. Any error ends the exchange; begin again with a fresh nonce.
package struct ShortAuthenticationString: Sendable {
  /// The side of the exchange.
  package enum Role: Sendable {
    /// Commits first and reveals last.
    case initiator
    /// Answers a commitment with its nonce.
    case responder
  }

  /// The length of a nonce, which must be fresh random bytes.
  package static let nonceBytes = 32
  /// The length of every message: its kind and 32 bytes.
  package static let messageBytes = 33
  /// The longest context, in bytes.
  package static let maximumContextBytes = 1024

  private enum Phase {
    case mustStart
    case awaitsCommitment
    case awaitsNonce
    case awaitsReveal(commitment: [UInt8])
    case finished(digits: String)
    case over
  }

  private enum Kind: UInt8 {
    case commitment = 1
    case nonce = 2
    case reveal = 3
  }

  private static let commitmentDomain: Domain = "HRTH/sas-commit/v1"
  private static let digitsDomain: Domain = "HRTH/sas/v1"
  private static let modulus: UInt64 = 1_000_000

  private let own: DevicePublicKeys
  private let peer: DevicePublicKeys
  private let context: [UInt8]
  private let nonce: [UInt8]
  private let role: Role
  private var phase: Phase

  /// Prepares an exchange.
  /// - Parameters:
  ///   - role: The side of this device.
  ///   - own: This device's keys.
  ///   - peer: The claimed keys of the other device.
  ///   - context: The subject of the comparison, equal on both sides (a group id, an invitation
  ///     id).
  ///   - nonce: 32 fresh random bytes, never used in another exchange.
  /// - Throws: `badLength`; `badKey` if both sides have the same keys, since a message reflected by
  ///   an attacker would then look like an answer.
  package init(
    role: Role, own: DevicePublicKeys, peer: DevicePublicKeys, context: [UInt8], nonce: [UInt8]
  ) throws {
    try CryptoError.require("A nonce for comparing", nonce.count, equals: Self.nonceBytes)
    guard context.count <= Self.maximumContextBytes else {
      throw CryptoError(
        .badLength,
        "The context has \(context.count) bytes; at most \(Self.maximumContextBytes) are compared.")
    }
    guard own != peer else {
      throw CryptoError(.badKey, "A device cannot be compared with itself; choose the other one.")
    }
    self.role = role
    self.own = own
    self.peer = peer
    self.context = context
    self.nonce = nonce
    phase = role == .initiator ? .mustStart : .awaitsCommitment
  }

  /// The digits in two groups of six once the exchange is finished; otherwise nil.
  package var digits: String? {
    if case .finished(let digits) = phase { digits } else { nil }
  }

  /// The initiator's first message: the commitment.
  /// - Throws: `malformed` on the responder's side or if called twice.
  package mutating func start() throws -> [UInt8] {
    guard case .mustStart = phase else {
      phase = .over
      throw CryptoError(.malformed, "The comparison has begun, or the other device begins it.")
    }
    phase = .awaitsNonce
    return [Kind.commitment.rawValue] + commitment(nonce, initiator: own, responder: peer)
  }

  /// Takes a message of the other side.
  /// - Returns: The message to send, or nil if there is nothing more to send.
  /// - Throws: `malformed` for a message out of turn or of another length; `authenticationFailed`
  ///   if a revealed nonce is not the committed one.
  package mutating func receive(_ message: [UInt8]) throws -> [UInt8]? {
    let before = phase
    phase = .over
    guard message.count == Self.messageBytes, let kind = Kind(rawValue: message[0]) else {
      throw CryptoError(.malformed, "This is not a message of a comparison; begin again.")
    }
    let value = Array(message.dropFirst())
    switch (before, kind) {
    case (.awaitsCommitment, .commitment):
      phase = .awaitsReveal(commitment: value)
      return [Kind.nonce.rawValue] + nonce
    case (.awaitsNonce, .nonce):
      guard value != nonce else { throw CryptoError.authentication }
      phase = .finished(digits: makeDigits(initiatorNonce: nonce, responderNonce: value))
      return [Kind.reveal.rawValue] + nonce
    case (.awaitsReveal(let commitment), .reveal):
      guard value != nonce,
        self.commitment(value, initiator: peer, responder: own) == commitment
      else { throw CryptoError.authentication }
      phase = .finished(digits: makeDigits(initiatorNonce: value, responderNonce: nonce))
      return nil
    default:
      throw CryptoError(.malformed, "A message of the comparison came out of turn; begin again.")
    }
  }

  private func commitment(
    _ nonce: [UInt8], initiator: DevicePublicKeys, responder: DevicePublicKeys
  ) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update(Self.commitmentDomain)
    for part in [nonce, initiator.sign, initiator.box, responder.sign, responder.box, context] {
      hasher.updateDelimited(part)
    }
    return hasher.finalize()
  }

  private func makeDigits(initiatorNonce: [UInt8], responderNonce: [UInt8]) -> String {
    let (first, second) = role == .initiator ? (own, peer) : (peer, own)
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update(Self.digitsDomain)
    let parts = [
      initiatorNonce, responderNonce, first.sign, first.box, second.sign, second.box, context,
    ]
    for part in parts { hasher.updateDelimited(part) }
    let digest = hasher.finalize()
    return digest.withUnsafeBytes { digest in
      [0, 8].map { offset in
        ComparisonDigits.padded(
          digest.bigEndianUInt64(at: offset) % Self.modulus, digits: 6)
      }.joined(separator: " ")
    }
  }
}
