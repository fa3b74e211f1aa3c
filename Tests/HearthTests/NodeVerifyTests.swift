import Foundation
import HearthCRDT
import HearthStore
import HearthSync
import Household
import Synchronization
import Testing

@testable import Hearth

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
    let book = try HouseholdBook(source: source, today: CivilDate(dayNumber: 0))
    var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
    try book.createPerson(person, name: "Somebody", milliseconds: 1, in: &builder)
    return (builder.operations, ())
  }
}

@Suite("Verifying a node")
struct NodeVerifyTests {
  private static let start: UInt64 = 1_760_000_000_000

  @Test("a node that wrote, sealed and wrote again is sound")
  func soundNode() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    let zone = try await node.createHousehold(named: "Home")
    _ = try await node.addFolder(trial.shared)
    try await addPerson(to: zone, of: node)
    _ = try await node.sync()
    try await addPerson(to: zone, of: node)
    let result = try await node.verify()
    #expect(result.isSound)
    let home = try #require(result.zones.first { $0.zone.id == zone })
    #expect(home.changes == 2)
    #expect(home.segments == 1)
    let status = try #require(try await node.zoneStatuses().first { $0.zone.id == zone })
    #expect(status.unsealed == 1)
    try await node.close()
  }

  @Test("a segment that is gone from the log is a fault that names its changes")
  func missingSegment() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    let zone = try await node.createHousehold(named: "Home")
    _ = try await node.addFolder(trial.shared)
    try await addPerson(to: zone, of: node)
    _ = try await node.sync()
    try await node.loseFirstSegment(of: zone)
    let result = try await node.verify()
    #expect(!result.isSound)
    let home = try #require(result.zones.first { $0.zone.id == zone })
    #expect(home.faults.count == 1)
    #expect(home.faults.first?.contains("change 1 of anna's device") == true)
    try await node.close()
  }

  @Test("a device more than five minutes ahead is found, one at five minutes is not")
  func clockAhead() async throws {
    let trial = try Trial()
    let clock = TestClock(Self.start)
    let node = try await trial.node("anna", clock)
    let zone = try await node.createHousehold(named: "Home")
    try await addPerson(to: zone, of: node)
    let written = try #require(
      try await node.authorLogs(of: zone).first?.lastMilliseconds)
    clock.now = written - Node.clockToleranceMilliseconds
    #expect(await node.clockFindings().isEmpty)
    clock.now -= 1
    let finding = try #require(await node.clockFindings().first)
    #expect(finding.kind == .ahead)
    #expect(finding.deviceName == "anna's device")
    #expect(finding.milliseconds == Node.clockToleranceMilliseconds + 1)
    try await node.close()
  }

  @Test("a home that others may read is found")
  func permissions() async throws {
    let trial = try Trial()
    let node = try await trial.node("anna", TestClock(Self.start))
    #expect(await node.permissionFaults().isEmpty)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o750], ofItemAtPath: trial.root + "/anna")
    #expect(await node.permissionFaults().map(\.mode) == [0o750])
    try await node.close()
  }
}

extension Node {
  fileprivate func loseFirstSegment(of zone: ZoneID) throws {
    guard let first = try store.segments(of: zone).first else { return }
    try store.transaction { try store.removeSegment(first.digest, in: zone) }
  }
}
