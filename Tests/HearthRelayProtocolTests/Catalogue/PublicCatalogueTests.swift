import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("Versions of public catalogues")
struct PublicCatalogueTests {
  private let notAuthentic = SyncError(.notAuthentic, "")
  private let incomplete = SyncError(.catalogueIncomplete, "")

  private func draft(_ id: String, _ body: String = "{}") throws -> PublicRecord {
    try PublicRecord(type: "challenge", id: id, revision: 1, fields: [], body: body)
  }

  private func next(
    after before: PublicCatalogue?, _ drafts: [PublicRecord], least: UInt64 = 1
  ) throws -> PublicCatalogue {
    try PublicCatalogue.next(
      after: before, of: PublicFixture.reference(), drafts: drafts, leastVersion: least,
      publishedAt: 1_000, by: PublicFixture.publisher())
  }

  @Test("only what changed is signed anew, and publishing the same again changes nothing")
  func versions() throws {
    let first = try next(after: nil, [draft("b"), draft("a"), draft("c")])
    #expect(first.head.head.version == 1 && first.head.head.previous == 0)
    #expect(first.records.map(\.record.path.id) == ["a", "b", "c"])
    #expect(try next(after: first, [draft("c"), draft("a"), draft("b")]) == first)
    let second = try next(after: first, [draft("a"), draft("b", "[]"), draft("d")], least: 7)
    #expect(second.head.head.version == 7 && second.head.head.previous == 1)
    #expect(second.records.map(\.record.revision) == [1, 7, 7])
    #expect(second.records[0] == first.records[0])
    // What is signed is whole to whoever checks it.
    let again = try PublicCatalogue(
      of: PublicFixture.reference(), head: second.head, records: second.records.reversed())
    #expect(again == second)
    #expect(throws: SyncError(.malformed, "")) { try next(after: nil, [draft("a"), draft("a")]) }
  }

  @Test("a version of another publisher, name or signature is refused")
  func strangers() throws {
    let head = try PublicFixture.head()
    try head.verify(of: PublicFixture.reference())
    #expect(throws: notAuthentic) { try head.verify(of: PublicFixture.reference(9)) }
    #expect(throws: notAuthentic) { try head.verify(of: PublicFixture.reference(name: "other")) }
    for place in [5, 40, head.bytes.count - 1] {
      var bytes = head.bytes
      bytes[place] ^= 1
      guard let tampered = try? SignedPublicHead(decoding: bytes) else { continue }
      #expect(throws: notAuthentic) { try tampered.verify(of: PublicFixture.reference()) }
    }
    // A head that a stranger signed in the publisher's name.
    let forged = SignedPublicHead(head.head, by: try PublicFixture.publisher(9))
    #expect(throws: notAuthentic) { try forged.verify(of: PublicFixture.reference()) }
  }

  @Test("a record proves itself for its catalogue and publisher only")
  func records() throws {
    let record = try PublicFixture.signed(PublicFixture.challenge())
    let id = try PublicFixture.reference().id
    let key = try PublicFixture.publisher().publicKey
    try record.verify(of: id, by: key)
    #expect(throws: notAuthentic) {
      try record.verify(of: PublicFixture.reference(name: "other").id, by: key)
    }
    #expect(throws: notAuthentic) {
      try record.verify(of: id, by: PublicFixture.publisher(9).publicKey)
    }
    var bytes = record.bytes
    bytes[bytes.count - 70] ^= 1
    let tampered = try SignedPublicRecord(decoding: bytes)
    #expect(throws: notAuthentic) { try tampered.verify(of: id, by: key) }
    // A head's signature is worth nothing on a record: each has a domain of its own.
    let encoded = record.record.encoded
    let signature = try PublicFixture.publisher().sign(head: encoded, of: id.bytes)
    #expect(throws: notAuthentic) {
      try SignedPublicRecord(decoding: encoded + signature).verify(of: id, by: key)
    }
  }

  @Test("a copy that lacks, doubles, swaps or adds a record is refused")
  func incompleteCopies() throws {
    let reference = try PublicFixture.reference()
    let whole = try PublicFixture.whole()
    let stranger = try PublicFixture.signed(draft("stranger"))
    let changed = try PublicFixture.signed(
      PublicRecord(
        type: "challenge", id: "bench-test", revision: 2,
        fields: PublicFixture.challenge().fields, body: "{}"))
    for records in [
      [], [whole.records[0]], [whole.records[0], whole.records[0]],
      [whole.records[0], stranger], whole.records + [stranger], [changed, whole.records[1]],
    ] {
      #expect(throws: incomplete) {
        try PublicCatalogue(of: reference, head: whole.head, records: records)
      }
    }
  }

  @Test("an older version never takes the place of a newer, nor one with the same number")
  func rollback() throws {
    let first = try next(after: nil, [draft("a")])
    let second = try next(after: first, [draft("b")])
    let twin = try next(after: first, [draft("c")])
    #expect(try second.head.head.replaces(first.head.head))
    #expect(try first.head.head.replaces(nil))
    #expect(try !second.head.head.replaces(second.head.head))
    #expect(throws: SyncError(.catalogueOlder, "")) {
      try first.head.head.replaces(second.head.head)
    }
    #expect(throws: SyncError(.catalogueForked, "")) {
      try twin.head.head.replaces(second.head.head)
    }
  }

  @Test("an answer holds what was asked for, signed and in order, or nothing of it is believed")
  func answers() throws {
    let reference = try PublicFixture.reference()
    let query = try PublicQuery(
      type: "challenge", conditions: [PublicCondition("calm", .equals(.bool(true)))], limit: 2)
    func record(_ id: String, calm: Bool = true, by first: UInt8 = 0) throws -> [UInt8] {
      let record = try PublicRecord(
        type: "challenge", id: id, revision: 1, fields: [PublicField("calm", .bool(calm))],
        body: "{}")
      return SignedPublicRecord(record, of: reference.id, by: try PublicFixture.publisher(first))
        .bytes
    }
    func proven(_ records: [[UInt8]], next: String? = nil, after: String = "") throws -> [String] {
      try PublicAnswer(head: nil, records: records, next: next)
        .proven(for: query.continued(after: after), of: reference).map(\.path.id)
    }
    #expect(try proven([record("a"), record("b")], next: "b") == ["a", "b"])
    #expect(try proven([], next: "x").isEmpty)
    for wrong in [
      try [record("a", calm: false)], try [record("a", by: 9)], try [record("b"), record("a")],
      try [record("a"), record("a")], try [PublicFixture.signed(PublicFixture.flag()).bytes],
    ] {
      #expect(throws: notAuthentic) { try proven(wrong) }
    }
    #expect(throws: notAuthentic) { try proven([record("a")], after: "b") }
    let malformed = SyncError(.malformed, "")
    #expect(throws: malformed) { try proven([[1, 2, 3]]) }
    #expect(throws: malformed) { try proven([record("b")], next: "a") }
    #expect(throws: malformed) { try proven([], next: "b", after: "b") }
    #expect(throws: malformed) { try proven([record("a"), record("b"), record("c")]) }
  }

  /// A log of entries at rising positions.
  private func log(_ items: [([UInt8], [UInt8]?)]) -> [RelayEntry] {
    items.enumerated().map { place, item in
      let (name, blob) = item
      return RelayEntry(
        header: RelayHeader(
          position: UInt64(place + 1), kind: blob == nil ? .remove : .put,
          isReplaceable: blob != nil, isLive: blob != nil, name: name,
          byteCount: blob?.count ?? 0, digest: RelayChain.emptyDigest), blob: blob ?? [])
    }
  }

  /// The entries of a whole version.
  private func entries(_ whole: PublicCatalogue) -> [([UInt8], [UInt8]?)] {
    whole.records.map { ($0.entryName, $0.bytes) } + [(PublicName.head, whole.head.bytes)]
  }

  @Test("a log of entries makes up a version, and what is no part of it changes nothing")
  func assembly() throws {
    let reference = try PublicFixture.reference()
    let first = try next(after: nil, [draft("a"), draft("b")])
    let second = try next(after: first, [draft("b"), draft("c")])
    var assembly = CatalogueAssembly()
    #expect(throws: incomplete) { try assembly.whole(of: reference, greatest: nil) }
    try assembly.take(log(entries(first) + [(Array("noise".utf8), [1, 2])]))
    #expect(try assembly.whole(of: reference, greatest: nil) == first)
    // In between, no head fits.
    try assembly.take(log([(second.records[1].entryName, second.records[1].bytes)]))
    #expect(throws: incomplete) { try assembly.whole(of: reference, greatest: first.head.head) }
    try assembly.take(
      log([(first.records[0].entryName, nil), (PublicName.head, second.head.bytes)]))
    #expect(try assembly.whole(of: reference, greatest: first.head.head) == second)
    var old = CatalogueAssembly(from: second)
    try old.take(log(entries(first)))
    #expect(throws: SyncError(.catalogueOlder, "")) {
      try old.whole(of: reference, greatest: second.head.head)
    }
    let names = [PublicName.head, first.records[0].entryName, first.records[0].entryName]
    for (name, blob) in zip(names, [[1, 2, 3], second.records[1].bytes, [0]]) {
      var assembly = CatalogueAssembly(from: first)
      #expect(throws: SyncError(.malformed, "")) { try assembly.take(log([(name, blob)])) }
    }
  }

  @Test("more than a catalogue can have is not taken in")
  func hostileLogs() throws {
    // A blob of any name counts, so that noise has an end.
    let noise = [UInt8](repeating: 0, count: 1 << 20)
    let entry = log([(Array("noise".utf8), noise)])
    var assembly = CatalogueAssembly()
    for _ in 0..<(PublicLimits.maximumPackBytes >> 20) { try assembly.take(entry) }
    #expect(throws: SyncError(.tooLarge, "")) { try assembly.take(entry) }
    let record = try PublicFixture.challenge()
    let signature = [UInt8](repeating: 0, count: 64)
    var many = CatalogueAssembly()
    func item(_ number: Int) throws -> [RelayEntry] {
      let named = try PublicRecord(
        type: "challenge", id: "\(number)", revision: 1, fields: [], body: record.body)
      return log([
        (PublicName.entry(type: "challenge", id: "\(number)"), named.encoded + signature)
      ])
    }
    for number in 0..<PublicLimits.maximumRecords { try many.take(item(number)) }
    #expect(throws: SyncError(.tooLarge, "")) {
      try many.take(item(PublicLimits.maximumRecords))
    }
  }

  @Test("a relay stores what the publisher signed under its own name, and nothing else")
  func entries() throws {
    let reference = try PublicFixture.reference()
    let key = reference.publisher
    let record = try PublicFixture.signed(PublicFixture.challenge())
    let head = try PublicFixture.head()
    func isRight(
      _ name: [UInt8], _ blob: [UInt8], isReplaceable: Bool = true, by key: SigningPublicKey = key
    ) -> Bool {
      PublicEntry.isRight(
        RelayPut(name: name, isReplaceable: isReplaceable, blob: blob), of: reference.id, by: key)
    }
    #expect(isRight(record.entryName, record.bytes) && isRight(PublicName.head, head.bytes))
    #expect(!isRight(record.entryName, record.bytes, isReplaceable: false))
    #expect(!isRight(PublicName.entry(type: "challenge", id: "other"), record.bytes))
    #expect(!isRight(PublicName.head, record.bytes) && !isRight(record.entryName, head.bytes))
    #expect(!isRight(record.entryName, record.bytes.dropLast() + [0]))
    let other = try PublicFixture.publisher(9)
    #expect(!isRight(record.entryName, record.bytes, by: other.publicKey))
    #expect(!isRight(PublicName.head, SignedPublicHead(head.head, by: other).bytes))
    #expect(PublicEntry.path(ofName: record.entryName) == record.record.path)
    for wrong in ["head", "a/", "/a", "a/b/c", "A/b"] {
      #expect(PublicEntry.path(ofName: Array(wrong.utf8)) == nil)
    }
  }
}
