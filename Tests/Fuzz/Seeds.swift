import Glibc
import HearthCRDT

@testable import HearthCrypto
@testable import HearthMembership
@testable import HearthSync

// Good inputs made by the code at hand, so that a changed format does not leave the fuzzer with
// seeds that every decoder refuses at once.

/// Good inputs of a decoder; none where the frozen examples of the tests serve.
func seeds(of name: String) throws -> [[UInt8]] {
  switch name {
  case "batch": [ChangeBatch.encode(plainChanges)]
  case "change":
    plainChanges.map { change in
      var writer = ByteWriter()
      change.encode(into: &writer)
      return writer.bytes
    }
  case "state": [stateSeed()]
  case "event": [eventSeed()]
  case "anchor":
    [
      Anchor(
        generation: 7, incarnation: 1 << 32,
        sealed: [
          Anchor.Sealed(zone: seedID, sequence: 300),
          Anchor.Sealed(zone: Identifier(high: 9, low: 1), sequence: .max),
        ]
      ).encoded
    ]
  case "segment": try segmentSeeds()
  case "capsule": try capsuleSeeds()
  case "keyfile":
    // 1: two secrets; 0: a whole file without a passphrase, and one with.
    [
      [1, 0, 2, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 1, 9], try [0] + keyFile(nil),
      try [0] + keyFile("correct horse"),
    ]
  case "invite": [Array("hearth://join/v1/000g40r40m30e209185gr38e1wec/5xqp2wkfehm".utf8)]
  case "words":
    [
      "cat swing flag economy stadium alone churn speed unique patch report train",
      "1. legal 2. WINN\n3) thank 4:year, wave sausage worth useful legal winner thank yell",
      "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zon",
    ].map { Array($0.utf8) }
  case "relayrequest": relayRequestSeeds
  case "relayreply": relayReplySeeds
  case "publicrecord": try publicSeeds().records
  case "publichead": [try publicSeeds().head]
  case "publicpack": [try publicSeeds().pack]
  default: []
  }
}

private let seedID = Identifier(high: 0xfa, low: 1)
private let seedAuthors = (0..<4).map {
  Author(device: DeviceID(high: 7, low: $0), incarnation: 1 << 32 | $0)
}

private let plainChanges: [Change] = {
  let record = RecordKey(type: .record(1), id: seedID)
  let event = RecordKey(type: .event(2, keepsCause: true), id: Identifier(high: 0xfa, low: 2))
  let author = Author(device: DeviceID(high: 7, low: 0), incarnation: 1 << 32)
  let operations = [
    Operation(record, .insert), Operation(record, .assign(FieldID(.register, 1), .text("Küche"))),
    Operation(record, .count(FieldID(.counter, 3), -5)),
    Operation(record, .include(FieldID(.set, 4), .bytes([1, 2]))),
    Operation(record, .exclude(FieldID(.set, 4), .bool(true))),
    Operation(event, .event([EventField(FieldID(.register, 1), .int(1 << 40))])),
    Operation(record, .delete),
  ]
  return (1...2).map { sequence in
    Change(
      dot: Dot(author: author, sequence: sequence),
      previousHash: [UInt8](repeating: UInt8(sequence), count: 32),
      seen: FrontierDifference(
        heads: [CitedHead(author: seedAuthors[1], sequence: sequence, hash: 0xc17e << sequence)]),
      time: HybridTime(milliseconds: 1_790_000_000_000 + sequence), operations: operations)
  }
}()

private func version(_ author: Int, _ sequence: UInt64) -> Version {
  Version(
    dot: Dot(author: seedAuthors[author], sequence: sequence),
    time: HybridTime(milliseconds: 1_790_000_000_000))
}

private func stateSeed() -> [UInt8] {
  var state = RecordState()
  let title = FieldID(.register, 1)
  state.apply(.assign(title, .text("Bad")), version: version(0, 1), past: Frontier())
  state.apply(.assign(title, .text("Küche")), version: version(1, 1), past: Frontier())
  state.apply(.assign(FieldID(.history, 3), .int(5)), version: version(0, 2), past: Frontier())
  state.apply(.count(FieldID(.counter, 4), 7), version: version(2, 2), past: Frontier())
  state.apply(.include(FieldID(.set, 5), .int(1)), version: version(3, 2), past: Frontier())
  var writer = ByteWriter()
  state.encode(into: &writer, authors: AuthorTable(seedAuthors), values: .all)
  return writer.bytes
}

private func eventSeed() -> [UInt8] {
  let event = EventState(
    version: version(0, 2), cause: Frontier([(seedAuthors[1], UInt64(3))]),
    fields: [EventField(FieldID(.register, 1), .int(7))])
  var writer = ByteWriter()
  event.encode(
    into: &writer, authors: AuthorTable(seedAuthors), type: .event(1, keepsCause: true))
  return writer.bytes
}

private func keyFile(_ text: String?) throws -> [UInt8] {
  var bytes = Array((text ?? "x").utf8)
  let passphrase = try Passphrase(consuming: &bytes)
  var secret: [UInt8] = [1, 2, 3]
  return try KeyFile.seal(
    [SecretBytes(consuming: &secret)], passphrase: text == nil ? nil : passphrase,
    parameters: .testMinimum, bounds: .testing)
}

private func segmentSeeds() throws -> [[UInt8]] {
  let place = try SegmentPlace()
  let author = Author(device: place.deviceID, incarnation: 1 << 32)
  let key = RecordKey(type: ControlOperation.type, id: seedID)
  let operations = [
    ControlOperation.genesis(place.genesis), .inviteClose(invite: seedID),
    .incarnate(previous: 1 << 32, reason: "restored"),
  ].map { Operation(key, .event([EventField(ControlOperation.bodyField, .bytes($0.encoded))])) }
  func changes(_ operations: [Operation]) -> [Change] {
    [
      Change(
        dot: Dot(author: author, sequence: 1), previousHash: [UInt8](repeating: 0, count: 32),
        time: HybridTime(milliseconds: 1_790_000_000_000), operations: operations)
    ]
  }
  func body(_ operations: [Operation]) -> [UInt8] {
    let all = changes(operations)
    let weight = ChangeBatch.weight(of: all)
    return [2, 0, 0, UInt8(weight >> 8), UInt8(weight & 255)] + ChangeBatch.encode(all)
  }
  let whole = try ChangeBatch.encode(changes(operations)).withUnsafeBytes { body in
    try Envelope.seal(
      place.header(1), zoneID: place.zone.id.bytes, device: place.device, epoch: place.epoch,
      body: body, weight: ChangeBatch.weight(of: changes(operations)), random: RandomBytes.make(32))
  }
  let long = [UInt8](repeating: 7, count: 3000)
  let compressed = try long.withUnsafeBytes { try Payload.encode($0) }
  let end = compressed.lastIndex(of: Padding.marker) ?? compressed.count
  return operations.flatMap { [[1, 0] + body([$0]), [3, 0] + body([$0])] }
    + [[0] + whole, [1, 0] + Array(compressed[..<end])]
}

private func capsuleSeeds() throws -> [[UInt8]] {
  var seed = [UInt8](0..<16)
  let invite = try InviteSecret(seed: SecretBytes(consuming: &seed))
  let zone = InvitationCapsule.ZoneGrant(
    id: seedID, kind: .data, name: "Home", tag: try Bytes16([UInt8](repeating: 1, count: 16)),
    sealedSecret: [UInt8](repeating: 2, count: 80),
    epochs: [([UInt8](repeating: 3, count: 32), [UInt8](repeating: 4, count: 80))])
  let whole = try InvitationCapsule(
    group: seedID, database: .shared, groupName: "Home", inviterName: "Anna", role: .member,
    expiresMilliseconds: 1, zones: [zone], controlFrontier: Frontier([(seedAuthors[0], UInt64(3))])
  ).sealed(for: invite)
  let body = try Capsule.open(
    whole, key: invite.capsuleKey, associatedData: invite.rendezvousID)
  let padded = [5, 6, 7, Padding.marker] + [UInt8](repeating: 0, count: 4091)
  return [[0] + whole, [1] + body, [3] + padded]
}

/// What libFuzzer calls first: writes the seeds into the folder of HEARTH_FUZZ_SEEDS, if it is
/// set, and ends.
@_cdecl("LLVMFuzzerInitialize")
public func initialiseFuzzer(
  _ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
  guard let folder = getenv("HEARTH_FUZZ_SEEDS"), let name = getenv("HEARTH_FUZZ") else {
    return 0
  }
  do {
    for (number, seed) in try seeds(of: String(cString: name)).enumerated() {
      let path = String(cString: folder) + "/made-\(number)"
      guard let file = fopen(path, "w") else { preconditionFailure("cannot write \(path)") }
      precondition(fwrite(seed, 1, seed.count, file) == seed.count, "cannot write \(path)")
      fclose(file)
    }
  } catch {
    preconditionFailure("seeds: \(error)")
  }
  exit(0)
}
