import HearthCRDT
import HearthCrypto

/// What a client asks of a relay; each request is answered once, in any order.
package enum RelayRequest: RelayMessage {
  /// The first frame of a connection; answered by `welcome`.
  case hello(minimumVersion: Int, maximumVersion: Int)
  /// Asks for a mailbox on a free channel; answered by `challenge`, whether it exists or not.
  case open(channel: Int, mailbox: Identifier)
  /// Answers a challenge; answered by `opened`.
  case prove(RelayProof)
  /// Answers a challenge by making the mailbox; answered by `opened`.
  case create(RelayCreation)
  /// Lets go of a channel and its subscription; answered by `done`.
  case close(channel: Int)
  /// Stores blobs, all or none; answered by `stored` when they are durable.
  case put(channel: Int, items: [RelayPut])
  /// Drops blobs by name; answered by `removed` when that is durable.
  case remove(channel: Int, names: [[UInt8]])
  /// Entries after a position without their blobs; answered by `listing`.
  ///
  /// With an author's key only what was stored with that one is told.
  case list(channel: Int, after: UInt64, limit: Int, isLiveOnly: Bool, author: [UInt8]? = nil)
  /// Blobs by name; answered by `blobs`.
  case fetch(channel: Int, names: [[UInt8]])
  /// Entries after a position with their blobs; answered by `entries`.
  case fetchAfter(channel: Int, after: UInt64, limit: Int)
  /// The same in pieces that repeat what was put before on the channel; answered by `stored`.
  case putPacked(channel: Int, items: [RelayPackedItem])
  /// Asks for pushes of what is stored from now on, and says whether they may be packed; answered
  /// by `subscribed`.
  case subscribe(channel: Int, takesPacked: Bool = false)
  /// Ends the pushes; answered by `done`.
  case unsubscribe(channel: Int)
  /// Sets the next access key if the generation is still this one; answered by `rotated`.
  case rotate(channel: Int, generation: UInt64, accessKey: [UInt8])
  /// Lists a device's key, or strikes it off, but for the last manager; for managers; answered by
  /// `done`.
  case setRank(channel: Int, key: [UInt8], rank: RelayRank)
  /// Asks who is listed and who stored how much; answered by `roster`.
  case roster(channel: Int)
  /// Drops all that the mailbox holds: its log begins anew; for managers; answered by `done`.
  case reset(channel: Int)
  /// A sign of life; answered by `pong`.
  case ping
  /// The end; answered by `done`, after which the relay closes the connection.
  case goodbye
  /// Opens a catalogue for reading, without a proof; answered by `opened`.
  case openPublic(channel: Int, mailbox: Identifier)
  /// Records of a catalogue by type and fields; answered by `found`.
  case query(channel: Int, PublicQuery)
}

/// The proof that a client holds a mailbox's access key or a manager's key.
package struct RelayProof: Hashable, Sendable {
  /// The channel that was challenged.
  package let channel: Int
  /// Which key proves it.
  package let keyID: Bytes16
  /// The client's nonce.
  package let clientNonce: Bytes32
  /// `RelayAccess.prove`, 64 bytes.
  package let signature: [UInt8]
  /// What the client knows of the log, if anything.
  package let cursor: RelayCursor?
  /// The proof of the device's own key, beside that of an access key; nil for who shows none.
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
    channel = try reader.channel()
    keyID = try reader.bytes16("key id")
    clientNonce = try reader.bytes32("client nonce")
    signature = try reader.raw(Signature.count, "signature")
    cursor = try reader.flag("cursor flag") ? try RelayCursor(from: &reader) : nil
    author = try reader.flag("author flag") ? try RelayAuthorProof(from: &reader) : nil
  }
}

/// What kind of mailbox there is.
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

/// To which mailbox another belongs, and as what.
///
/// Whoever has a mailbox open as a member may make a bounded number of such others without a right
/// to register: they are how members, newcomers and those who were away find each other.
package struct RelayParent: Hashable, Sendable {
  /// What a mailbox is of another one.
  package enum Child: UInt8, CaseIterable, Sendable {
    /// A door, which leads from an access key that was replaced to the present one.
    case door = 1
    /// A meeting place: of an invitation, or of requests to join.
    case place = 2
    /// Where the capsule of recovery words lies, which is needed after years.
    case words = 3
  }

  /// The mailbox to which it belongs.
  package let mailbox: Identifier
  /// As what.
  package let child: Child

  package init(_ mailbox: Identifier, _ child: Child) {
    self.mailbox = mailbox
    self.child = child
  }

  /// What the makers of a mailbox sign of its parent.
  package var bytes: [UInt8] { [child.rawValue] + mailbox.bytes }
}

/// The making of a mailbox, signed with both of its first keys.
package struct RelayCreation: Hashable, Sendable {
  /// The channel that was challenged.
  package let channel: Int
  /// The kind of mailbox; a relay refuses kinds it does not have.
  package let kind: RelayMailboxKind
  /// The first access key, 32 bytes.
  package let accessKey: [UInt8]
  /// The first manager's key, 32 bytes.
  package let managerKey: [UInt8]
  /// The registration token; empty where none is needed.
  package let credential: [UInt8]
  /// The mailbox to which it is to belong, if there is one.
  ///
  /// The session has to have that open as a member. A catalogue belongs to none.
  package let parent: RelayParent?
  /// The client's nonce.
  package let clientNonce: Bytes32
  /// `RelayAccess.signCreation` with the access key, 64 bytes.
  package let accessSignature: [UInt8]
  /// `RelayAccess.signCreation` with the manager's key, 64 bytes.
  package let managerSignature: [UInt8]
  /// The catalogue's name, from which with the manager's key the mailbox's follows; empty for
  /// other kinds.
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

  /// What both keys sign.
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
    channel = try reader.channel()
    kind = RelayMailboxKind(rawValue: try reader.byte("mailbox kind"))
    accessKey = try reader.raw(SigningPublicKey.count, "access key")
    managerKey = try reader.raw(SigningPublicKey.count, "manager key")
    credential = try reader.blob("credential", atMost: RelayLimits.maximumCredentialBytes)
    parent = try RelayCreation.parent(from: &reader, of: kind)
    clientNonce = try reader.bytes32("client nonce")
    accessSignature = try reader.raw(Signature.count, "access signature")
    managerSignature = try reader.raw(Signature.count, "manager signature")
    catalogueName = kind == .catalogue ? try reader.word("catalogue name") : ""
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
