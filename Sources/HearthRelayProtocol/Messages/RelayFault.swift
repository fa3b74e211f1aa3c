import HearthCRDT

/// Why a relay refused something, as it stands on the wire.
///
/// Equal by code: words may change, numbers may not. Unknown and forbidden mailboxes give the same
/// fault with the same words.
package struct RelayFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of fault; a client decides on this alone, and keeps codes it does not know.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
      self.rawValue = rawValue
    }

    /// Bytes that are no frame of this protocol; the relay closes the connection.
    package static let malformed = Code(rawValue: 1)
    /// No version that both sides speak; the relay closes the connection.
    package static let unsupportedVersion = Code(rawValue: 2)
    /// A request that this state of the session does not allow.
    package static let wrongState = Code(rawValue: 3)
    /// Unknown mailbox, wrong key, bad proof or no right to register: which one is not told.
    package static let refused = Code(rawValue: 4)
    /// The mailbox would hold more bytes or entries than its quota.
    package static let quotaExceeded = Code(rawValue: 5)
    /// Too much in too short a time; `retryAfterMilliseconds` says when to come back.
    package static let rateLimited = Code(rawValue: 6)
    /// A batch, page or frame beyond its limit: split it.
    package static let tooLarge = Code(rawValue: 7)
    /// Too many connections, mailboxes, subscriptions or unanswered requests.
    package static let tooMany = Code(rawValue: 8)
    /// The access key was changed by somebody else first.
    package static let conflict = Code(rawValue: 9)
    /// The relay cannot work now (its disk, its end); nothing was stored.
    package static let unavailable = Code(rawValue: 10)
    /// The mailbox's access key is another now; open it again with the new one.
    package static let accessChanged = Code(rawValue: 11)
    /// A kind of mailbox or request that this relay does not have.
    package static let unsupported = Code(rawValue: 12)
    /// The session's key may not do this.
    package static let notAllowed = Code(rawValue: 13)
    /// The client does not read what it asked for; the relay closes the connection.
    package static let slowReader = Code(rawValue: 14)
    /// Nothing was heard for too long; the relay closes the connection.
    package static let idle = Code(rawValue: 15)
    /// The relay ends its work; connect again later.
    package static let goingAway = Code(rawValue: 16)
    /// As many mailboxes belong to the one named as may.
    package static let tooManyChildren = Code(rawValue: 17)
    /// The registration token was good for a number of mailboxes, and they are made.
    package static let tokenUsedUp = Code(rawValue: 18)
    /// All mailboxes together would hold more than the relay's operator gives.
    package static let relayFull = Code(rawValue: 19)
    /// A manager of the mailbox has taken the device's own key off its list.
    package static let struckOff = Code(rawValue: 20)
    /// The device holds its share of the mailbox, in which others still have room.
    package static let shareExceeded = Code(rawValue: 21)
  }

  /// The kind of fault.
  package let code: Code
  /// How long to wait before trying again; 0 where waiting does not help or no time is known.
  package let retryAfterMilliseconds: Int
  /// What is wrong, in words for a person; never anything secret.
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

  /// The one answer for whatever must not be told apart.
  package static let refused = RelayFault(
    .refused, "no such mailbox, or not with this key; ask a member for a new invitation")

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
