import HearthCRDT
import HearthCrypto

/// A client's request to a relay.
///
/// Each request is answered once, in any order.
package enum RelayRequest: RelayMessage {
  /// The first frame of a connection; answered by `welcome`.
  case hello(minimumVersion: Int, maximumVersion: Int)
  /// Asks for a mailbox on a free channel; answered by `challenge`, whether it exists or not.
  case open(channel: Int, mailbox: Identifier)
  /// Answers a challenge; answered by `opened`.
  case prove(RelayProof)
  /// Answers a challenge by creating the mailbox; answered by `opened`.
  case create(RelayCreation)
  /// Releases a channel and its subscription; answered by `done`.
  case close(channel: Int)
  /// Stores blobs, all or none; answered by `stored` once they are durable.
  case put(channel: Int, items: [RelayPut])
  /// Removes blobs by name; answered by `removed` once that is durable.
  case remove(channel: Int, names: [[UInt8]])
  /// Lists entries after a position without their blobs; answered by `listing`.
  ///
  /// With an author's key, only entries stored with that key are listed.
  case list(channel: Int, after: UInt64, limit: Int, isLiveOnly: Bool, author: [UInt8]? = nil)
  /// Fetches blobs by name; answered by `blobs`.
  case fetch(channel: Int, names: [[UInt8]])
  /// Fetches entries after a position with their blobs; answered by `entries`.
  case fetchAfter(channel: Int, after: UInt64, limit: Int)
  /// Stores blobs, packed against the last put on the channel; answered by `stored`.
  case putPacked(channel: Int, items: [RelayPackedItem])
  /// Asks for pushes of new entries, and says whether they may be packed; answered by `subscribed`.
  case subscribe(channel: Int, takesPacked: Bool = false)
  /// Ends the pushes; answered by `done`.
  case unsubscribe(channel: Int)
  /// Sets the next access key if the generation is still this one; answered by `rotated`.
  case rotate(channel: Int, generation: UInt64, accessKey: [UInt8])
  /// Sets a device's rank or removes its key, except for the last manager; for managers; answered
  /// by `done`.
  case setRank(channel: Int, key: [UInt8], rank: RelayRank)
  /// Asks for the roster and how much each key stored; answered by `roster`.
  case roster(channel: Int)
  /// Deletes all contents of the mailbox and restarts its log; for managers; answered by `done`.
  case reset(channel: Int)
  /// A sign of life; answered by `pong`.
  case ping
  /// Ends the session; answered by `done`, after which the relay closes the connection.
  case goodbye
  /// Opens a catalogue for reading, without a proof; answered by `opened`.
  case openPublic(channel: Int, mailbox: Identifier)
  /// Finds records of a catalogue by type and fields; answered by `found`.
  case query(channel: Int, PublicQuery)
}

/// The proof that a client holds a mailbox's access key or a manager's key.
package struct RelayProof: Hashable, Sendable {
  /// The challenged channel.
  package let channel: Int
  /// The id of the key that the proof is for.
  package let keyID: Bytes16
  /// The client's nonce.
  package let clientNonce: Bytes32
  /// `RelayAccess.prove`, 64 bytes.
  package let signature: [UInt8]
  /// The client's known end of the log, if any.
  package let cursor: RelayCursor?
  /// The proof of the device's own key, beside that of an access key; nil if the client shows none.
  package let author: RelayAuthorProof?

  package init(
    channel: Int, keyID: Bytes16, clientNonce: Bytes32, signature: [UInt8], cursor: RelayCursor?,
    author: RelayAuthorProof? = nil
  ) {
    self.author = author
    self.channel = channel
    self.keyID = keyID
    self.clientNonce = clientNonce
    self.signature = signature
    self.cursor = cursor
  }

  func encode(into writer: inout ByteWriter) {
    writer.varint(channel)
    writer.raw(keyID.array)
    writer.raw(clientNonce.array)
    writer.raw(signature)
    writer.byte(cursor == nil ? 0 : 1)
    cursor?.encode(into: &writer)
    writer.byte(author == nil ? 0 : 1)
    author?.encode(into: &writer)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    channel = try RelayFields.channel(from: &reader)
    keyID = try RelayFields.bytes16(from: &reader, "key id")
    clientNonce = try RelayFields.bytes32(from: &reader, "client nonce")
    signature = try reader.raw(Signature.count, "signature")
    cursor = try reader.flag("cursor flag") ? try RelayCursor(from: &reader) : nil
    author = try reader.flag("author flag") ? try RelayAuthorProof(from: &reader) : nil
  }
}

/// The kind of a mailbox.
package struct RelayMailboxKind: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Sealed blobs for the holders of one key.
  package static let sealed = RelayMailboxKind(rawValue: 0)
  /// Signed records of one publisher, for everybody to read.
  package static let catalogue = RelayMailboxKind(rawValue: 1)
}

/// A mailbox's parent, and the kind of child.
///
/// A member who has a mailbox open may create a bounded number of child mailboxes without a right
/// to register. Through them members, newcomers and returning members find each other.
package struct RelayParent: Hashable, Sendable {
  /// The kind of child that a mailbox is.
  package enum Child: UInt8, CaseIterable, Sendable {
    /// A rekey handoff, which leads from a replaced access key to the current one.
    case handoff = 1
    /// A rendezvous: of an invitation, or of requests to join.
    case place = 2
    /// A recovery bundle, which may be needed after years.
    case words = 3
  }

  /// The parent mailbox.
  package let mailbox: Identifier
  /// The kind of child.
  package let child: Child

  package init(_ mailbox: Identifier, _ child: Child) {
    self.mailbox = mailbox
    self.child = child
  }

  /// The signed form of the parent in a mailbox's creation.
  package var bytes: [UInt8] { [child.rawValue] + mailbox.bytes }
}

/// The creation of a mailbox, signed with both of its first keys.
package struct RelayCreation: Hashable, Sendable {
  /// The challenged channel.
  package let channel: Int
  /// The kind of mailbox; a relay refuses kinds that it does not support.
  package let kind: RelayMailboxKind
  /// The first access key, 32 bytes.
  package let accessKey: [UInt8]
  /// The first manager's key, 32 bytes.
  package let managerKey: [UInt8]
  /// The registration token; empty if the relay needs none.
  package let credential: [UInt8]
  /// The parent mailbox, if there is one.
  ///
  /// The session has to have the parent open as a member. A catalogue has no parent.
  package let parent: RelayParent?
  /// The client's nonce.
  package let clientNonce: Bytes32
  /// `RelayAccess.signCreation` with the access key, 64 bytes.
  package let accessSignature: [UInt8]
  /// `RelayAccess.signCreation` with the manager's key, 64 bytes.
  package let managerSignature: [UInt8]
  /// The catalogue's name; empty for other kinds.
  ///
  /// The mailbox's name derives from it and the manager's key.
  package let catalogueName: String

  package init(
    channel: Int, kind: RelayMailboxKind, accessKey: [UInt8], managerKey: [UInt8],
    credential: [UInt8], parent: RelayParent? = nil, clientNonce: Bytes32,
    accessSignature: [UInt8], managerSignature: [UInt8], catalogueName: String = ""
  ) {
    precondition(
      kind == .catalogue ? PublicName.isWord(catalogueName) : catalogueName.isEmpty,
      "a mailbox of kind \(kind.rawValue) named \(catalogueName)")
    precondition(kind != .catalogue || parent == nil, "a catalogue that belongs to a mailbox")
    self.catalogueName = catalogueName
    self.parent = parent
    self.channel = channel
    self.kind = kind
    self.accessKey = accessKey
    self.managerKey = managerKey
    self.credential = credential
    self.clientNonce = clientNonce
    self.accessSignature = accessSignature
    self.managerSignature = managerSignature
  }

  /// The content that both keys sign.
  package var signed: RelayAccess.Creation {
    RelayAccess.Creation(
      kind: kind.rawValue, accessKey: accessKey, managerKey: managerKey, credential: credential,
      parent: parent?.bytes ?? [])
  }

  func encode(into writer: inout ByteWriter) {
    writer.varint(channel)
    writer.byte(kind.rawValue)
    writer.raw(accessKey)
    writer.raw(managerKey)
    writer.blob(credential)
    writer.raw(parent?.bytes ?? [0])
    writer.raw(clientNonce.array)
    writer.raw(accessSignature)
    writer.raw(managerSignature)
    if kind == .catalogue { writer.text(catalogueName) }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    channel = try RelayFields.channel(from: &reader)
    kind = RelayMailboxKind(rawValue: try reader.byte("mailbox kind"))
    accessKey = try reader.raw(SigningPublicKey.count, "access key")
    managerKey = try reader.raw(SigningPublicKey.count, "manager key")
    credential = try reader.blob("credential", atMost: RelayLimits.maximumCredentialBytes)
    parent = try RelayCreation.parent(from: &reader, of: kind)
    clientNonce = try RelayFields.bytes32(from: &reader, "client nonce")
    accessSignature = try reader.raw(Signature.count, "access signature")
    managerSignature = try reader.raw(Signature.count, "manager signature")
    catalogueName = kind == .catalogue ? try PublicName.word(from: &reader, "catalogue name") : ""
  }

  private static func parent(
    from reader: inout ByteReader, of kind: RelayMailboxKind
  ) throws(CodecError) -> RelayParent? {
    let start = reader.offset
    let byte = try reader.byte("parent")
    if byte == 0 { return nil }
    guard kind != .catalogue, let child = RelayParent.Child(rawValue: byte) else {
      throw CodecError(.unknown, "parent", offset: start)
    }
    return RelayParent(try reader.identifier("parent"), child)
  }
}
