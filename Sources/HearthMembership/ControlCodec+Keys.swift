import HearthCRDT

// Recovery words, keys of zones and proofs.

extension ControlOperation.SealedSecret: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.blob(sealed)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone of a secret")
    sealed = try reader.sealed("zone secret")
  }
}

extension ControlOperation.RecoveryKeys: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.raw(sign)
    writer.raw(box)
    writer.list(secrets)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    sign = try reader.raw(32, "recovery sign key")
    box = try reader.raw(32, "recovery box key")
    secrets = try reader.sortedList("zone secrets", itemBytes: 17) { $0.zone < $1.zone }
  }
}

extension ControlOperation.SetRecovery: ControlCodable {
  func encode(into writer: inout ByteWriter) { keys.encode(into: &writer) }

  init(from reader: inout ByteReader) throws(CodecError) {
    keys = try ControlOperation.RecoveryKeys(from: &reader)
  }
}

extension ControlOperation.RotateRecovery: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    keys.encode(into: &writer)
    switch consent {
    case .recovery(let signature):
      writer.byte(0)
      writer.raw(signature)
    case .device(let device, let signature):
      writer.byte(1)
      writer.identifier(device)
      writer.raw(signature)
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    keys = try ControlOperation.RecoveryKeys(from: &reader)
    if try reader.flag("consent") {
      let device = try reader.identifier("second device")
      consent = .device(device, signature: try reader.raw(64, "second device's signature"))
    } else {
      consent = .recovery(signature: try reader.raw(64, "recovery signature"))
    }
  }
}

extension ControlOperation.Recover: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    encodeUnsigned(into: &writer)
    writer.raw(signature)
  }

  func encodeUnsigned(into writer: inout ByteWriter) {
    writer.identifier(person)
    device.encode(into: &writer)
    writer.byte(revokesOthers ? 1 : 0)
    cut.encode(into: &writer)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    person = try reader.identifier("person")
    device = try DeviceCard(from: &reader)
    revokesOthers = try reader.flag("revokes others")
    cut = try Cut(from: &reader)
    signature = try reader.raw(64, "recovery signature")
  }
}

// MARK: - Keys and proofs

extension ControlOperation.Wrap: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(recipient)
    writer.blob(sealed)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    recipient = try reader.identifier("recipient")
    sealed = try reader.sealed("wrap")
  }
}

extension ControlOperation.HistoryKey: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.raw(epoch)
    writer.blob(sealed)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    epoch = try reader.raw(32, "earlier epoch")
    sealed = try reader.sealed("earlier key")
  }
}

extension ByteReader {
  fileprivate mutating func wraps(_ item: String) throws(CodecError) -> [ControlOperation.Wrap] {
    try sortedList(item, itemBytes: 17) { $0.recipient < $1.recipient }
  }
}

extension ControlOperation.EpochGrant: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.raw(epoch)
    writer.varint(previous.count)
    for id in previous { writer.raw(id) }
    writer.list(wraps)
    writer.list(recovery)
    writer.list(history)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone")
    epoch = try reader.raw(32, "epoch")
    let limit = ControlOperation.maximumPrevious
    var previous: [[UInt8]] = []
    for _ in 0..<(try reader.count("previous epochs", itemBytes: 32, atMost: limit)) {
      previous.append(try reader.raw(32, "previous epoch"))
    }
    self.previous = previous
    wraps = try reader.wraps("wraps")
    recovery = try reader.wraps("recovery wraps")
    history = try reader.list("earlier keys", itemBytes: 33, atMost: limit)
  }
}

extension ControlOperation.WrapAdd: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.raw(epoch)
    writer.list(wraps)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone")
    epoch = try reader.raw(32, "epoch")
    wraps = try reader.wraps("wraps")
  }
}

extension ControlOperation.Complaint: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.raw(epoch)
    writer.byte(isLast ? 1 : 0)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone")
    epoch = try reader.raw(32, "epoch")
    isLast = try reader.flag("last key")
  }
}

extension ControlOperation.ForkProof: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.author(author)
    writer.blob(first)
    writer.blob(second)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let limit = ControlOperation.maximumEvidenceBytes
    zone = try reader.identifier("zone")
    author = try reader.author("forked author")
    first = try reader.blob("first segment", atMost: limit)
    second = try reader.blob("second segment", atMost: limit)
  }
}

extension ControlOperation.BranchPart: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.author(author)
    writer.identifier(digest)
    writer.varint(part)
    writer.varint(parts)
    writer.blob(bytes)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    author = try reader.author("shown author")
    digest = try reader.identifier("shown segment")
    let start = reader.offset
    part = try reader.varint("part", atMost: ControlOperation.maximumParts - 1)
    parts = try reader.varint("parts", atMost: ControlOperation.maximumParts)
    guard part < parts else { throw CodecError(.notCanonical, "part", offset: start) }
    bytes = try reader.blob("part of a segment", atMost: ControlOperation.maximumEvidenceBytes)
  }
}

extension ControlOperation.Adopt: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.author(author)
    writer.varint(first)
    writer.varint(last)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone")
    author = try reader.author("adopted author")
    first = try reader.sequence("first adopted change")
    let start = reader.offset
    last = try reader.sequence("last adopted change")
    guard first <= last else {
      throw CodecError(.notCanonical, "last adopted change", offset: start)
    }
  }
}

extension ControlOperation.Policy: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.byte(minimumSuite)
    writer.byte(newcomers.rawValue)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    minimumSuite = try reader.byte("minimum suite")
    newcomers = try reader.choice("newcomers", ControlOperation.Newcomers.init(rawValue:))
  }
}

extension ControlOperation.ZoneFrontier: ControlCodable {
  func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.frontier(frontier)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone of a frontier")
    frontier = try reader.frontier("frontier")
  }
}
