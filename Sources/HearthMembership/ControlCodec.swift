import HearthCRDT

/// Something with canonical bytes inside a control operation.
protocol ControlCodable {
  func encode(into writer: inout ByteWriter)
  init(from reader: inout ByteReader) throws(CodecError)
}

extension ByteWriter {
  mutating func list(_ items: [some ControlCodable]) {
    varint(items.count)
    for item in items { item.encode(into: &self) }
  }

  /// A flag, then the identifier if there is one.
  mutating func optional(_ identifier: Identifier?) {
    byte(identifier == nil ? 0 : 1)
    if let identifier { self.identifier(identifier) }
  }
}

extension ByteReader {
  /// A list of items that take at least `itemBytes` each.
  mutating func list<Item: ControlCodable>(
    _ item: String, itemBytes: Int, atMost limit: Int = ControlOperation.maximumItems
  ) throws(CodecError) -> [Item] {
    let number = try count(item, itemBytes: itemBytes, atMost: limit)
    var items: [Item] = []
    for _ in 0..<number { items.append(try Item(from: &self)) }
    return items
  }

  /// A list in strict order of a key, so that it has one spelling and no doubles.
  mutating func sortedList<Item: ControlCodable>(
    _ item: String, itemBytes: Int, isOrdered: (Item, Item) -> Bool
  ) throws(CodecError) -> [Item] {
    let start = offset
    let items: [Item] = try list(item, itemBytes: itemBytes)
    for place in items.indices.dropFirst() where !isOrdered(items[place - 1], items[place]) {
      throw CodecError(.notCanonical, item, offset: start)
    }
    return items
  }

  mutating func optionalIdentifier(_ item: String) throws(CodecError) -> Identifier? {
    try flag(item) ? try identifier(item) : nil
  }

  mutating func name(_ item: String) throws(CodecError) -> String {
    try text(item, atMost: ControlOperation.maximumNameBytes)
  }

  mutating func sealed(_ item: String) throws(CodecError) -> [UInt8] {
    try blob(item, atMost: ControlOperation.maximumSealedBytes)
  }

  mutating func sequence(_ item: String) throws(CodecError) -> UInt64 {
    let start = offset
    let value = try varint(item)
    guard value > 0 else { throw CodecError(.notCanonical, item, offset: start) }
    guard value <= Frontier.maximumSequence else {
      throw CodecError(.beyondLimit, item, offset: start)
    }
    return value
  }
}

extension DeviceCard: ControlCodable {
  package func encode(into writer: inout ByteWriter) {
    writer.raw(signKey)
    writer.raw(boxKey)
    writer.text(name)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    signKey = try reader.raw(32, "sign key")
    boxKey = try reader.raw(32, "box key")
    name = try reader.name("device's name")
  }
}

extension ControlOperation.Genesis.ZoneDeclaration: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(id)
    writer.text(name)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    id = try reader.identifier("zone")
    name = try reader.name("zone name")
  }
}

extension ControlOperation.Genesis: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(nonce)
    writer.byte(database.rawValue)
    writer.identifier(controlZone)
    writer.list(zones)
    writer.identifier(founder)
    writer.text(founderName)
    device.encode(into: &writer)
    writer.fixed64(createdMilliseconds)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    nonce = try reader.identifier("nonce")
    database = try reader.choice("database", DatabaseKind.init(rawValue:))
    controlZone = try reader.identifier("control zone")
    zones = try reader.list("zones", itemBytes: 17)
    founder = try reader.identifier("founder")
    founderName = try reader.name("founder's name")
    device = try DeviceCard(from: &reader)
    createdMilliseconds = try reader.fixed64("created")
  }
}

extension ControlOperation.InviteCreate: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(invite)
    writer.raw(signKey)
    writer.raw(boxKey)
    writer.byte(admission.rawValue)
    writer.byte(role.rawValue)
    writer.optional(person)
    writer.varint(maximumUses)
    writer.fixed64(expiresMilliseconds)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    invite = try reader.identifier("invite")
    signKey = try reader.raw(32, "invite sign key")
    boxKey = try reader.raw(32, "invite box key")
    admission = try reader.choice("admission", ControlOperation.Admission.init(rawValue:))
    role = try reader.choice("role", Role.init(rawValue:))
    person = try reader.optionalIdentifier("invited person")
    maximumUses = try reader.varint("uses", atMost: 1_000)
    expiresMilliseconds = try reader.fixed64("expiry")
  }
}

extension ControlOperation.Join: ControlCodable {
  /// The bytes that the invitation's key signs: the whole request, its keys included.
  package var request: [UInt8] {
    var writer = ByteWriter()
    writer.identifier(invite)
    writer.identifier(person)
    writer.text(personName)
    device.encode(into: &writer)
    return writer.bytes
  }

  func encode(into writer: inout ByteWriter) {
    writer.raw(request)
    writer.raw(proof)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    invite = try reader.identifier("invite")
    person = try reader.identifier("person")
    personName = try reader.name("person's name")
    device = try DeviceCard(from: &reader)
    proof = try reader.raw(64, "proof")
  }
}

extension ControlOperation.Admit: ControlCodable {
  package func encode(into writer: inout ByteWriter) {
    join.encode(into: &writer)
    writer.raw(possession)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    join = try ControlOperation.Join(from: &reader)
    possession = try reader.raw(64, "possession")
  }
}

extension ControlOperation.Incarnate: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.fixed64(previous)
    writer.text(reason)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    previous = try reader.fixed64("previous incarnation")
    reason = try reader.name("reason")
  }
}

// MARK: - Changes of people and devices

extension Cut.Entry: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.author(author)
    writer.varint(sequence)
    writer.raw(hash)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone of a cut")
    author = try reader.author("author of a cut")
    sequence = try reader.sequence("sequence of a cut")
    hash = try reader.raw(32, "hash of a cut")
  }
}

extension Cut: ControlCodable {
  func encode(into writer: inout ByteWriter) { writer.list(entries) }

  init(from reader: inout ByteReader) throws(CodecError) {
    entries = try reader.sortedList("cut", itemBytes: 73) {
      ($0.zone, $0.author) < ($1.zone, $1.author)
    }
  }
}

extension ControlOperation.RemoveMember: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(person)
    cut.encode(into: &writer)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    person = try reader.identifier("person")
    cut = try Cut(from: &reader)
  }
}

extension ControlOperation.RevokeDevice: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(device)
    cut.encode(into: &writer)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    device = try reader.identifier("device")
    cut = try Cut(from: &reader)
  }
}

extension ControlOperation.SetRole: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(person)
    writer.byte(role.rawValue)
    cut.encode(into: &writer)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    person = try reader.identifier("person")
    role = try reader.choice("role", Role.init(rawValue:))
    cut = try Cut(from: &reader)
  }
}

extension ControlOperation.TransferOwner: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(to)
    writer.raw(signature)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    to = try reader.identifier("new owner")
    signature = try reader.raw(64, "signature")
  }
}
