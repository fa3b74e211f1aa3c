import HearthCRDT

/// The relay's reason for a refusal, in its wire form.
///
/// Faults are equal by code: words may change, numbers may not. Unknown and forbidden mailboxes
/// give the same fault with the same words.
package struct RelayFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of fault.
  ///
  /// A client decides by this alone, and preserves codes that it does not know.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
      self.rawValue = rawValue
    }

    /// The bytes are no frame of this protocol; the relay closes the connection.
    package static let malformed = Code(rawValue: 1)
    /// There is no version that both sides support; the relay closes the connection.
    package static let unsupportedVersion = Code(rawValue: 2)
    /// The state of the session does not allow the request.
    package static let wrongState = Code(rawValue: 3)
    /// Unknown mailbox, wrong key, bad proof or no right to register.
    ///
    /// The fault does not reveal which.
    package static let refused = Code(rawValue: 4)
    /// The mailbox would exceed its quota of bytes or entries.
    package static let quotaExceeded = Code(rawValue: 5)
    /// Too many requests in too short a time.
    ///
    /// `retryAfterMilliseconds` says when to retry.
    package static let rateLimited = Code(rawValue: 6)
    /// A batch, page or frame exceeds its limit: split it.
    package static let tooLarge = Code(rawValue: 7)
    /// Too many connections, mailboxes, subscriptions or unanswered requests.
    package static let tooMany = Code(rawValue: 8)
    /// Somebody else changed the access key first.
    package static let conflict = Code(rawValue: 9)
    /// The relay cannot work now (disk fault, shutdown); nothing was stored.
    package static let unavailable = Code(rawValue: 10)
    /// The mailbox has another access key now; open it again with the new one.
    package static let accessChanged = Code(rawValue: 11)
    /// The relay does not support this kind of mailbox or request.
    package static let unsupported = Code(rawValue: 12)
    /// The session's key may not do this.
    package static let notAllowed = Code(rawValue: 13)
    /// The client does not read the answers to its requests; the relay closes the connection.
    package static let slowReader = Code(rawValue: 14)
    /// The client was silent for too long; the relay closes the connection.
    package static let idle = Code(rawValue: 15)
    /// The relay shuts down; reconnect later.
    package static let goingAway = Code(rawValue: 16)
    /// The parent mailbox has the maximum number of children.
    package static let tooManyChildren = Code(rawValue: 17)
    /// The registration token was valid for a number of mailboxes, and they have been created.
    package static let tokenUsedUp = Code(rawValue: 18)
    /// All mailboxes together would exceed the space that the relay's operator allows.
    package static let relayFull = Code(rawValue: 19)
    /// A manager of the mailbox has removed the device's own key from its roster.
    package static let struckOff = Code(rawValue: 20)
    /// The device uses its full share of the mailbox, in which others still have room.
    package static let shareExceeded = Code(rawValue: 21)
  }

  /// The kind of fault.
  package let code: Code
  /// How long to wait before a retry; 0 if waiting does not help or no time is known.
  package let retryAfterMilliseconds: Int
  /// The fault in words for a person; never anything secret.
  package let message: String

  package init(_ code: Code, _ message: String, retryAfterMilliseconds: Int = 0) {
    precondition(
      message.utf8.count <= RelayLimits.maximumMessageBytes
        && (0...RelayLimits.maximumRetryMilliseconds).contains(retryAfterMilliseconds),
      "fault \(code.rawValue): \(message.utf8.count) bytes, \(retryAfterMilliseconds) ms")
    self.code = code
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.message = message
  }

  package static func == (left: RelayFault, right: RelayFault) -> Bool {
    left.code == right.code
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(code)
  }

  package var description: String { "relay fault \(code.rawValue): \(message)" }

  /// The single answer for all cases that must be indistinguishable.
  package static let refused = RelayFault(
    .refused, "no such mailbox, or not with this key; ask a member for a new invitation")

  /// The fault for a session whose right to an open mailbox has ended.
  package static let accessChanged = RelayFault(
    .accessChanged, "the mailbox now has another access key")

  /// The fault for a removed device that opens the mailbox.
  package static let struckOff = RelayFault(
    .struckOff, "a manager of the mailbox has removed this device from its list")

  func encode(into writer: inout ByteWriter) {
    writer.varint(Int(code.rawValue))
    writer.varint(retryAfterMilliseconds)
    writer.text(message)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let code = try reader.varint("fault code", atMost: Int(UInt16.max))
    self.code = Code(rawValue: UInt16(code))
    retryAfterMilliseconds = try reader.varint(
      "time to wait", atMost: RelayLimits.maximumRetryMilliseconds)
    message = try reader.text("fault message", atMost: RelayLimits.maximumMessageBytes)
  }
}
