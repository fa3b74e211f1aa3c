import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Damaged bytes against every decoder of this module: a typed error or the one spelling, no trap.
@Suite("Damaged bytes")
struct FuzzTests {
  /// Runs a decoder that gives back the canonical bytes of what it read, if it has any.
  private func run(
    _ name: String, _ count: Int, _ corpus: [[UInt8]], _ recode: ([UInt8]) throws -> [UInt8]?
  ) throws {
    for good in corpus { #expect(try recode(good) == good, "\(name): the corpus itself") }
    var mutator = Mutator(seed: 0xf022, corpus: corpus)
    var accepted = 0
    for round in 0..<count {
      let bytes = mutator.next()
      do {
        guard let again = try recode(bytes) else { continue }
        accepted += 1
        guard again == bytes else {
          Issue.record("\(name), round \(round): two spellings of one thing: \(hex(bytes))")
          return
        }
      } catch is CodecError {
      } catch is SyncError {
      } catch is CryptoError {}
    }
    // Some damages give other good bytes; most do not.
    #expect(accepted < count, "\(name)")
  }

  private static func batches() -> [[Change]] {
    var random = SplitMix64(seed: 4)
    return (1...6).map { count in
      var head = LogHead(author: runAuthor(1))
      return (0..<count * 2).map { place in
        let key = RecordKey(
          type: random.oneIn(3) ? .event(2, keepsCause: true) : .record(1),
          id: EngineFamily.id(random.below(4)))
        let operations = (0..<random.below(4)).map { _ -> Operation in
          if key.type.isEvent {
            return Operation(
              key,
              .event([
                EventField(FieldID(.register, 1), .text("é\(place)")),
                EventField(FieldID(.register, 4), .int(Int64(place))),
              ]))
          }
          switch random.below(6) {
          case 0: return Operation(key, .insert)
          case 1: return Operation(key, .count(FieldID(.counter, 3), -5))
          case 2: return Operation(key, .include(FieldID(.set, 4), .bytes([1, 2])))
          case 3: return Operation(key, .exclude(FieldID(.set, 4), .bool(true)))
          case 4: return Operation(key, .delete)
          default: return Operation(key, .assign(FieldID(.register, 1), .int(1 << 40)))
          }
        }
        head.sequence += 1
        return Change(
          dot: Dot(author: head.author, sequence: head.sequence),
          previousHash: [UInt8](repeating: UInt8(place), count: 32),
          seen: place % 3 == 0
            ? Frontier([(runAuthor(2), UInt64(3 + place)), (runAuthor(3), 1 << 40 + UInt64(place))])
              .difference(from: Frontier()) : .none,
          time: HybridTime(milliseconds: EngineFamily.now + UInt64(place * 1000)),
          operations: operations)
      }
    }
  }

  @Test("Change batches")
  func batch() throws {
    try run("batch", 1_500, Self.batches().map(ChangeBatch.encode)) { bytes in
      var changes = try ChangeBatch.decode(bytes, incarnation: runAuthor(1).incarnation, first: 1)
      for place in changes.indices.dropFirst() { changes[place].previousHash = [] }
      return ChangeBatch.encode(changes)
    }
  }

  @Test("Changes")
  func change() throws {
    let corpus = Self.batches().joined().map { change in
      var writer = ByteWriter()
      change.encode(into: &writer)
      return writer.bytes
    }
    try run("change", 2_500, corpus) { bytes in
      var writer = ByteWriter()
      try Change(decoding: bytes).encode(into: &writer)
      return writer.bytes
    }
  }

  @Test("Control operations")
  func control() throws {
    let home = try GoldenHousehold()
    let operations: [ControlOperation] = [
      .genesis(home.genesis), .epoch(try home.grant()), .inviteCreate(try home.inviteCreate()),
      .inviteClose(invite: try home.inviteID()), .join(try home.join()),
      .incarnate(previous: 7, reason: "restored"),
    ]
    let all = operations + (try home.later().map(\.operation))
    try run("control", 3_000, all.map(\.encoded)) { bytes in
      let operation = try ControlOperation(decoding: bytes)
      if case .unknown = operation { return nil }
      return operation.encoded
    }
  }

  @Test("Anchors")
  func anchor() throws {
    let good = Anchor(
      generation: 7, incarnation: 1 << 32,
      sealed: [
        Anchor.Sealed(zone: Identifier(high: 1, low: 1), sequence: 300),
        Anchor.Sealed(zone: Identifier(high: 2, low: 2), sequence: .max),
      ])
    #expect(try Anchor(decoding: good.encoded) == good)
    try run("anchor", 3_000, [good.encoded]) { try Anchor(decoding: $0).encoded }
  }

  @Test("Snapshot streams")
  func snapshot() throws {
    var stream: [UInt8] = []
    try SnapshotWriter(zone: SnapshotGoldenTests.zone(), heldBack: [])
      .write(from: SnapshotGoldenTests.shelf()) { stream += $0 }
    try run("snapshot", 2_500, [stream]) { bytes in
      var reader = try SnapshotReader(bytes, zone: GoldenHousehold.zone)
      var writer = ByteWriter()
      while let block = try reader.nextBlock() {
        for (_, record) in block {
          // What was read can be written: no number of an author is missing.
          if case .record(let state) = record {
            state.encode(into: &writer, authors: AuthorTable(reader.authors), values: .all)
          }
        }
      }
      return bytes
    }
  }

  @Test("Clear headers of envelopes, and frames of newer ones")
  func header() throws {
    let family = try EngineFamily(1)
    var forge = try Forge(family.members[0], family.zone)
    let good = try forge.seal([forge.change()])
    try run("header", 3_000, [good]) { bytes in
      _ = try? EnvelopeFrame(bytes)
      _ = try Envelope.parseHeader(bytes)
      return bytes
    }
  }

  @Test("Invitations: capsules sealed around damaged content, and capsules damaged outside")
  func capsule() throws {
    let family = try EngineFamily(1)
    let body = try Capsule.open(
      family.capsule, key: family.secret.capsuleKey, associatedData: family.secret.rendezvousID)
    var mutator = Mutator(seed: 3, corpus: [body])
    var outside = Mutator(seed: 4, corpus: [family.capsule])
    for round in 0..<150 {
      let sealed = try Capsule.seal(
        mutator.next(), key: family.secret.capsuleKey, associatedData: family.secret.rendezvousID)
      for bytes in [sealed, outside.next()] {
        do {
          var joiner = try Self.joiner
          _ = try JoiningByInvitation.begin(
            bytes, with: family.secret, in: &joiner, nowMilliseconds: EngineFamily.now)
        } catch is SyncError {
        } catch is CryptoError {
        } catch {
          Issue.record("round \(round): \(type(of: error)) \(error)")
        }
      }
    }
  }

  /// An engine that is made once: making keys is slow.
  private static var joiner: Engine<MemoryStore> {
    get throws {
      try Engine(
        store: MemoryStore(), identity: DeviceIdentity(master: GoldenHousehold.key(9)),
        incarnation: 1 << 32, nowMilliseconds: EngineFamily.now)
    }
  }

  @Test("Segments sealed with real keys around damaged content change nothing and break nothing")
  func segments() throws {
    var family = try EngineFamily(2)
    var forge = try Forge(family.members[1], family.zone)
    let changes = (0..<4).map {
      forge.change([.assign(FieldID(.register, 1), .text("x"))], record: $0)
    }
    let good = try forge.seal(changes)
    let digest = try family.members[0].digest(of: family.zone)
    var inside = Mutator(seed: 5, corpus: [ChangeBatch.encode(changes)])
    var outside = Mutator(seed: 6, corpus: [good])
    for round in 0..<100 {
      let body = inside.next()
      guard body != ChangeBatch.encode(changes) else { continue }
      let blobs = [try forge.seal(changes, .init(body: body)), outside.next()].filter { $0 != good }
      let report = try family.members[0].receive(
        blobs, in: family.zone, nowMilliseconds: EngineFamily.now)
      #expect(report.applied == 0, "round \(round)")
    }
    #expect(try family.members[0].digest(of: family.zone) == digest)
    let report = try family.members[0].receive(
      [good], in: family.zone, nowMilliseconds: EngineFamily.now)
    #expect(report.applied == 4)
  }
}
