import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import Household
import Synchronization
import Testing

@testable import Hearth
@testable import HearthStore

/// A wall clock that a test sets.
private final class TestClock: Sendable {
  private let value: Mutex<UInt64>

  init(_ milliseconds: UInt64) { value = Mutex(milliseconds) }

  var now: UInt64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}

/// Homes and a shared folder that vanish with the test.
private final class Trial: Sendable {
  let root = FileManager.default.temporaryDirectory
    .appendingPathComponent("hearth-" + Node.randomIdentifier().hex).path

  var shared: String { root + "/shared" }

  init() throws {
    try FileManager.default.createDirectory(
      atPath: shared, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  func node(_ name: String, _ clock: TestClock) async throws -> Node {
    try await Node.create(
      at: root + "/" + name, person: name, device: name + "'s device", passphrase: nil,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]),
      now: { clock.now })
  }
}

private func addPerson(to zone: ZoneID, of node: Node) async throws {
  let person = Node.randomIdentifier()
  try await node.write(to: zone) { source, dot in
    let state = try HouseholdState(source: source, today: CivilDate(dayNumber: 0))
    var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
    try state.people.create(person, name: "Somebody", milliseconds: 1, in: &builder)
    return (builder.operations, ())
  }
}

private func today() throws -> CivilDate { try CivilDate(dayNumber: 20_000) }

@discardableResult
private func write<Result: Sendable>(
  to zone: ZoneID, of node: Node,
  _ body: @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
) async throws -> Result {
  try await node.write(to: zone) { source, dot in
    var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
    let result = try body(try HouseholdState(source: source, today: today()), &builder)
    return (builder.operations, result)
  }
}

@Suite("Verifying a node")
struct NodeVerifyTests {
  private static let start: UInt64 = 1_760_000_000_000

  /// A node with a household that holds one change, which a folder has as well.
  private func synced(_ trial: Trial) async throws -> (Node, ZoneID) {
    let node = try await trial.node("anna", TestClock(Self.start))
    let zone = try await node.createHousehold(named: "Home")
    _ = try await node.transports.add(folder: trial.shared)
    try await addPerson(to: zone, of: node)
    _ = try await node.sync()
    return (node, zone)
  }

  private func expectMended(
    _ node: Node, _ zone: ZoneID, _ digest: [UInt8], _ damage: String
  ) async throws {
    let after = try await node.integrity.repair()
    #expect(after.isSound, "\(damage): \(after.zones.flatMap(\.faults))")
    #expect(try await node.digest(of: zone) == digest, "\(damage)")
  }

  @Test("a node that wrote, sealed and wrote again is sound")
  func soundNode() async throws {
    let trial = try Trial()
    let (node, zone) = try await synced(trial)
    try await addPerson(to: zone, of: node)
    let result = try await node.integrity.verify()
    #expect(result.isSound)
    let home = try #require(result.zones.first { $0.zone.id == zone })
    #expect(home.changes == 2)
    #expect(home.segments == 1)
    let status = try #require(try await node.diagnostics.zones().first { $0.zone.id == zone })
    #expect(status.unsealed == 1)
    try await node.close()
  }

  @Test("a segment that is gone from the log is a fault that names its changes")
  func missingSegment() async throws {
    let trial = try Trial()
    let (node, zone) = try await synced(trial)
    try await node.loseFirstSegment(of: zone)
    let result = try await node.integrity.verify()
    #expect(!result.isSound)
    let home = try #require(result.zones.first { $0.zone.id == zone })
    #expect(home.faults.count == 1)
    #expect(home.faults.first?.contains("change 1 of anna's device") == true)
    try await node.close()
  }

  @Test("a record that a disk has changed is told, and built anew from the log")
  func spoiltRecord() async throws {
    let trial = try Trial()
    let (node, zone) = try await synced(trial)
    try await addPerson(to: zone, of: node)
    let digest = try await node.digest(of: zone)
    for damage in [
      "UPDATE \"person\" SET name = 'Nobody'", "UPDATE \"person\" SET meta = x'ff'",
      "DELETE FROM \"person\"",
    ] {
      try await node.damage(damage)
      let found = try await node.integrity.verify()
      let home = try #require(found.zones.first { $0.zone.id == zone })
      let words = home.faults.first ?? ""
      #expect(words.hasPrefix("the records do not") || words.contains("read"), "\(damage)")
      #expect(found.zones.count { !$0.faults.isEmpty } == 1)
      try await expectMended(node, zone, digest, damage)
    }
    try await node.close()
  }

  @Test("what the members' log looks up in spoilt records is built anew before it")
  func spoiltCompletion() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    let zone = try await node.createHousehold(named: "Home")
    let anna = await node.person
    let chore = try await write(to: zone, of: node) {
      try $0.chores.add(ChoreDraft(title: "Bins", points: 2), milliseconds: 1, in: &$1)
    }
    let event = try await write(to: zone, of: node) {
      try $0.completions.add(
        chore, occurrence: nil, by: anna, doneAt: (today(), nil),
        milliseconds: Self.start, in: &$1)
    }
    try await write(to: zone, of: node) {
      try $0.completions.undo(event, by: anna, isAdministrator: true, in: &$1)
    }
    let digest = try await node.digest(of: zone)
    for table in ["completion", "retraction"] {
      try await node.damage("UPDATE \(table) SET meta = x'ff'")
      #expect(try await !node.integrity.verify().isSound, "\(table)")
      try await expectMended(node, zone, digest, table)
    }
    try await node.close()
  }

  @Test("where the members' log is damaged nothing is built anew, and that is told")
  func spoiltMembers() async throws {
    let trial = try Trial()
    let (node, zone) = try await synced(trial)
    let members = try #require(
      await node.allZones().first { $0.kind == .control && $0.database == .shared })
    try await node.loseFirstSegment(of: members.id)
    try await node.damage("UPDATE person SET name = 'Nobody'")
    let digest = try await node.digest(of: zone)
    let after = try await node.integrity.repair()
    #expect(after.zones.first { $0.zone.id == members.id }?.faults.isEmpty == false)
    #expect(try await node.digest(of: zone) == digest)
    try await node.close()
  }

  @Test("records stay as they are where the log is damaged, and that is told")
  func spoiltLog() async throws {
    let trial = try Trial()
    let (node, zone) = try await synced(trial)
    let digest = try await node.digest(of: zone)
    try await node.loseFirstSegment(of: zone)
    let after = try await node.integrity.repair()
    #expect(!after.isSound)
    #expect(try await node.digest(of: zone) == digest)
    try await node.close()
  }

  @Test("an index that misses rows is told and built anew")
  func spoiltIndex() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    let zone = try await node.createHousehold(named: "Home")
    try await addPerson(to: zone, of: node)
    try await node.damage("CREATE INDEX spoilt ON \"person\"(name)")
    // The index of other rows than the table's, as after a write that was lost.
    try await node.damage("PRAGMA writable_schema = ON")
    try await node.damage(
      "UPDATE sqlite_master SET sql = 'CREATE INDEX spoilt ON person(meta)' WHERE name = 'spoilt'")
    try await node.damage("PRAGMA writable_schema = OFF")
    try await node.close()
    let again = try await Node.open(
      at: trial.root + "/anna", passphrase: nil,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]),
      now: { Self.start })
    let found = try await again.integrity.verify()
    #expect(!found.fileFaults.isEmpty && !found.isSound)
    let after = try await again.integrity.repair()
    #expect(after.isSound, "\(after.fileFaults) \(after.zones.flatMap(\.faults))")
    try await again.close()
  }

  @Test("a private database that is not found under its noted name is told, and found again")
  func spoiltName() async throws {
    let trial = try Trial()
    let schema = NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()])
    let node = try await trial.node("anna", TestClock(Self.start))
    let count = try await node.integrity.verify().zones.count
    try await node.name(privateGroup: Identifier(high: 7, low: 7))
    try await node.close()
    let again = try await Node.open(at: trial.root + "/anna", schema: schema, now: { Self.start })
    let found = try await again.integrity.verify()
    #expect(!found.isSound && found.zones.count < count)
    let after = try await again.integrity.repair()
    #expect(after.isSound && after.zones.count == count, "\(after.fileFaults)")
    // A damaged name is told, and does not hide the only private database.
    try await again.damage(
      "UPDATE hearth_facts SET value = randomblob(16) WHERE name = 'cache.private.group'")
    try await again.close()
    let last = try await Node.open(at: trial.root + "/anna", schema: schema, now: { Self.start })
    let damaged = try await last.integrity.verify()
    #expect(damaged.fileFaults.contains { $0.contains("private.group") })
    #expect(damaged.zones.count == count)
    let mended = try await last.integrity.repair()
    #expect(mended.isSound, "\(mended.fileFaults)")
    try await last.close()
  }

  @Test("a device more than five minutes ahead is found, one at five minutes is not")
  func clockAhead() async throws {
    let trial = try Trial()
    let clock = TestClock(Self.start)
    let node = try await trial.node("anna", clock)
    let zone = try await node.createHousehold(named: "Home")
    try await addPerson(to: zone, of: node)
    let written = try #require(
      try await node.diagnostics.authorLogs(of: zone).first?.lastMilliseconds)
    clock.now = written - ClockFinding.toleranceMilliseconds
    #expect(try await node.diagnostics.clocks().isEmpty)
    clock.now -= 1
    let finding = try #require(try await node.diagnostics.clocks().first)
    #expect(finding.kind == .ahead)
    #expect(finding.deviceName == "anna's device")
    #expect(finding.milliseconds == ClockFinding.toleranceMilliseconds + 1)
    try await node.close()
  }

  @Test("a home that others may read is found")
  func permissions() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    #expect(try await node.diagnostics.permissionFaults().isEmpty)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o750], ofItemAtPath: trial.root + "/anna")
    #expect(try await node.diagnostics.permissionFaults().map(\.mode) == [0o750])
    try await node.close()
  }
}

extension Node {
  fileprivate func loseFirstSegment(of zone: ZoneID) throws {
    guard let first = try store.log.segments(of: zone).first else { return }
    try store.transaction { try store.log.removeSegment(first.digest, in: zone) }
  }

  fileprivate func damage(_ sql: String) throws {
    try store.connection.run { try store.connection.execute(sql) }
  }

  fileprivate func name(privateGroup: GroupID) throws {
    try store.transaction {
      try store.facts.setBytes(of: "cache.private.group", to: privateGroup.bytes)
    }
  }
}
