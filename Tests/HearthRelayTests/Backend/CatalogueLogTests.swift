import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// What every log promises of catalogues.
@Suite("Contract of relay logs for catalogues")
struct CatalogueLogTests {
  private static let creation = RelayWrite.Action.create(
    kind: .catalogue, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
    managerKey: LogShelf.managerKey, right: .open)

  /// An entry as a log takes it; signatures are the core's business.
  private func put(
    _ id: String, type: String = "challenge", _ fields: [PublicField] = [], body: String = "{}"
  ) throws -> RelayPut {
    let record = try PublicRecord(type: type, id: id, revision: 1, fields: fields, body: body)
    return RelayPut(
      name: PublicName.entry(type: type, id: id), isReplaceable: true,
      blob: record.encoded + [UInt8](repeating: 0, count: 64))
  }

  /// The ids that a query gives over all its pages.
  private func ids(
    _ shelf: LogShelf, _ query: PublicQuery, _ authority: RelayAuthority = .reader,
    byteLimit: Int = 1 << 20
  ) throws -> [String] {
    var found: [String] = []
    var next: PublicQuery? = query
    while let question = next {
      guard
        case .records(let answer) = try shelf.read(
          .query(question, byteLimit: byteLimit), authority)
      else {
        Issue.record("no answer to \(question)")
        return found
      }
      #expect(answer.records.count <= query.limit)
      found += try answer.records.map { try SignedPublicRecord(decoding: $0).record.path.id }
      next = try answer.next.map { try query.continued(after: $0) }
    }
    return found
  }

  @Test("records are found as long as they are there", arguments: LogKind.allCases)
  func life(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(Self.creation, nil)
    let calm = try PublicQuery(
      type: "challenge", conditions: [PublicCondition("mood", .equals(.text("calm")))])
    #expect(try ids(shelf, calm).isEmpty)
    let mood = PublicField("mood", .text("calm"))
    _ = try shelf.write(.put([put("b", [mood]), put("a", [mood]), put("a", type: "flag", [mood])]))
    #expect(try ids(shelf, calm) == ["a", "b"])
    #expect(try ids(shelf, PublicQuery(type: "flag")) == ["a"])
    // Another content under the name takes the place of the first.
    _ = try shelf.write(.put([put("a", [PublicField("mood", .text("loud"))])]))
    #expect(try ids(shelf, calm) == ["b"])
    _ = try shelf.write(.remove([PublicName.entry(type: "challenge", id: "b")]))
    #expect(try ids(shelf, calm).isEmpty)
    #expect(try ids(shelf, PublicQuery(type: "challenge")) == ["a"])
    // A batch beyond the quota leaves no trace in the index.
    let quota = RelayQuota(bytes: 10, entries: 10)
    #expect(try shelf.write(.put([put("z", [mood])]), quota: quota) == .refused(.quota))
    #expect(try ids(shelf, calm).isEmpty)
    // The head is told with every answer.
    let head = RelayPut(name: PublicName.head, isReplaceable: true, blob: [1, 2, 3])
    _ = try shelf.write(.put([head]))
    guard case .records(let answer) = try shelf.read(.query(calm, byteLimit: 1), .reader) else {
      return
    }
    #expect(answer.head == [1, 2, 3])
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test(
    "one batch replaces, removes and fills without a trace of what was", arguments: LogKind.allCases
  )
  func batches(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(Self.creation, nil)
    func mood(_ text: String) -> [PublicField] { [PublicField("mood", .text(text))] }
    func query(_ text: String) throws -> PublicQuery {
      try PublicQuery(
        type: "challenge", conditions: [PublicCondition("mood", .equals(.text(text)))])
    }
    let a = PublicName.entry(type: "challenge", id: "a")
    _ = try shelf.write(.put([put("a", mood("old")), put("b", mood("old"))]))
    let actions: [RelayWrite.Action] = try [
      .put([put("a", mood("new")), put("c", mood("new"))]), .remove([a]),
      .put([put("a", mood("last"))]), .put([put("c", mood("last"))]),
      .put([RelayPut(name: Array("challenge/e".utf8), blob: [1, 2, 3])]),
    ]
    let results = try shelf.log.write(actions.map { LogShelf.write($0) })
    #expect(!results.contains { if case .refused = $0 { true } else { false } })
    #expect(try ids(shelf, query("old")) == ["b"])
    #expect(try ids(shelf, query("new")).isEmpty)
    #expect(try ids(shelf, query("last")) == ["a", "c"])
    // What is no record is kept and not found.
    #expect(try ids(shelf, PublicQuery(type: "challenge")) == ["a", "b", "c"])
    // A reader reads all the same, and writes nothing.
    #expect(try shelf.write(.remove([a]), .reader) == .refused(.forbidden))
    #expect(try shelf.read(.head, .reader) == .head(8))
  }

  @Test("no reader is let into a mailbox that is no catalogue", arguments: LogKind.allCases)
  func sealed(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    let item = try put("a")
    guard case .stored = try shelf.write(.put([item])) else {
      Issue.record("not stored")
      return
    }
    let question = RelayRead.Question.query(try PublicQuery(type: "challenge"), byteLimit: 100)
    #expect(try shelf.read(question, .reader) == .refused(.forbidden))
    #expect(try shelf.read(.fetch([item.name], byteLimit: 100), .reader) == .refused(.forbidden))
    #expect(try ids(shelf, PublicQuery(type: "challenge"), LogShelf.access).isEmpty)
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test(
    "the operator's commands copy, compare and delete the index too", arguments: LogKind.durable)
  func operators(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    let log = try #require(shelf.log as? any RelayOperatorLog)
    _ = try shelf.write(Self.creation, nil)
    let calm = [PublicField("mood", .text("calm"))]
    let items = try [put("a", calm), put("b", calm)]
    _ = try shelf.write(.put(items))
    let path = "\(shelf.folder.path)/copy.sqlite"
    try log.export(to: path)
    let copy = try SQLiteRelayLog(file: path)
    #expect(try copy.verify() == [])
    let query = try PublicQuery(
      type: "challenge", conditions: [PublicCondition("mood", .equals(.text("calm")))])
    let read = RelayRead(
      mailbox: LogShelf.mailbox, authority: .reader, question: .query(query, byteLimit: 1 << 20))
    #expect(
      try copy.read(read)
        == .records(
          PublicAnswer(head: nil, records: items.map(\.blob), next: nil)))
    // Deleted and made anew, it begins empty.
    _ = try shelf.write(.remove(items.map(\.name)))
    #expect(try log.collectGarbage(before: 20_001) == 1)
    _ = try shelf.write(Self.creation, nil)
    #expect(try ids(shelf, query).isEmpty)
    _ = try shelf.write(.put(items))
    #expect(try ids(shelf, query) == ["a", "b"])
    #expect(try log.verify() == [])
  }

  @Test("a query gives what its conditions say, page by page", arguments: LogKind.allCases)
  func queries(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(Self.creation, nil)
    let seed: UInt64 = 0xca7a
    var random = SplitMix64(seed: seed)
    func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    func value() -> PublicValue {
      switch draw(3) {
      case 0: .bool(draw(2) == 0)
      case 1: .int([Int64.min, -1, 0, 1, 2, .max][draw(6)])
      default: .text(["", "1", "a", "A", "ä", "a\u{0}b"][draw(6)])
      }
    }
    func name() -> String { ["x", "y", "Z"][draw(3)] }
    var records: [PublicRecord] = []
    for number in 0..<120 {
      let fields = (0..<draw(5)).map { _ in PublicField(name(), value()) }
      let id = String(number, radix: 36)
      records.append(
        try PublicRecord(
          type: draw(4) == 0 ? "flag" : "challenge", id: id, revision: 1, fields: fields,
          body: "{}"))
    }
    _ = try shelf.write(
      .put(
        try records.map { try put($0.path.id, type: $0.path.type, $0.fields) }))
    for round in 0..<200 {
      let conditions = (0..<draw(4)).map { _ in
        let numbers = [Int64(draw(4)) - 2, Int64(draw(4)) - 2].sorted()
        let range = PublicCondition.Test.range(
          least: draw(3) == 0 ? nil : numbers[0], most: numbers[1])
        return PublicCondition(name(), draw(3) == 0 ? range : .equals(value()))
      }
      let query = try PublicQuery(
        type: "challenge", conditions: conditions, after: draw(2) == 0 ? "" : "1a",
        limit: 1 + draw(5))
      let expected = records.filter { query.accepts($0) && $0.path.id > query.after }
        .map(\.path.id).sorted()
      #expect(
        try ids(shelf, query, byteLimit: 1 + draw(400)) == expected,
        "seed \(seed), round \(round): \(query)")
    }
  }

  @Test("a catalogue takes its last record and no more", arguments: LogKind.allCases)
  func bounds(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(Self.creation, nil)
    let head = RelayPut(name: PublicName.head, isReplaceable: true, blob: [1])
    _ = try shelf.write(.put([head]))
    let items = try (0..<PublicLimits.maximumRecords).map {
      try put("\(100_000 + $0)", [PublicField("even", .bool($0.isMultiple(of: 2)))])
    }
    guard case .stored = try shelf.write(.put(items)) else {
      Issue.record("not stored")
      return
    }
    #expect(try shelf.write(.put([put("more")])) == .refused(.quota))
    guard case .stored = try shelf.write(.put([put("100000", body: "[]")])) else {
      Issue.record("nothing may be changed")
      return
    }
    // Where nothing fits, an answer ends after so many candidates, and says how far it came.
    let none = try PublicQuery(
      type: "challenge", conditions: [PublicCondition("even", .range(least: 0, most: 1))])
    guard case .records(let answer) = try shelf.read(.query(none, byteLimit: 1), .reader) else {
      return
    }
    let last = 100_000 + PublicLimits.maximumCandidates - 1
    #expect(answer.records.isEmpty && answer.next == "\(last)")
    #expect(try ids(shelf, none).isEmpty)
  }
}
